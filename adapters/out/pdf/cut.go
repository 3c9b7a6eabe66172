package pdf

import (
	"encoding/binary"
	"slices"

	"github.com/go-text/typesetting/font/opentype"
)

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
