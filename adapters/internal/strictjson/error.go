package strictjson

import (
	"strconv"
	"strings"
)

// Error describes a fault, and its place as far as it is known: "plan.instalment_amount",
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

// under returns e with one more step in front of the path.
func (e *Error) under(step string) *Error {
	if e.Path != "" && e.Path[0] != '[' {
		step += "."
	}
	e.Path = step + e.Path
	return e
}

// Join returns the path of a name inside the object at path: "plan" and "instalment_amount" are
// "plan.instalment_amount". A name that is not a plain word is quoted and a long one
// is cut, so that a path cannot be mistaken for another, nor move a terminal's cursor.
func Join(path, name string) string {
	step := step(name)
	if path == "" || step[0] == '[' {
		return path + step
	}
	return path + "." + step
}

// maxName is the length at which a name is cut in a path, in bytes.
const maxName = 64

func step(name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	if name == "" || strings.ContainsFunc(name, isOdd) {
		return "[" + strconv.QuoteToASCII(name) + "]"
	}
	return name
}

// isOdd reports whether r does not belong in a plain word.
func isOdd(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}
