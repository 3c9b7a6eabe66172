package text

import "unicode"

// Language returns the language of a text for programs that read aloud, as a tag of BCP 47: "zh", or "und-Cyrl" for a script of
// several languages, any of which it may be. It goes by the script that all letters of the text are in, and is "" for Latin
// letters and for letters of several scripts.
func Language(s string) string {
	found := ""
	for _, r := range s {
		if !unicode.IsLetter(r) || r == 'ー' {
			continue
		}
		tag := languageOf(r)
		switch {
		case tag == "":
			return ""
		case found == "", found == "zh" && tag == "ja":
			found = tag
		case tag != found && (found != "ja" || tag != "zh"): // Japanese is written in kana and Han
			return ""
		}
	}
	return found
}

func languageOf(letter rune) string {
	if letter < 0x0370 { // Latin
		return ""
	}
	for _, l := range languages {
		if unicode.Is(l.script, letter) {
			return l.tag
		}
	}
	return ""
}

// languages are the languages by script: the only language, or the language of most of its readers.
var languages = [...]struct {
	script *unicode.RangeTable
	tag    string
}{
	{unicode.Han, "zh"}, {unicode.Hiragana, "ja"}, {unicode.Katakana, "ja"}, {unicode.Hangul, "ko"}, {unicode.Arabic, "ar"},
	{unicode.Devanagari, "hi"}, {unicode.Thai, "th"}, {unicode.Hebrew, "he"}, {unicode.Greek, "el"}, {unicode.Cyrillic, "und-Cyrl"},
	{unicode.Armenian, "hy"}, {unicode.Georgian, "ka"}, {unicode.Gurmukhi, "pa"}, {unicode.Tamil, "ta"}, {unicode.Bengali, "bn"},
	{unicode.Gujarati, "gu"}, {unicode.Telugu, "te"}, {unicode.Kannada, "kn"}, {unicode.Malayalam, "ml"}, {unicode.Sinhala, "si"},
	{unicode.Khmer, "km"}, {unicode.Lao, "lo"}, {unicode.Myanmar, "my"}, {unicode.Ethiopic, "und-Ethi"},
}
