package pdf

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"unicode/utf16"
)

// noText is the text of a glyph whose letters another glyph of its cluster has: a space without width.
const noText = "\u200b"

// embedded is a font of one document: the glyphs of a source that the document uses. Each code is a glyph together with the
// text that it stands for, so that a reader finds the text without a guess.
type embedded struct {
	source *source
	name   string // in the document: "F3"
	codes  map[meaning]uint16
	glyphs []uint16 // of the source, by code
	texts  []string // by code
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

// write writes the font, and returns the number of its object.
func (f *embedded) write(p *press) (int, error) {
	file := f.source.tables.cut(f.glyphs)
	sum := sha256.Sum256(file)
	tag := make([]byte, 6) // marks a subset, and says which
	for i := range tag {
		tag[i] = 'A' + sum[i]%26
	}
	name := string(tag) + "+" + f.source.name
	stored, err := p.stream(fmt.Sprintf("/Length1 %d ", len(file)), file)
	if err != nil {
		return 0, err
	}
	descriptor := p.object(describe(f.source, name, stored))
	unicodes, err := p.stream("", toUnicode(2, func(yield func(code int, text string)) {
		for code, text := range f.texts[1:] {
			yield(code+1, text)
		}
	}))
	if err != nil {
		return 0, err
	}
	var widths bytes.Buffer
	for _, glyph := range f.glyphs {
		fmt.Fprintf(&widths, "%d ", f.source.advance(glyph))
	}
	descendant := p.object(fmt.Sprintf("<</Type /Font /Subtype /CIDFontType2 /BaseFont /%s "+
		"/CIDSystemInfo <</Registry (Adobe) /Ordering (Identity) /Supplement 0>> /FontDescriptor %d 0 R /DW 1000 /W [0 [%s]] "+
		"/CIDToGIDMap /Identity>>", name, descriptor, widths.Bytes()))
	return p.object(fmt.Sprintf("<</Type /Font /Subtype /Type0 /BaseFont /%s /Encoding /Identity-H /DescendantFonts [%d 0 R] "+
		"/ToUnicode %d 0 R>>", name, descendant, unicodes)), nil
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

// toUnicode returns the map from the codes of a font, of so many bytes each, to text.
func toUnicode(size int, codes func(yield func(code int, text string))) []byte {
	var lines [][]byte
	codes(func(code int, text string) {
		lines = append(lines, fmt.Appendf(nil, "<%0*X> <%X>\n", 2*size, code, utf16Units(text)))
	})
	var b bytes.Buffer
	fmt.Fprintf(&b, "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n"+
		"/CIDSystemInfo <</Registry (Adobe) /Ordering (UCS) /Supplement 0>> def\n/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n"+
		"1 begincodespacerange\n<%0*X> <%s>\nendcodespacerange\n", 2*size, 0, bytes.Repeat([]byte("FF"), size))
	const most = 100 // lines of a block
	for len(lines) > 0 {
		block := lines[:min(most, len(lines))]
		lines = lines[len(block):]
		fmt.Fprintf(&b, "%d beginbfchar\n%sendbfchar\n", len(block), bytes.Join(block, nil))
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
