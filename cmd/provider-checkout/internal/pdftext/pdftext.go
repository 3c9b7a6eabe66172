// Package pdftext reads the text of a stored agreement PDF, so that it can be compared with the record. It reads the
// form that package pdf renders, and no other PDF. It does not import that package: a mistake of the renderer must not
// be repeated by the check of its documents.
package pdftext

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
)

// Limits of a document, because stored bytes may be damaged or replaced. The longest agreement that can be rendered
// stays far below each.
const (
	maxDocument = 16 << 20 // bytes
	maxUnpacked = 32 << 20 // bytes of all streams together
	maxStreams  = 1000     // pages, fonts and character maps
	maxFonts    = 16
	maxUnicodes = 4 << 20 // bytes of a font's map to Unicode
	maxCodes    = 256     // of an encoding
)

var (
	fontRef     = regexp.MustCompile(`(?m)^(/F\w+) (\d+) 0 R$`)
	encodingRef = regexp.MustCompile(`/Encoding (\d+) 0 R`)
	unicodesRef = regexp.MustCompile(`/ToUnicode (\d+) 0 R`)
	unicode     = regexp.MustCompile(`(?m)^<([0-9A-F]{4})> <([0-9A-F]{4,})>$`)
	difference  = regexp.MustCompile(`(\d+) /(\w+)`)
	stream      = regexp.MustCompile(`/Filter /FlateDecode /Length (\d+)>>\nstream\n`)
)

var (
	errForm     = errors.New("it does not have the form of a rendered agreement")
	errTooLarge = errors.New("it is larger than any rendered agreement")
)

// Read returns the text of each page of an agreement PDF in reading order, with a line feed after each piece of text.
// It returns an error, and no pages, if data does not have the form of a rendered agreement or is larger than any.
func Read(data []byte) (pages []string, err error) {
	if len(data) > maxDocument {
		return nil, errTooLarge
	}
	fonts, err := readFonts(data)
	if err != nil {
		return nil, fmt.Errorf("read the fonts: %w", err)
	}
	streams, err := readStreams(data)
	if err != nil {
		return nil, err
	}
	for _, content := range streams {
		if !bytes.Contains(content, []byte(" Td (")) {
			continue // a font file or a character map
		}
		page, err := readPage(content, fonts)
		if err != nil {
			return nil, fmt.Errorf("read page %d: %w", len(pages)+1, err)
		}
		pages = append(pages, page)
	}
	if len(pages) == 0 {
		return nil, errForm
	}
	return pages, nil
}

// readStreams returns the content of every stream.
func readStreams(data []byte) (contents [][]byte, err error) {
	unpacked := 0
	for {
		at := stream.FindSubmatchIndex(data)
		if at == nil {
			return contents, nil
		}
		length, err := strconv.Atoi(string(data[at[2]:at[3]]))
		if err != nil || length > len(data)-at[1] {
			return nil, errForm
		}
		if len(contents) == maxStreams {
			return nil, errTooLarge
		}
		content, err := unpack(data[at[1]:][:length], maxUnpacked-unpacked)
		if err != nil {
			return nil, fmt.Errorf("unpack stream %d: %w", len(contents)+1, err)
		}
		contents = append(contents, content)
		unpacked += len(content)
		data = data[at[1]+length:]
	}
}

func unpack(packed []byte, limit int) ([]byte, error) {
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(content) > limit {
		return nil, errTooLarge
	}
	return content, nil
}

// decoder decodes a string that is set in a font.
type decoder func([]byte) string

// readPage returns the text that the content of a page shows. Operators follow their operands: Tf selects the font that
// was named, Tj shows the string. Each uses its operand up, so that the time stays linear in the content.
func readPage(content []byte, fonts map[string]decoder) (string, error) {
	var page strings.Builder
	var name string
	var shown []byte
	var decode decoder
	for i := 0; i < len(content); {
		if content[i] == '(' {
			raw, end := unescape(content, i+1)
			if end < 0 {
				return "", errForm
			}
			shown, i = raw, end
			continue
		}
		if bytes.HasPrefix(content[i:], []byte("<<")) { // of a dictionary
			i += 2
			continue
		}
		if content[i] == '<' {
			end := bytes.IndexByte(content[i:], '>')
			if end < 0 {
				return "", errForm
			}
			raw, err := hex.DecodeString(string(content[i+1 : i+end]))
			if err != nil {
				return "", errForm
			}
			shown, i = raw, i+end+1
			continue
		}
		token := content[i:]
		if end := bytes.IndexAny(token, " \n(<"); end >= 0 {
			token = token[:max(end, 1)]
		}
		i += len(token)
		switch {
		case token[0] == '/':
			name = string(token)
		case string(token) == "Tf":
			decode, name = fonts[name], ""
		case string(token) == "Tj" && decode == nil:
			return "", errForm
		case string(token) == "Tj":
			page.WriteString(decode(shown) + "\n")
			shown = nil
		}
	}
	return page.String(), nil
}

