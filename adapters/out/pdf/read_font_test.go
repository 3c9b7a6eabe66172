package pdf_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// fonts returns, by name, how each font of a rendered PDF reads the strings that are set in it.
func fonts(t rapid.TB, pdf []byte) map[string]func([]byte) string {
	t.Helper()
	_, resources, _ := bytes.Cut(pdf, []byte("/Font <<\n"))
	fonts := map[string]func([]byte) string{}
	for _, m := range regexp.MustCompile(`(?m)^/F(\w+) (\d+) 0 R$`).FindAllSubmatch(resources, -1) {
		font := object(t, pdf, m[2])
		switch {
		case bytes.Contains(font, []byte("/Subtype /Type0")):
			fonts[string(m[1])] = mapped(t, pdf, font)
		case bytes.Contains(font, []byte("/Encoding /WinAnsiEncoding")):
			fonts[string(m[1])] = single(nil)
		default:
			encoding := regexp.MustCompile(`/Encoding (\d+) 0 R`).FindSubmatch(font)
			if encoding == nil {
				t.Fatalf("font %s has no encoding: %s", m[1], font)
			}
			fonts[string(m[1])] = single(differences(t, object(t, pdf, encoding[1])))
		}
	}
	return fonts
}

func object(t rapid.TB, pdf, number []byte) []byte {
	t.Helper()
	_, after, ok := bytes.Cut(pdf, fmt.Appendf(nil, "\n%s 0 obj\n", number))
	if !ok {
		t.Fatalf("the document has no object %s", number)
	}
	object, _, _ := bytes.Cut(after, []byte("endobj"))
	return object
}

// mapped reads codes of two bytes by their map to Unicode.
func mapped(t rapid.TB, pdf, font []byte) func([]byte) string {
	t.Helper()
	ref := regexp.MustCompile(`/ToUnicode (\d+) 0 R`).FindSubmatch(font)
	_, after, _ := bytes.Cut(pdf, fmt.Appendf(nil, "\n%s 0 obj\n", ref[1]))
	_, stream, _ := bytes.Cut(after, []byte("stream\n"))
	texts := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^<([0-9A-F]{4})> <([0-9A-F]+)>$`).FindAllSubmatch(inflate(t, stream), -1) {
		code, _ := hex.DecodeString(string(m[1])) // the pattern is of digits
		text, err := hex.DecodeString(string(m[2]))
		if err != nil {
			t.Fatal(err)
		}
		texts[string(code)] = strings.ReplaceAll(double(text), "\u200b", "")
	}
	return func(raw []byte) string {
		var text strings.Builder
		for ; len(raw) > 1; raw = raw[2:] {
			text.WriteString(texts[string(raw[:2])])
		}
		return text.String()
	}
}

// double reads UTF-16.
func double(raw []byte) string {
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.BigEndian.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units))
}

// single reads Windows-1252 but for the codes in other.
func single(other map[byte]rune) func([]byte) string {
	return func(raw []byte) string {
		var b strings.Builder
		for _, c := range raw {
			r, ok := other[c]
			if !ok {
				r = charmap.Windows1252.DecodeByte(c)
			}
			b.WriteRune(r)
		}
		return b.String()
	}
}

// differences reads codes each followed by the name of its character.
func differences(t rapid.TB, encoding []byte) map[byte]rune {
	t.Helper()
	other := map[byte]rune{}
	for _, m := range regexp.MustCompile(`(\d+) /(\w+)`).FindAllSubmatch(encoding, -1) {
		code, err := strconv.ParseUint(string(m[1]), 10, 8)
		if err != nil {
			t.Fatal(err)
		}
		r, err := named(string(m[2]))
		if err != nil {
			t.Fatal(err)
		}
		other[byte(code)] = r
	}
	return other
}

// named returns the character of a name in Adobe's glyph list, which readers go by: mostly a
// letter and its accent, or uni and a code point.
func named(name string) (rune, error) {
	odd := map[string]rune{
		"Dcroat": 'Đ', "dcroat": 'đ', "Lslash": 'Ł', "lslash": 'ł', "commaturnedmod": 'ʻ', "apostrophemod": 'ʼ',
	}
	if r, ok := odd[name]; ok {
		return r, nil
	}
	if hex, ok := strings.CutPrefix(name, "uni"); ok {
		r, err := strconv.ParseUint(hex, 16, 16)
		return rune(r), err
	}
	accents := map[string]string{"macron": "\u0304", "acute": "\u0301", "caron": "\u030C"}
	accent, ok := accents[name[1:]]
	composed := []rune(norm.NFC.String(name[:1] + accent))
	if !ok || len(composed) != 1 {
		return 0, fmt.Errorf("no character is named %q", name)
	}
	return composed[0], nil
}
