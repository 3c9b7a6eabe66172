package pdf

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jung-kurt/gofpdf"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/text/encoding/charmap"
)

// cut is a face cut down once to the characters that nearly every agreement does with: what
// PDF calls a simple font, of at most 224 characters with a byte each, which a drawing copies
// as it is. The whole face costs several times the rest of a drawing, for in every document the
// library parses it, looks for the glyphs that are used and maps 65,536 characters.
type cut struct {
	codes      map[rune]byte
	widths     [256]int // by code, in thousandths of the type size
	definition []byte   // the library's description of the font, in its JSON
	packed     []byte   // the font as it stands in a document
}

// swaps are the letters of names in New Zealand that Windows-1252 lacks: the macrons, the
// ʻokina and the commonest of those that came from Europe. Each takes the code of nothing, or
// of a sign that an agreement hardly holds, and bears the name by which readers know it again.
var swaps = []struct {
	letter rune
	code   byte
	name   string
}{
	{'Ā', 0x81, "Amacron"}, {'ā', 0x83, "amacron"}, {'Ē', 0x84, "Emacron"}, {'ē', 0x86, "emacron"},
	{'Ī', 0x87, "Imacron"}, {'ī', 0x88, "imacron"}, {'Ō', 0x89, "Omacron"}, {'ō', 0x8B, "omacron"},
	{'Ū', 0x8D, "Umacron"}, {'ū', 0x8F, "umacron"}, {'ʻ', 0x90, "commaturnedmod"}, {'ʼ', 0x98, "apostrophemod"},
	{'Ć', 0x9B, "Cacute"}, {'ć', 0x9D, "cacute"}, {'Č', 0xA4, "Ccaron"}, {'č', 0xA6, "ccaron"},
	{'Đ', 0xA8, "Dcroat"}, {'đ', 0xAC, "dcroat"}, {'Ł', 0xAF, "Lslash"}, {'ł', 0xB6, "lslash"},
	{'Ń', 0xB8, "Nacute"}, {'ń', 0xB9, "nacute"}, {'Ś', 0xBC, "Sacute"}, {'ś', 0xBE, "sacute"},
	{'\uFFFD', 0x82, "uniFFFD"},
}

// codes returns the code of every character that a cut can hold: Windows-1252, which PDF knows
// by name, after the swaps.
func codes() map[rune]byte {
	codes := map[rune]byte{}
	for c := 0x20; c <= 0xFF; c++ {
		switch c {
		case 0x7F, 0xA0, 0xAD: // a control, a space and a hyphen: readers differ on them
		default:
			codes[charmap.Windows1252.DecodeByte(byte(c))] = byte(c)
		}
	}
	for _, s := range swaps {
		delete(codes, charmap.Windows1252.DecodeByte(s.code))
		codes[s.letter] = s.code
	}
	return codes
}

// newCut cuts f down to the characters that have codes.
func newCut(f *face, codes map[rune]byte) (*cut, error) {
	name, err := f.glyphs.Name(nil, sfnt.NameIDPostScript)
	if err != nil {
		return nil, err
	}
	c := &cut{codes: codes}
	for r, code := range codes {
		c.widths[code], err = f.advance(r)
		if err != nil {
			return nil, err
		}
	}
	font := gofpdf.UTF8CutFont(bytes.Clone(f.ttf), string(slices.Sorted(maps.Keys(codes))))
	c.definition, err = c.define(f.style, name, font)
	if err != nil {
		return nil, err
	}
	blankNames(font)
	c.packed, err = pack(font)
	return c, err
}

// define describes font in what the library reads of a font that it need not look into.
func (c *cut) define(style, name string, font []byte) ([]byte, error) {
	doc := gofpdf.New("P", "mm", "A4", "") // describes it as the library describes the whole
	doc.AddUTF8FontFromBytes("measured", style, bytes.Clone(font))
	d := struct {
		Tp, Name, File, Diff string
		OriginalSize         int
		Desc                 gofpdf.FontDescType
		Cw                   [256]int
	}{
		Tp:           "TrueType",
		Name:         "NZNAME+" + name, // six letters and a plus: a part of the font
		File:         name + ".z",      // as the library marks what is packed
		OriginalSize: len(font),
		Desc:         doc.GetFontDesc("measured", style),
		Cw:           c.widths,
	}
	// Its characters are found by their names, not by codes that only the font knows.
	d.Desc.Flags = d.Desc.Flags&^gofpdf.FontFlagSymbolic | gofpdf.FontFlagNonsymbolic
	for _, s := range swaps {
		if c.codes[s.letter] == s.code {
			d.Diff += fmt.Sprintf("%d /%s ", s.code, s.name)
		}
	}
	return json.Marshal(d)
}

// blankNames empties font's table of names: 15 KB, the licence among them, that whoever installs a
// font reads and no document needs. It stays in place, for the library wants one.
func blankNames(font []byte) {
	for i := range int(binary.BigEndian.Uint16(font[4:])) {
		record := font[12+16*i:][:16] // tag, checksum, offset, length
		if string(record[:4]) == "name" {
			offset, length := binary.BigEndian.Uint32(record[8:]), binary.BigEndian.Uint32(record[12:])
			clear(font[offset:][:length])
			clear(record[4:8]) // the sum of zeros
		}
	}
}

func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, zlib.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// plain tells whether r is a character of ASCII, which have codes of their own in every cut.
func plain(r rune) bool { return ' ' <= r && r <= '~' }

// encode returns text in the bytes that the cut takes, or false if it lacks a character.
func (c *cut) encode(text string) (string, bool) {
	if strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text, true
	}
	b := make([]byte, 0, len(text))
	for _, r := range text {
		code, ok := c.codes[r]
		if !ok {
			return "", false
		}
		b = append(b, code)
	}
	return string(b), true
}