// readFonts returns the decoder of each font by the font's name.
func readFonts(data []byte) (map[string]decoder, error) {
	_, list, ok := bytes.Cut(data, []byte("/Font <<\n"))
	if !ok {
		return nil, errForm
	}
	list, _, _ = bytes.Cut(list, []byte(">>"))
	refs := fontRef.FindAllSubmatch(list, maxFonts+1)
	if len(refs) > maxFonts {
		return nil, errTooLarge
	}
	fonts := map[string]decoder{}
	for _, m := range refs {
		decode, err := readFont(data, m[2])
		if err != nil {
			return nil, err
		}
		fonts[string(m[1])] = decode
	}
	return fonts, nil
}

// readFont returns the decoder of the font that is the object with this number.
func readFont(data, number []byte) (decoder, error) {
	font := object(data, number)
	switch encoding := encodingRef.FindSubmatch(font); {
	case bytes.Contains(font, []byte("/Subtype /Type0")):
		return readCodes(data, font)
	case bytes.Contains(font, []byte("/Encoding /WinAnsiEncoding")):
		return singleByte(nil), nil
	case encoding != nil:
		letters, err := differences(object(data, encoding[1]))
		return singleByte(letters), err
	}
	return nil, errForm
}

// noText is what a glyph stands for whose text another one has.
const noText = "\u200b"

// readCodes returns the decoder of a font with codes of two bytes: by its map to Unicode, or, where that lists none, the codes
// are UTF-16.
func readCodes(data, font []byte) (decoder, error) {
	ref := unicodesRef.FindSubmatch(font)
	if ref == nil {
		return decodeUTF16, nil
	}
	_, after, _ := bytes.Cut(data, fmt.Appendf(nil, "\n%s 0 obj\n", ref[1]))
	at := stream.FindSubmatchIndex(after[:min(len(after), 200)])
	if at == nil {
		return decodeUTF16, nil
	}
	length, err := strconv.Atoi(string(after[at[2]:at[3]]))
	if err != nil || length > len(after)-at[1] {
		return nil, errForm
	}
	list, err := unpack(after[at[1]:][:length], maxUnicodes)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, m := range unicode.FindAllSubmatch(list, -1) {
		code, _ := hex.DecodeString(string(m[1])) // the pattern is of digits
		units, err := hex.DecodeString(string(m[2]))
		if err != nil {
			return nil, errForm
		}
		texts[string(code)] = strings.ReplaceAll(decodeUTF16(units), noText, "")
	}
	if len(texts) == 0 {
		return decodeUTF16, nil
	}
	return func(raw []byte) string {
		var text strings.Builder
		for ; len(raw) >= 2; raw = raw[2:] {
			text.WriteString(texts[string(raw[:2])])
		}
		return text.String()
	}, nil
}

// object returns the object with this number, or nil.
func object(data, number []byte) []byte {
	_, after, _ := bytes.Cut(data, fmt.Appendf(nil, "\n%s 0 obj\n", number))
	body, _, _ := bytes.Cut(after, []byte("endobj"))
	return body
}

func decodeUTF16(raw []byte) string {
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.BigEndian.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units))
}

// singleByte returns a decoder of Windows-1252 in which some codes stand for other letters.
func singleByte(letters map[byte]rune) decoder {
	return func(raw []byte) string {
		var text strings.Builder
		for _, code := range raw {
			r, ok := letters[code]
			if !ok {
				r = charmap.Windows1252.DecodeByte(code)
			}
			text.WriteRune(r)
		}
		return text.String()
	}
}

// differences returns the letters by which an encoding differs from Windows-1252: each code is followed by the name of
// its letter.
func differences(encoding []byte) (map[byte]rune, error) {
	letters := map[byte]rune{}
	named := difference.FindAllSubmatch(encoding, maxCodes+1)
	if len(named) > maxCodes {
		return nil, errTooLarge
	}
	for _, m := range named {
		code, err := strconv.ParseUint(string(m[1]), 10, 8)
		if err != nil {
			return nil, errForm
		}
		r, ok := glyph(string(m[2]))
		if !ok {
			return nil, fmt.Errorf("%.40q is no known name of a letter", m[2])
		}
		letters[byte(code)] = r
	}
	return letters, nil
}

// unescape decodes the string literal whose text begins at start, and returns where what follows it begins: -1 if the
// literal has no end.
func unescape(content []byte, start int) (raw []byte, end int) {
	for i := start; i < len(content); i++ {
		switch c := content[i]; {
		case c == ')':
			return raw, i + 1
		case c == '\\' && i+1 < len(content):
			i++
			if c = content[i]; c == 'r' {
				c = '\r'
			}
			raw = append(raw, c)
		default:
			raw = append(raw, c)
		}
	}
	return nil, -1
}
