package pdf

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
)

// maxPage is the largest page that Text reads, in bytes; the longest that is drawn has a hundredth of it.
const maxPage = 4 << 20

var (
	fontList    = regexp.MustCompile(`(?m)^/F(\w+) (\d+) 0 R$`)
	encodingRef = regexp.MustCompile(`/Encoding (\d+) 0 R`)
	difference  = regexp.MustCompile(`(\d+) /(\w+)`)
	stream      = regexp.MustCompile(`/Filter /FlateDecode /Length (\d+)>>\nstream\n`)
	// shown is a change of the font, or a text.
	shown = regexp.MustCompile(`(?s)BT /F(\w+) [\d.]+ Tf ET| Td \(((?:[^\\)]|\\.)*)\) Tj ET`)
)

// errForeign says that Text cannot read a document.
var errForeign = errors.New("it is not in the form that this package draws")

// decoder reads a string that is set in a font.
type decoder func([]byte) string

// Text takes the text of an agreement back out of a PDF that a Printer drew, in the order in which it
// is read: every piece on a line of its own, a form feed after every page. It returns an error for a
// PDF of another kind.
func Text(data []byte) (string, error) {
	fonts, err := readFonts(data)
	if err != nil {
		return "", fmt.Errorf("read the fonts: %w", err)
	}
	var text strings.Builder
	pages := 0
	for _, at := range stream.FindAllSubmatchIndex(data, -1) {
		length, err := strconv.Atoi(string(data[at[2]:at[3]]))
		if err != nil || length > len(data)-at[1] {
			return "", errForeign
		}
		content, err := unpack(data[at[1]:][:length])
		if err != nil {
			return "", fmt.Errorf("unpack a page: %w", err)
		}
		if !bytes.Contains(content, []byte(" Td (")) {
			continue // a font, or its map
		}
		pages++
		if err := readPage(&text, content, fonts); err != nil {
			return "", fmt.Errorf("read page %d: %w", pages, err)
		}
	}
	if pages == 0 {
		return "", errForeign
	}
	return text.String(), nil
}

func readPage(text *strings.Builder, content []byte, fonts map[string]decoder) error {
	var decode decoder
	for _, m := range shown.FindAllSubmatch(content, -1) {
		if m[1] != nil {
			decode = fonts[string(m[1])]
			continue
		}
		if decode == nil {
			return errForeign
		}
		text.WriteString(decode(unescape(m[2])) + "\n")
	}
	text.WriteString("\f")
	return nil
}

// readFonts returns, by name, how each font's strings are read.
func readFonts(data []byte) (map[string]decoder, error) {
	_, list, ok := bytes.Cut(data, []byte("/Font <<\n"))
	if !ok {
		return nil, errForeign
	}
	fonts := map[string]decoder{}
	for _, m := range fontList.FindAllSubmatch(list, -1) {
		font := object(data, m[2])
		switch encoding := encodingRef.FindSubmatch(font); {
		case bytes.Contains(font, []byte("/Subtype /Type0")):
			fonts[string(m[1])] = readUTF16
		case bytes.Contains(font, []byte("/Encoding /WinAnsiEncoding")):
			fonts[string(m[1])] = singleByte(nil)
		case encoding != nil:
			fonts[string(m[1])] = singleByte(object(data, encoding[1]))
		default:
			return nil, errForeign
		}
	}
	return fonts, nil
}

// object returns the object with a number, or nothing.
func object(data, number []byte) []byte {
	_, after, _ := bytes.Cut(data, fmt.Appendf(nil, "\n%s 0 obj\n", number))
	body, _, _ := bytes.Cut(after, []byte("endobj"))
	return body
}

func readUTF16(raw []byte) string {
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.BigEndian.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units))
}

// singleByte reads Windows-1252, but for the codes that an encoding gives to other letters.
func singleByte(encoding []byte) decoder {
	letters := map[string]rune{}
	for _, s := range encodingOverrides {
		letters[s.name] = s.letter
	}
	other := map[byte]rune{}
	for _, m := range difference.FindAllSubmatch(encoding, -1) {
		if code, err := strconv.ParseUint(string(m[1]), 10, 8); err == nil {
			other[byte(code)] = letters[string(m[2])]
		}
	}
	return func(raw []byte) string {
		var text strings.Builder
		for _, c := range raw {
			r, ok := other[c]
			if !ok {
				r = charmap.Windows1252.DecodeByte(c)
			}
			text.WriteRune(r)
		}
		return text.String()
	}
}

// unescape decodes a PDF string.
func unescape(escaped []byte) []byte {
	raw := make([]byte, 0, len(escaped))
	for i := 0; i < len(escaped); i++ {
		if escaped[i] == '\\' && i+1 < len(escaped) {
			i++
			if escaped[i] == 'r' {
				raw = append(raw, '\r')
				continue
			}
		}
		raw = append(raw, escaped[i])
	}
	return raw
}

func unpack(packed []byte) ([]byte, error) {
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(r, maxPage+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxPage {
		return nil, errForeign
	}
	return content, nil
}
