// Package strictjson reads JSON whose meaning must not be in doubt: valid UTF-8, no name
// twice in one object, nothing after the value, bounded depth. Numbers keep their text.
package strictjson

// Kind is what a Value is.
type Kind byte

const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Value is one JSON value.
type Value struct {
	Kind    Kind
	Text    string   // a string's value, a number's text, "true" or "false"
	Items   []Value  // of an Array
	Members []Member // of an Object, in the order in which they came
}

// Member is one name of an object with its value.
type Member struct {
	Name  string
	Value Value
}

// Error says what is wrong, and where as far as it is known: "plan.instalment_amount", "providers[0]".
type Error struct {
	Path    string
	Message string
}

func (e *Error) Error() string { panic("todo") }

// Parse reads data as one JSON value nested at most maxDepth deep. Its error is an *Error.
func Parse(data []byte, maxDepth int) (Value, error) { panic("todo") }

// Member returns the value of a name of an object.
func (v Value) Member(name string) (Value, bool) { panic("todo") }
