// Package text holds the one rule for text that people and systems send: names, e-mail addresses and
// identifiers. It does no I/O and reads no clock.
package text

import (
	"cmp"
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// Max is the length of the longest text that is kept, in characters.
const Max = 255

// Limits of an e-mail address in bytes (RFC 5321, section 4.5.3.1).
const (
	maxEmail = 254
	maxLocal = 64
)

// Normalize returns a text that people read in Unicode NFC, without white space around it: two spellings that look
// the same become the same. Control characters stay, for Check to refuse.
func Normalize(s string) string {
	return strings.TrimFunc(norm.NFC.String(s), func(r rune) bool {
		return unicode.IsSpace(r) && !unicode.IsControl(r)
	})
}

// Check returns what is wrong with an identifier, "" if nothing is: it must be 1 to 255 characters of valid UTF-8,
// without control characters. The message reads on from a field's name: "must not be empty".
func Check(s string) string {
	switch n := utf8.RuneCountInString(s); {
	case !utf8.ValidString(s):
		return "must be valid UTF-8"
	case n == 0:
		return "must not be empty"
	case n > Max:
		return fmt.Sprintf("must be at most %d characters, not %d", Max, n)
	case strings.ContainsFunc(s, unicode.IsControl):
		return controlFault
	}
	return ""
}

const controlFault = "must not contain control characters"

// CheckReadable returns what is wrong with the characters of a text of any length that people read, "" if nothing is:
// it must be without control characters, controls of the writing direction, line separators and noncharacters, so that
// it reads the same wherever it is shown.
func CheckReadable(s string) string {
	for _, r := range s {
		switch {
		case unicode.IsControl(r):
			return controlFault
		case r < 0x80: // the common case needs no table
		case unicode.Is(unicode.Bidi_Control, r):
			return fmt.Sprintf("must not contain U+%04X, which changes the direction of the text", r)
		case r == '\u2028', r == '\u2029':
			return fmt.Sprintf("must not contain U+%04X, which separates lines", r)
		case unicode.Is(unicode.Noncharacter_Code_Point, r):
			return fmt.Sprintf("must not contain U+%04X, which is no character", r)
		}
	}
	return ""
}

// CheckName returns what is wrong with a name: the faults of Check and of CheckReadable, or that it shows nothing to a
// reader.
func CheckName(s string) string {
	if fault := cmp.Or(Check(s), CheckReadable(s)); fault != "" {
		return fault
	}
	if !strings.ContainsFunc(s, visible) {
		return "must hold a visible character"
	}
	return ""
}

// visible reports whether a character leaves a mark. Fillers are letters to Unicode.
func visible(r rune) bool {
	const blank = '\u2800' // a Braille pattern without dots
	return !unicode.IsSpace(r) && !ignorable(r) && r != blank
}

// ignorable reports whether a font draws a character as nothing.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// FullName returns a person's name as it is written: the given name first or, where both are in the letters of China, Japan or
// Korea, the family name first and no space between them. A person may have one name.
func FullName(given, family string) string {
	if eastAsian(given) && eastAsian(family) {
		return family + given
	}
	if given == "" {
		return family
	}
	return given + " " + family
}

func eastAsian(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		const longVowel = 'ー' // which is no letter of one script
		return r != longVowel && !unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana)
	})
}

// CheckEmail returns what is wrong with an e-mail address: the faults of Check and of CheckReadable, or that it is not
// one plain address, which is a local part and a host of two or more labels, or has a character that nobody can see. Both parts may
// contain letters of any script. A local part may end with a dot, or have two in a row, as telephone companies gave them out: mail has it in quotes
// then. Whether mail arrives there is not checked.
func CheckEmail(s string) string {
	if fault := cmp.Or(Check(s), CheckReadable(s)); fault != "" {
		return fault
	}
	for _, r := range s {
		if r > 0x7f && ignorable(r) {
			return fmt.Sprintf("must not contain U+%04X, which nobody can see", r)
		}
	}
	local, host, found := strings.Cut(s, "@")
	switch {
	case !found, local == "", strings.HasPrefix(local, "."), len(local) > maxLocal, len(s) > maxEmail,
		strings.ContainsFunc(s, unicode.IsSpace),
		strings.ContainsAny(s, `<>()[]\,;:"`),
		!hostForm.MatchString(host):
		return "must be an e-mail address, such as name@example.ac.nz"
	}
	return ""
}

// NormalizeEmail returns an e-mail address in the form in which it is stored and asked for: in NFC, with its domain in small letters of
// its own script, also where it came as xn--. Two spellings of an address at which the same mailbox is become the same. The local part
// stays as it is.
func NormalizeEmail(s string) string {
	s = norm.NFC.String(s)
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return s
	}
	host, err := idna.Display.ToUnicode(s[at+1:])
	if err != nil { // what it is not, CheckEmail says
		return s
	}
	return s[:at+1] + norm.NFC.String(host)
}

// HostInASCII returns a host of other letters as URLs have it on the wire, such as xn--ptea-v7a.nz; ok is false for a host without such a
// form. A port stays behind it.
func HostInASCII(host string) (ascii string, ok bool) {
	name, port, _ := strings.Cut(host, ":")
	ascii, err := idna.Lookup.ToASCII(name)
	return strings.TrimSuffix(ascii+":"+port, ":"), err == nil && ascii != ""
}

// hostForm matches two or more labels of letters, digits and inner hyphens.
var hostForm = regexp.MustCompile(strings.ReplaceAll(`^LABEL(?:\.LABEL)+$`, "LABEL", `[\pL\pM\p{Nd}](?:[\pL\pM\p{Nd}-]*[\pL\pM\p{Nd}])?`))

// FoldName returns a name as it is searched for: in small letters, without accents, macrons, apostrophes and white space around it,
// and with one space in place of any other sign, such as a hyphen.
func FoldName(name string) string {
	var folded strings.Builder
	space := false
	for _, r := range fold(name) {
		switch {
		case r == '\'', r == '’', r == '‘', r == 'ʻ', r == 'ʼ', unicode.Is(unicode.Cf, r):
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			space = folded.Len() > 0
		default:
			if space {
				folded.WriteByte(' ')
				space = false
			}
			folded.WriteRune(r)
		}
	}
	return folded.String()
}

// FoldEmail returns an e-mail address as it is searched for: in small letters, without accents, macrons and white space around it.
func FoldEmail(address string) string { return strings.TrimSpace(fold(address)) }

// unmarked are the letters that are searched for as others, and that Unicode does not decompose.
var unmarked = strings.NewReplacer("ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "ı", "i", "ð", "d", "þ", "th")

// fold returns a text in small letters, without marks.
func fold(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return strings.ToLower(s)
	}
	return unmarked.Replace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(s)))
}

// Isolate returns a line as HTML in which each of the names, which come from outside, is put in a <bdi>, so that a name that is
// written from right to left does not reorder the words around it, and no browser translates it. A blank name, such as that of a
// person who was erased, counts for nothing.
func Isolate(line string, names ...string) string {
	var b strings.Builder
	plain := 0 // start of the text that is not written yet
	for i := 0; i < len(line); {
		name := ""
		for _, n := range names {
			if len(n) > len(name) && strings.HasPrefix(line[i:], n) && strings.TrimSpace(n) != "" {
				name = n
			}
		}
		if name == "" {
			i++
			continue
		}
		b.WriteString(html.EscapeString(line[plain:i]) + `<bdi translate="no">` + html.EscapeString(name) + "</bdi>")
		i += len(name)
		plain = i
	}
	return b.String() + html.EscapeString(line[plain:])
}
