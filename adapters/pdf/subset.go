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

// fontSubset is a face reduced, once for all documents, to the characters that nearly every agreement consists of. In PDF
// it is a simple font: at most 224 characters of one byte each, which every document holds as it is. For the whole face
// the library parses the font anew in every document, looks for the glyphs that are used and maps 65,536 characters, which
// takes several times as long as all the rest (see BenchmarkSubset).
type fontSubset struct {
	codes      map[rune]byte
	widths     [256]int // by code, in thousandths of the type size
	definition []byte   // describes the font to the library; see define
	packed     []byte   // the font, compressed, as documents hold it
}

// encodingOverrides are the letters of names in New Zealand that Windows-1252 lacks: the macrons, the
// ʻokina and the commonest letters of the rest of Europe. Each replaces a code that is not used in Windows-1252, or a
// sign that agreements hardly hold. PDF readers know the letter by its name in Adobe's glyph list.
var encodingOverrides = []struct {
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
}

// codes returns the code of every character that a subset can hold: Windows-1252, an encoding that PDF knows by name, with
// the overrides.
func codes() map[rune]byte {
	codes := map[rune]byte{}
	for c := 0x20; c <= 0xFF; c++ {
		switch c {
		case 0x7F, 0xA0, 0xAD: // a control character, a space and a hyphen, on which PDF readers differ
		default:
			codes[charmap.Windows1252.DecodeByte(byte(c))] = byte(c)
		}
	}
	for _, s := range encodingOverrides {
		delete(codes, charmap.Windows1252.DecodeByte(s.code))
		codes[s.letter] = s.code
	}
	return codes
}

// newSubset returns the subset of f for the characters that have codes.
func newSubset(f *face, codes map[rune]byte) (*fontSubset, error) {
	name, err := f.glyphs.Name(nil, sfnt.NameIDPostScript)
	if err != nil {
		return nil, err
	}
	s := &fontSubset{codes: codes}
	for r, code := range codes {
		s.widths[code], err = f.advance(r)
		if err != nil {
			return nil, err
		}
	}
	font := gofpdf.UTF8CutFont(bytes.Clone(f.ttf), string(slices.Sorted(maps.Keys(codes))))
	s.definition, err = s.define(f.style, name, font)
	if err != nil {
		return nil, err
	}
	blankNames(font)
	s.packed, err = pack(font)
	return s, err
}

// define describes font to the library, in the JSON that its own tool MakeFont writes and AddFontFromBytes reads. That
// format is not documented: its fields are those of the library's unexported type fontDefType, and
// TestDefinitionIsInTheFormatOfTheLibrary compares it with what MakeFont writes.
func (s *fontSubset) define(style, name string, font []byte) ([]byte, error) {
	doc := gofpdf.New("P", "mm", "A4", "") // whose description of the subset is that of the whole font
	doc.AddUTF8FontFromBytes("measured", style, bytes.Clone(font))
	d := struct {
		Tp, Name, File, Diff string
		OriginalSize         int
		Desc                 gofpdf.FontDescType
		Cw                   [256]int
	}{
		Tp:           "TrueType",
		Name:         "NZNAME+" + name, // six letters and a plus mark a subset
		File:         name + ".z",      // the ending marks a font that is compressed
		OriginalSize: len(font),
		Desc:         doc.GetFontDesc("measured", style),
		Cw:           s.widths,
	}
	// Readers find its characters by their names, not by codes of the font's own.
	d.Desc.Flags = d.Desc.Flags&^gofpdf.FontFlagSymbolic | gofpdf.FontFlagNonsymbolic
	for _, o := range encodingOverrides {
		if s.codes[o.letter] == o.code {
			d.Diff += fmt.Sprintf("%d /%s ", o.code, o.name)
		}
	}
	return json.Marshal(d)
}

// blankNames clears font's table of names: 15 KB, the licence among them, which are for the installation of a font and
// not for documents. The table stays in its place, for the library requires one.
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

// plain reports whether r is a printable character of ASCII: every subset has it, under its own code.
func plain(r rune) bool { return ' ' <= r && r <= '~' }

// encode returns text in the codes of the subset, or false if the subset lacks a character.
func (s *fontSubset) encode(text string) (string, bool) {
	if strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text, true
	}
	b := make([]byte, 0, len(text))
	for _, r := range text {
		code, ok := s.codes[r]
		if !ok {
			return "", false
		}
		b = append(b, code)
	}
	return string(b), true
}
