package pdf

import (
	"bytes"
	"strings"

	"github.com/klauspost/compress/zlib"
)

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
	return strings.IndexFunc(text, func(r rune) bool { return f.find(r) == 0 }) < 0
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
