package strictjson

import (
	"strconv"
	"strings"
)

// Error says what is wrong, and where as far as it is known: "plan.instalment_amount",
// "providers[0]". Its size is bounded, whatever the JSON holds.
type Error struct {
	Path    string // "" is the whole document
	Message string // reads on from the path: "is given twice"
}

func (e *Error) Error() string {
	if e.Path == "" {
		return "the document " + e.Message
	}
	return e.Path + " " + e.Message
}

// under returns e as the holder of the value sees it: with one more step in front of the path.
func (e *Error) under(step string) *Error {
	switch {
	case e.Path == "" || e.Path[0] == '[':
		e.Path = step + e.Path
	default:
		e.Path = step + "." + e.Path
	}
	return e
}

// maxName is the length at which a name is cut in a path, in bytes.
const maxName = 64

// step is a name as a part of a path. A name that is not a plain word is quoted, so that a
// path cannot be mistaken for another, nor move a terminal's cursor.
func step(name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	for _, r := range name {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return "[" + strconv.QuoteToASCII(name) + "]"
		}
	}
	if name == "" {
		return `[""]`
	}
	return name
}
