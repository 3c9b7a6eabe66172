package pdftext

import (
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// glyph returns the character that a name stands for in Adobe's glyph list, or false if the name is not of one of the
// kinds that an agreement's fonts use: a letter and its accent, "uni" and a code point, or one of a few others. The
// rule takes the place of a table, so that a new accented letter in the fonts needs no change here.
func glyph(name string) (rune, bool) {
	switch name {
	case "Dcroat":
		return 'Đ', true
	case "dcroat":
		return 'đ', true
	case "Lslash":
		return 'Ł', true
	case "lslash":
		return 'ł', true
	case "commaturnedmod":
		return 'ʻ', true
	case "apostrophemod":
		return 'ʼ', true
	}
	if hex, ok := strings.CutPrefix(name, "uni"); ok {
		point, err := strconv.ParseUint(hex, 16, 16)
		return rune(point), err == nil && len(hex) == 4
	}
	for accent, combining := range map[string]string{"macron": "\u0304", "acute": "\u0301", "caron": "\u030C"} {
		if letter, ok := strings.CutSuffix(name, accent); ok && len(letter) == 1 {
			composed := []rune(norm.NFC.String(letter + combining))
			return composed[0], len(composed) == 1
		}
	}
	return 0, false
}
