package checkout

import (
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// idempotencyKey reports a header that cannot be an idempotency key (section 8).
func (k *checker) idempotencyKey(v Optional[string]) {
	key := v.Value
	switch {
	case !v.Given:
		return
	case key == "":
		k.fault(FieldIdempotencyKey, "must not be empty: leave the header out to use the order id")
	case len(key) > text.Max:
		k.fault(FieldIdempotencyKey, "must be at most %d characters, not %d", text.Max, len(key))
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			k.fault(FieldIdempotencyKey, "must be visible ASCII characters only")
			return
		}
	}
}

// checker collects the faults of a request, at most one for each field: the first one counts.
type checker struct{ faults []Fault }

// newChecker returns a checker that has reported every field that could not be read.
func newChecker(fields ...interface{ fault() *Fault }) *checker {
	k := &checker{}
	for _, f := range fields {
		if malformed := f.fault(); malformed != nil {
			k.fault(malformed.Field, "%s", malformed.Message)
		}
	}
	return k
}

// failed reports whether the field, or the section that contains it, has a fault already.
func (k *checker) failed(field string) bool {
	for _, f := range k.faults {
		if f.Field == field || strings.HasPrefix(field, f.Field+".") {
			return true
		}
	}
	return false
}

func (k *checker) fault(field, format string, args ...any) {
	if !k.failed(field) {
		k.faults = append(k.faults, Fault{field, fmt.Sprintf(format, args...)})
	}
}

// report reports the field unless message is empty.
func (k *checker) report(field, message string) {
	if message != "" {
		k.fault(field, "%s", message)
	}
}

// err returns the faults as one refusal, or nil.
func (k *checker) err() error {
	if len(k.faults) == 0 {
		return nil
	}
	return refuseFields(k.faults)
}

// require reports a field that is missing, and otherwise reports whether the field is without fault.
func require[T any](k *checker, field string, v Optional[T]) bool {
	if !v.Given {
		k.fault(field, "is required%s", v.hint())
	}
	return !k.failed(field)
}

// text reports a required text with what check finds wrong with it.
func (k *checker) text(field string, v Optional[string], check func(string) string) {
	if require(k, field, v) {
		k.report(field, check(v.Value))
	}
}

// only reports a given value other than the only possible value.
func (k *checker) only(field string, v Optional[string], want string) {
	if v.Given && v.Value != want {
		k.fault(field, "must be %q", want)
	}
}

// amount reports a required amount that is not from least to money.Max, and otherwise reports whether it is
// without fault.
func (k *checker) amount(field string, v Optional[money.Cents], least money.Cents) bool {
	return require(k, field, v) && k.inRange(field, v, least)
}

func (k *checker) inRange(field string, v Optional[money.Cents], least money.Cents) bool {
	switch {
	case !v.Given:
	case v.Value < 0:
		k.fault(field, "%v", money.ErrNegative)
	case v.Value < least:
		k.fault(field, "must be above zero")
	case v.Value > money.Max:
		k.fault(field, "%v", money.ErrTooLarge)
	}
	return !k.failed(field)
}

// date reports a required date that is no real day from 2000 to 2199.
func (k *checker) date(field string, v Optional[money.Date]) {
	if require(k, field, v) && !v.Value.Valid() {
		k.fault(field, "%v", money.ErrDate)
	}
}

// accepted reports a declaration that is not made.
func (k *checker) accepted(field string, v Optional[bool]) {
	if !v.Value {
		k.fault(field, "must be true%s", v.hint())
	}
}

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
