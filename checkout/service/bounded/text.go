package bounded

import "strings"

// Text returns at most limit bytes of a text, as every store takes it: valid UTF-8 without U+0000.
func Text(text string, limit int) string {
	text = strings.ToValidUTF8(text[:min(len(text), limit)], "")
	return strings.ReplaceAll(text, "\x00", "")
}
