package checkout

// Optional is the value of a field of a request. The zero Optional is a field that was not sent.
type Optional[T any] struct {
	Value T
	Given bool

	malformed *Fault      // why a value that was sent could not be read; then Given is false
	suggest   *suggestion // for a field that was not sent: what else in the request may have been meant for it
}

type suggestion func() string

// Some returns a value that was given.
func Some[T any](v T) Optional[T] { return Optional[T]{Value: v, Given: true} }

// Unreadable returns a field that was sent and could not be read. The fault names the field, or the section that
// contains it, and is reported instead of a missing field.
func Unreadable[T any](f Fault) Optional[T] { return Optional[T]{malformed: &f} }

// Missing returns a field that was not sent. suggest is called for the message that says so, and returns a question
// such as `is "emial" a misspelling of it?`, or "".
func Missing[T any](suggest func() string) Optional[T] {
	s := suggestion(suggest)
	return Optional[T]{suggest: &s}
}

func (o Optional[T]) fault() *Fault { return o.malformed }

// hint returns what to append to a message about the missing field.
func (o Optional[T]) hint() string {
	if o.suggest == nil {
		return ""
	}
	if suggestion := (*o.suggest)(); suggestion != "" {
		return "; " + suggestion
	}
	return ""
}
