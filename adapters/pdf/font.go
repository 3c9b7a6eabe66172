package pdf

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// face is a font in one weight. It is safe for concurrent use.
type face struct {
	style  string // in the library's words: "" regular, "B" bold
	ttf    []byte // given to the library as a copy only, for the library writes into it
	glyphs *sfnt.Font
	subset *fontSubset
}

// newFace returns the face of a TrueType font, with a subset for the characters that have codes.
func newFace(style string, ttf []byte, codes map[rune]byte) (*face, error) {
	glyphs, err := sfnt.Parse(ttf)
	if err != nil {
		return nil, fmt.Errorf("pdf: parse font %q: %w", style, err)
	}
	f := &face{style: style, ttf: ttf, glyphs: glyphs}
	f.subset, err = newSubset(f, codes)
	if err != nil {
		return nil, fmt.Errorf("pdf: make a subset of font %q: %w", style, err)
	}
	return f, nil
}

// has reports whether r can be drawn. The library supports no rune above U+FFFF. The sign for a character that is unknown
// is not drawn either: in a contract it says nothing.
func (f *face) has(r rune) bool {
	if plain(r) {
		return true // the common case needs no table
	}
	if r > '\uffff' || r == unicode.ReplacementChar || isRightToLeft(r) {
		return false
	}
	glyph, err := f.glyphs.GlyphIndex(nil, r)
	return err == nil && glyph != 0
}

// isRightToLeft reports whether r is of a script that is written from right to left. The library would draw it from left
// to right, and a name that is silently reversed is another name.
func isRightToLeft(r rune) bool {
	properties, _ := bidi.LookupRune(r)
	switch properties.Class() {
	case bidi.R, bidi.AL, bidi.AN:
		return true
	}
	return false
}

// advance returns the width of r in thousandths of the type size, rounded as the library does.
func (f *face) advance(r rune) (int, error) {
	glyph, err := f.glyphs.GlyphIndex(nil, r)
	if err != nil {
		return 0, fmt.Errorf("find %U: %w", r, err)
	}
	units := int(f.glyphs.UnitsPerEm())
	advance, err := f.glyphs.GlyphAdvance(nil, glyph, fixed.I(units), font.HintingNone)
	if err != nil {
		return 0, fmt.Errorf("measure %U: %w", r, err)
	}
	return (2*1000*advance.Round() + units) / (2 * units), nil
}

// width returns the width of text, all of which f has, in thousandths of the type size.
func (f *face) width(text string) int {
	width := 0
	for _, r := range text {
		if plain(r) {
			width += f.subset.widths[r]
			continue
		}
		if code, ok := f.subset.codes[r]; ok {
			width += f.subset.widths[code]
			continue
		}
		advance, err := f.advance(r)
		if err != nil {
			panic(err) // f has the rune: see has
		}
		width += advance
	}
	return width
}

// clean returns text as f can draw it: valid UTF-8 in NFC on one line, white space as single
// spaces, without control and format characters. In place of a rune that f does not have its number stands in
// brackets, such as [U+1F600], and missing is called with it.
func (f *face) clean(text string, missing func(rune)) string {
	if isClean(text) {
		return text
	}
	text = oneLine(text)
	if strings.IndexFunc(text, func(r rune) bool { return !f.has(r) }) < 0 {
		return text
	}
	var clean strings.Builder
	for _, r := range text {
		if f.has(r) {
			clean.WriteRune(r)
			continue
		}
		missing(r)
		fmt.Fprintf(&clean, "[%U]", r)
	}
	return clean.String()
}

// oneLine returns text as valid UTF-8 in NFC on one line, white space as single spaces, without control and format
// characters.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
	return norm.NFC.String(strings.Join(strings.Fields(text), " "))
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
