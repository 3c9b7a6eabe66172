package pdf

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf16"
)

// noText is the text of a glyph whose letters another glyph of its cluster has: a space without width.
const noText = "\u200b"

// embedded is a font in a document: glyphs of a source. Each code is a glyph together with the text that it stands for, so that
// a reader finds the text without a guess.
type embedded struct {
	source *source
	name   string // in the document: "F3"
	codes  map[meaning]uint16
	glyphs []uint16 // of the source, by code
	texts  []string // by code
	stored *stored  // nil if it is made for each document
}

// stored is a font in the form in which documents hold it.
type stored struct {
	name            string // in PostScript
	length          int    // of the font's file
	file, toUnicode []byte // compressed
	widths          []byte
}

type meaning struct {
	glyph uint16
	text  string
}

func newEmbedded(s *source, name string) *embedded {
	return &embedded{source: s, name: name, codes: map[meaning]uint16{}, glyphs: []uint16{0}, texts: []string{""}}
}

// code returns the code of a glyph that stands for text.
func (f *embedded) code(glyph uint16, text string) uint16 {
	m := meaning{glyph, text}
	code, ok := f.codes[m]
	if !ok {
		code = uint16(len(f.glyphs))
		f.codes[m] = code
		f.glyphs, f.texts = append(f.glyphs, glyph), append(f.texts, text)
	}
	return code
}

// store cuts the font from its source.
func (f *embedded) store(compress func([]byte) []byte) *stored {
	file := f.source.tables.cut(f.glyphs)
	sum := sha256.Sum256(file)
	tag := make([]byte, 6) // marks a subset, and says which
	for i := range tag {
		tag[i] = 'A' + sum[i]%26
	}
	s := &stored{name: string(tag) + "+" + f.source.name, length: len(file)}
	s.file, s.toUnicode = bytes.Clone(compress(file)), bytes.Clone(compress(toUnicode(f.texts)))
	for _, glyph := range f.glyphs {
		s.widths = fmt.Appendf(s.widths, "%d ", f.source.advance(glyph))
	}
	return s
}

// write writes the font, and returns the number of its object.
func (f *embedded) write(p *press) int {
	s := f.stored
	if s == nil {
		s = f.store(p.compress)
	}
	file := p.stream(fmt.Sprintf("/Length1 %d ", s.length), s.file)
	descriptor := p.object("%s", describe(f.source, s.name, file))
	unicodes := p.stream("", s.toUnicode)
	descendant := p.object("<</Type /Font /Subtype /CIDFontType2 /BaseFont /%s "+
		"/CIDSystemInfo <</Registry (Adobe) /Ordering (Identity) /Supplement 0>> /FontDescriptor %d 0 R /DW 1000 /W [0 [%s]] "+
		"/CIDToGIDMap /Identity>>", s.name, descriptor, s.widths)
	return p.object("<</Type /Font /Subtype /Type0 /BaseFont /%s /Encoding /Identity-H /DescendantFonts [%d 0 R] "+
		"/ToUnicode %d 0 R>>", s.name, descendant, unicodes)
}

// describe returns the descriptor of a font that has the glyphs of a source and is stored as an object.
func describe(s *source, name string, stored int) string {
	head, hhea := s.tables["head"], s.tables["hhea"]
	signed := func(table []byte, at int) int { return s.thousandths(int(int16(binary.BigEndian.Uint16(table[at:])))) }
	const symbolic = 4
	return fmt.Sprintf("<</Type /FontDescriptor /FontName /%s /Flags %d /FontBBox [%d %d %d %d] /ItalicAngle 0 /Ascent %d /Descent %d "+
		"/CapHeight %d /StemV 80 /FontFile2 %d 0 R>>", name, symbolic, signed(head, 36), signed(head, 38), signed(head, 40), signed(head, 42),
		signed(hhea, 4), signed(hhea, 6), signed(hhea, 4), stored)
}

// toUnicode returns the map from the codes of a font to their texts; code 0 has no text.
func toUnicode(texts []string) []byte {
	var b bytes.Buffer
	b.WriteString("/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n" +
		"/CIDSystemInfo <</Registry (Adobe) /Ordering (UCS) /Supplement 0>> def\n/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n" +
		"1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n")
	const most = 100 // lines of a block
	code := 1
	for block := range slices.Chunk(texts[1:], most) {
		fmt.Fprintf(&b, "%d beginbfchar\n", len(block))
		for _, text := range block {
			fmt.Fprintf(&b, "<%04X> <%X>\n", code, utf16Units(text))
			code++
		}
		b.WriteString("endbfchar\n")
	}
	b.WriteString("endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n")
	return b.Bytes()
}

// utf16Units returns text in UTF-16.
func utf16Units(text string) (b []byte) {
	for _, unit := range utf16.Encode([]rune(text)) {
		b = binary.BigEndian.AppendUint16(b, unit)
	}
	return b
}

// utf16Text returns text in UTF-16, in the form of PDF's text strings.
func utf16Text(text string) []byte { return append([]byte{0xFE, 0xFF}, utf16Units(text)...) }
