package pdf

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/text/unicode/norm"
)

// face is a font in one weight. It is safe for concurrent use.
type face struct {
	style  string // in the library's words: "" regular, "B" bold
	ttf    []byte // never handed out but as a copy: the library writes into it
	glyphs *sfnt.Font
}

func newFace(style string, ttf []byte) (*face, error) {
	glyphs, err := sfnt.Parse(ttf)
	if err != nil {
		return nil, fmt.Errorf("pdf: parse font %q: %w", style, err)
	}
	return &face{style: style, ttf: ttf, glyphs: glyphs}, nil
}

// has tells whether r can be drawn. The library knows no rune above U+FFFF.
func (f *face) has(r rune) bool {
	if r > '\uffff' {
		return false
	}
	glyph, err := f.glyphs.GlyphIndex(nil, r)
	return err == nil && glyph != 0
}

// clean makes text fit to draw in f: valid UTF-8 in NFC on one line, white space as single
// spaces, without control and format characters. A rune that f does not have becomes
// U+FFFD, and undrawn is told of it.
func (f *face) clean(text string, undrawn func(rune)) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
	text = norm.NFC.String(strings.Join(strings.Fields(text), " "))
	return strings.Map(func(r rune) rune {
		if f.has(r) {
			return r
		}
		undrawn(r)
		return unicode.ReplacementChar
	}, text)
}
