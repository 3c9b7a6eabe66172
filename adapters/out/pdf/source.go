package pdf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"unicode"

	"codeberg.org/go-fonts/dejavu/dejavusans"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype/tables"

	"github.com/provider-checkout/provider-checkout/adapters/internal/fonts"
)

// source is a font of which documents embed the glyphs that they use. It is safe for concurrent use.
type source struct {
	name   string              // its name in PostScript
	units  int                 // of its em
	script *unicode.RangeTable // whose letters are taken from it where other sources have them too; optional
	cmap   font.Cmap
	tables truetype
	parsed func() *font.Font // for the shaper; made once, when a name first needs it
}

func newSource(ttf []byte) *source {
	t := readTables(ttf)
	cmap, _, err := tables.ParseCmap(t["cmap"])
	names, _, err2 := tables.ParseName(t["name"])
	glyphs, _, err3 := font.ProcessCmap(cmap, tables.FPNone)
	must(0, errors.Join(err, err2, err3))
	const postScript = 6
	return &source{
		name: names.Name(postScript), units: int(binary.BigEndian.Uint16(t["head"][18:])), cmap: glyphs, tables: t,
		parsed: sync.OnceValue(func() *font.Font { return must(font.ParseTTF(bytes.NewReader(ttf))).Font }),
	}
}

// must returns a value of the fonts or the compressor, which are a part of the program: an error panics in every test.
func must[T any](v T, err error) T {
	if err != nil {
		panic("pdf: " + err.Error())
	}
	return v
}

// sources are all fonts, first the font of most letters.
type sources []*source

func newSources() (all sources) {
	all = append(all, newSource(dejavusans.TTF))
	for _, script := range fonts.Scripts { // of some DejaVu has the commonest letters only, and letters of two fonts do not join
		noto := newSource(must(fonts.Noto(script)))
		noto.script = unicode.Scripts[script]
		all = append(all, noto)
	}
	return append(all, newSource(fonts.EastAsian))
}

// of returns the font that has a character, or nil if every font lacks it. No emoji and no signs for private use are taken for
// letters, though a font has some, and neither is the sign for a character that is unknown: in a contract it says nothing.
func (s sources) of(r rune) *source {
	if r == unicode.ReplacementChar || unicode.Is(unicode.Co, r) || r > 0xFFFF && !unicode.Is(unicode.Han, r) {
		return nil
	}
	for _, f := range s {
		if f.script != nil && unicode.Is(f.script, r) && f.has(r) {
			return f
		}
	}
	for _, f := range s {
		if f.has(r) {
			return f
		}
	}
	return nil
}

func (s *source) has(r rune) bool {
	glyph, ok := s.cmap.Lookup(r)
	return ok && glyph != 0
}

// thousandths converts units of the font to thousandths of the type size.
func (s *source) thousandths(units int) int {
	return (2*1000*units + s.units) / (2 * s.units)
}

// advance returns the width of a glyph in thousandths of the type size.
func (s *source) advance(id uint16) int {
	advance, _ := s.tables.metric(int(id))
	return s.thousandths(int(binary.BigEndian.Uint16(advance)))
}
