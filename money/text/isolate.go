package text

import (
	"html"
	"strings"
)

// Isolate returns a line as HTML in which each of the names, which come from outside, is put in a <bdi>, so that a name that is
// written from right to left does not reorder the words around it, and no browser translates it. A blank name, such as that of a
// person who was erased, counts for nothing.
func Isolate(line string, names ...string) string {
	var b strings.Builder
	plain := 0 // start of the text that is not written yet
	for i := 0; i < len(line); {
		name := ""
		for _, n := range names {
			if len(n) > len(name) && strings.HasPrefix(line[i:], n) && strings.TrimSpace(n) != "" {
				name = n
			}
		}
		if name == "" {
			i++
			continue
		}
		b.WriteString(html.EscapeString(line[plain:i]) + `<bdi translate="no">` + html.EscapeString(name) + "</bdi>")
		i += len(name)
		plain = i
	}
	return b.String() + html.EscapeString(line[plain:])
}
