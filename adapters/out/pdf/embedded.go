package pdf

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf16"

	"github.com/go-text/typesetting/font/opentype"
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

func (f *embedded) write(p *press) int {
	s := f.stored
	if s == nil {
		s = f.store(p.compress)
	}
	file := p.stream(fmt.Sprintf("/Length1 %d ", s.length), s.file)
	head, hhea := f.source.tables["head"], f.source.tables["hhea"]
	signed := func(table []byte, at int) int {
		return f.source.thousandths(int(int16(binary.BigEndian.Uint16(table[at:]))))
	}
	const symbolic = 4
	descriptor := p.object("<</Type /FontDescriptor /FontName /%s /Flags %d /FontBBox [%d %d %d %d] /ItalicAngle 0 /Ascent %d /Descent %d "+
		"/CapHeight %d /StemV 80 /FontFile2 %d 0 R>>", s.name, symbolic, signed(head, 36), signed(head, 38), signed(head, 40), signed(head, 42),
		signed(hhea, 4), signed(hhea, 6), signed(hhea, 4), file)
	unicodes := p.stream("", s.toUnicode)
	descendant := p.object("<</Type /Font /Subtype /CIDFontType2 /BaseFont /%s "+
		"/CIDSystemInfo <</Registry (Adobe) /Ordering (Identity) /Supplement 0>> /FontDescriptor %d 0 R /DW 1000 /W [0 [%s]] "+
		"/CIDToGIDMap /Identity>>", s.name, descriptor, s.widths)
	return p.object("<</Type /Font /Subtype /Type0 /BaseFont /%s /Encoding /Identity-H /DescendantFonts [%d 0 R] "+
		"/ToUnicode %d 0 R>>", s.name, descendant, unicodes)
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

func utf16Units(text string) []byte {
	return must(binary.Append(nil, binary.BigEndian, utf16.Encode([]rune(text))))
}

// utf16Text returns text in UTF-16, in the form of PDF's text strings.
func utf16Text(text string) []byte { return append([]byte{0xFE, 0xFF}, utf16Units(text)...) }

// truetype is the tables of a TrueType font by their tags.
type truetype map[string][]byte

// readTables finds the tables of a font, which is a part of the program.
func readTables(ttf []byte) truetype {
	t := truetype{}
	for i := range int(binary.BigEndian.Uint16(ttf[4:])) {
		record := ttf[12+16*i:][:16] // tag, checksum, offset, length
		t[string(record[:4])] = ttf[binary.BigEndian.Uint32(record[8:]):][:binary.BigEndian.Uint32(record[12:])]
	}
	return t
}

// glyph returns the description of a glyph, empty for a glyph that shows nothing.
func (t truetype) glyph(id int) []byte {
	if binary.BigEndian.Uint16(t["head"][50:]) == 0 { // the short form
		return t["glyf"][2*int(binary.BigEndian.Uint16(t["loca"][2*id:])) : 2*int(binary.BigEndian.Uint16(t["loca"][2*id+2:]))]
	}
	return t["glyf"][binary.BigEndian.Uint32(t["loca"][4*id:]):binary.BigEndian.Uint32(t["loca"][4*id+4:])]
}

// metric returns the advance width and the left side bearing of a glyph, as the font has them.
func (t truetype) metric(id int) (advance, bearing []byte) {
	wide := int(binary.BigEndian.Uint16(t["hhea"][34:])) // so many glyphs have a width of their own, the others that of the last
	if id < wide {
		return t["hmtx"][4*id:][:2], t["hmtx"][4*id+2:][:2]
	}
	return t["hmtx"][4*(wide-1):][:2], t["hmtx"][4*wide+2*(id-wide):][:2]
}

// cut returns a font of these glyphs of t, in this order, and of what they are composed of after them. It has what
// documents need of a font, without hints for coarse screens.
func (t truetype) cut(ids []uint16) []byte {
	ids = slices.Clone(ids)
	var glyf, loca, hmtx []byte
	for i := 0; i < len(ids); i++ {
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
		advance, bearing := t.metric(int(ids[i]))
		hmtx = append(append(hmtx, advance...), bearing...)
		var shape []byte
		shape, ids = composed(unhinted(t.glyph(int(ids[i]))), ids)
		glyf = padded(append(glyf, shape...))
	}
	loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))

	head, hhea, maxp := slices.Clone(t["head"]), slices.Clone(t["hhea"]), slices.Clone(t["maxp"])
	clear(head[8:12])                        // the sum of the whole
	binary.BigEndian.PutUint16(head[50:], 1) // the long form
	binary.BigEndian.PutUint16(hhea[34:], uint16(len(ids)))
	binary.BigEndian.PutUint16(maxp[4:], uint16(len(ids)))
	var tables []opentype.Table
	for _, t := range []struct {
		tag  string
		data []byte
	}{{"glyf", glyf}, {"head", head}, {"hhea", hhea}, {"hmtx", hmtx}, {"loca", loca}, {"maxp", maxp}} {
		tables = append(tables, opentype.Table{Tag: opentype.MustNewTag(t.tag), Content: padded(t.data)})
	}
	font := opentype.WriteTTF(tables)
	sum := uint32(0)
	for i := 0; i < len(font); i += 4 {
		sum += binary.BigEndian.Uint32(font[i:])
	}
	at := 12 + 16 + 8 // of the offset of the second table, head
	binary.BigEndian.PutUint32(font[binary.BigEndian.Uint32(font[at:])+8:], 0xB1B0AFBA-sum)
	return font
}

// padded fills data up to a multiple of four bytes.
func padded(data []byte) []byte { return append(data, make([]byte, -len(data)&3)...) }

// unhinted returns a glyph without the instructions for coarse screens.
func unhinted(shape []byte) []byte {
	if len(shape) == 0 || int16(binary.BigEndian.Uint16(shape)) < 0 {
		return shape
	}
	at := 10 + 2*int(binary.BigEndian.Uint16(shape)) // of the length of the instructions, behind the ends of the contours
	end := at + 2 + int(binary.BigEndian.Uint16(shape[at:]))
	return slices.Concat(shape[:at], []byte{0, 0}, shape[end:])
}

// composed returns a glyph in which each part, if it has some, is a number of ids, and ids with the parts that they lacked.
func composed(shape []byte, ids []uint16) ([]byte, []uint16) {
	const words, scaled, more, scaledXY, matrix, hinted = 0x1, 0x8, 0x20, 0x40, 0x80, 0x100
	if len(shape) == 0 || int16(binary.BigEndian.Uint16(shape)) >= 0 {
		return shape, ids
	}
	shape = slices.Clone(shape)
	for at := 10; ; {
		flags, part := binary.BigEndian.Uint16(shape[at:]), binary.BigEndian.Uint16(shape[at+2:])
		binary.BigEndian.PutUint16(shape[at:], flags&^hinted)
		index := slices.Index(ids, part)
		if index < 0 {
			index = len(ids)
			ids = append(ids, part)
		}
		binary.BigEndian.PutUint16(shape[at+2:], uint16(index))
		at += 4 + 2
		if flags&words != 0 {
			at += 2
		}
		switch {
		case flags&scaled != 0:
			at += 2
		case flags&scaledXY != 0:
			at += 4
		case flags&matrix != 0:
			at += 8
		}
		if flags&more == 0 {
			return shape[:at], ids
		}
	}
}
