package pdf

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jung-kurt/gofpdf"
	"golang.org/x/text/encoding/charmap"
)

// fontSubset is a font reduced, once for all documents, to the characters that nearly every agreement consists of. In PDF
// it is a simple font: at most 224 characters of one byte each, which every document holds as it is.
type fontSubset struct {
	name     string // in the document: "F1"
	codes    map[rune]byte
	widths   [256]int // by code, in thousandths of the type size
	source   *source
	postName string // in PostScript, with the mark of a subset
	encoding string // what differs from Windows-1252, as PDF
	length   int    // of the font
	packed   []byte // the font, compressed, as documents hold it
	unicodes []byte // the map to Unicode, compressed
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
		case 0x81, 0x8D, 0x8F, 0x90, 0x9D: // no characters
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

// newSubset returns the subset of a font for the characters that have codes, under a name in documents.
func newSubset(name string, ttf []byte, codes map[rune]byte) (*fontSubset, error) {
	source, err := newSource(ttf)
	if err != nil {
		return nil, err
	}
	s := &fontSubset{name: name, codes: codes, source: source, postName: "NZNAME+" + source.name} // six letters and a plus mark a subset
	for r, code := range codes {
		glyph, err := source.cmap.GlyphIndex(nil, r)
		if err != nil || glyph == 0 {
			return nil, fmt.Errorf("pdf: font %s has no %U: %w", source.name, r, err)
		}
		s.widths[code] = source.advance(uint16(glyph))
	}
	font := gofpdf.UTF8CutFont(bytes.Clone(ttf), string(slices.Sorted(maps.Keys(codes))))
	blankNames(font)
	s.length = len(font)
	s.packed, err = pack(font)
	if err != nil {
		return nil, err
	}
	s.unicodes, err = pack(toUnicode(1, func(yield func(code int, text string)) {
		letters := map[byte]rune{}
		for r, code := range codes {
			letters[code] = r
		}
		for _, code := range slices.Sorted(maps.Keys(letters)) {
			yield(int(code), string(letters[code]))
		}
	}))
	for _, o := range encodingOverrides {
		if codes[o.letter] == o.code {
			s.encoding += fmt.Sprintf("%d /%s ", o.code, o.name)
		}
	}
	return s, err
}

// write writes the font, and returns the number of its object.
func (s *fontSubset) write(p *press) int {
	file := p.packedStream(fmt.Sprintf("/Length1 %d ", s.length), s.packed)
	const symbolic, nonsymbolic = 4, 32 // readers find its characters by their names, not by codes of the font's own
	descriptor := p.object(strings.Replace(describe(s.source, s.postName, file), fmt.Sprintf("/Flags %d", symbolic),
		fmt.Sprintf("/Flags %d", nonsymbolic), 1))
	unicodes := p.packedStream("", s.unicodes)
	encoding := "/WinAnsiEncoding"
	if s.encoding != "" {
		encoding = fmt.Sprintf("%d 0 R", p.object("<</Type /Encoding /BaseEncoding /WinAnsiEncoding /Differences ["+s.encoding+"]>>"))
	}
	widths := make([]byte, 0, 4*len(s.widths))
	for _, w := range s.widths[' ':] {
		widths = fmt.Appendf(widths, "%d ", w)
	}
	return p.object(fmt.Sprintf("<</Type /Font /Subtype /TrueType /BaseFont /%s /FirstChar 32 /LastChar 255 /Widths [%s] "+
		"/FontDescriptor %d 0 R /Encoding %s /ToUnicode %d 0 R>>", s.postName, widths, descriptor, encoding, unicodes))
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

// width returns the width of text in thousandths of the type size, or false if the subset lacks a character.
func (s *fontSubset) width(text string) (width int, ok bool) {
	for _, r := range text {
		code := byte(r)
		if !plain(r) {
			if code, ok = s.codes[r]; !ok {
				return 0, false
			}
		}
		width += s.widths[code]
	}
	return width, true
}
