package pdf

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// face draws text of one weight: in a font that every document holds, and where that lacks a character in the other fonts. It
// is safe for concurrent use.
type face struct {
	common *common
	others sources
}

// has reports whether r can be drawn.
func (f *face) has(r rune) bool {
	return f.common.find(r) != 0 || f.others.of(r) != nil
}

// clean returns text as f can draw it: valid UTF-8 in NFC on one line, white space as single
// spaces, without control and format characters. In place of a rune that f does not have its number stands in
// brackets, such as [U+1F600], and missing is called with it.
func (f *face) clean(text string, missing func(rune)) string {
	if isClean(text) {
		return text
	}
	text = oneLine(text)
	if strings.IndexFunc(text, func(r rune) bool { return !f.has(r) && !joiner(r) }) < 0 {
		return text
	}
	var clean strings.Builder
	for _, r := range text {
		if f.has(r) || joiner(r) {
			clean.WriteRune(r)
			continue
		}
		missing(r)
		fmt.Fprintf(&clean, "[%U]", r)
	}
	return clean.String()
}

// oneLine returns text as valid UTF-8 in NFC on one line, white space as single spaces, without control and format
// characters, except the characters that join letters of some scripts.
func oneLine(text string) string {
	var before rune
	text = strings.Map(func(r rune) rune {
		joins := joiner(r) && joinable(before)
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector) && !joins:
			return -1
		}
		before = r
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
	return norm.NFC.String(strings.Join(strings.Fields(text), " "))
}

// joiner reports whether r changes how the letters around it join.
func joiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// joinable reports whether r is of a script whose letters join, or form one sign with those beside them.
func joinable(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Tamil,
		unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar)
}

// isClean reports whether text is plain words with single spaces between them, of which nothing has to be made. Nearly
// every text of an agreement is.
func isClean(text string) bool {
	space := true // before the first word
	for i := range len(text) {
		c := text[i]
		if !plain(rune(c)) || space && c == ' ' {
			return false
		}
		space = c == ' '
	}
	return !space || text == ""
}
