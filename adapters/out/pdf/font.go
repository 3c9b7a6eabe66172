package pdf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"

	"codeberg.org/go-fonts/dejavu/dejavusans"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype/tables"
	"github.com/klauspost/compress/zlib"
	"golang.org/x/text/unicode/norm"

	"github.com/provider-checkout/provider-checkout/adapters/internal/fonts"
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
	if f.isClean(text) {
		return text
	}
	var clean strings.Builder
	for _, r := range oneLine(text) {
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

// isClean reports whether text is words in the common font with single spaces between them, of which nothing has to be made.
// Nearly every text of an agreement is.
func (f *face) isClean(text string) bool {
	space := true // before the first word
	for _, r := range text {
		if f.common.find(r) == 0 || space && r == ' ' {
			return false
		}
		space = r == ' '
	}
	return !space || text == ""
}

// common is a font with the characters that nearly every agreement consists of. It is cut and compressed once, and every
// document holds it as it is. It is safe for concurrent use.
type common struct {
	embedded
	letters map[rune]uint16 // the codes of characters beyond ASCII
	widths  []int           // by code, in thousandths of the type size
}

// commonLetters are the letters and signs that names and terms in New Zealand need beyond ASCII: the macrons, the ʻokina, and the
// commonest letters of Europe.
const commonLetters = "¡¢£¥§©ª«®°±²³´µ·º»½¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ" +
	"ĀāĆćČčĐđĒēĪīŁłŃńŌōŒœŚśŠšŪūŸŽžʻʼ–—‘’‚“”•…€™"

// newCommon returns the font of a source with ASCII and more letters, under a name in documents.
func newCommon(name string, s *source, letters string) *common {
	f := &common{embedded: *newEmbedded(s, name), letters: map[rune]uint16{}, widths: []int{0}}
	var ascii strings.Builder
	for r := ' '; plain(r); r++ {
		ascii.WriteRune(r)
	}
	for _, r := range ascii.String() + letters {
		glyph, _ := s.cmap.Lookup(r)
		f.letters[r] = f.code(uint16(glyph), string(r))
		f.widths = append(f.widths, s.advance(uint16(glyph)))
	}
	f.stored = f.store(pack)
	return f
}

// pack compresses data as far as it goes.
func pack(data []byte) []byte {
	var b bytes.Buffer
	w := must(zlib.NewWriterLevel(&b, zlib.BestCompression))
	w.Write(data) // a buffer takes everything
	w.Close()
	return b.Bytes()
}

// plain reports whether r is a printable character of ASCII. Their codes follow one another.
func plain(r rune) bool { return ' ' <= r && r <= '~' }

// find returns the code of a character, or 0 for a character that the font lacks.
func (f *common) find(r rune) uint16 {
	if plain(r) {
		return uint16(r-' ') + 1
	}
	return f.letters[r]
}

// has reports whether the font has every character of text.
func (f *common) has(text string) bool {
	_, ok := f.width(text)
	return ok
}

// width returns the width of text in thousandths of the type size, or false if the font lacks a character.
func (f *common) width(text string) (width int, ok bool) {
	for _, r := range text {
		code := f.find(r)
		if code == 0 {
			return 0, false
		}
		width += f.widths[code]
	}
	return width, true
}

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

func (s *source) advance(id uint16) int {
	advance, _ := s.tables.metric(int(id))
	return s.thousandths(int(binary.BigEndian.Uint16(advance)))
}
