package strictjson

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/money"
)

// Fields hands out the fields of the value at a path by name. Only an object has fields.
type Fields struct {
	Path  string
	Value Value
	Known []string // the names that were asked for, in the order in which they were
}

// Take returns the value of a field. A field that is null counts as absent.
func (f *Fields) Take(name string) (v Value, given bool) {
	if !slices.Contains(f.Known, name) {
		f.Known = append(f.Known, name)
	}
	v, _ = f.Value.Member(name)
	return v, v.Kind != Null
}

// At returns the path of a field.
func (f *Fields) At(name string) string { return Join(f.Path, name) }

// Unknown returns at most limit names of the object that were not asked for, in their order.
func (f *Fields) Unknown(limit int) (names []string) {
	for _, m := range f.Value.Members {
		if len(names) < limit && !slices.Contains(f.Known, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

// OtherCase returns the names that were asked for and that the object contains in another letter case: another
// parser might accept one for the other.
func (f *Fields) OtherCase() (names []string) {
	for _, name := range f.Known {
		other := func(m Member) bool { return m.Name != name && strings.EqualFold(m.Name, name) }
		if slices.ContainsFunc(f.Value.Members, other) {
			names = append(names, name)
		}
	}
	return names
}

// Text reads a string as it was sent.
func Text(v Value) (string, error) {
	if v.Kind != String {
		return "", errors.New("must be a string")
	}
	return v.Text, nil
}

// Amount reads a number of dollars. It returns the errors of money.Parse.
func Amount(v Value) (money.Cents, error) {
	if v.Kind != Number {
		return 0, money.ErrNotNumber
	}
	cents, err := money.Parse(v.Text)
	if errors.Is(err, money.ErrFraction) { // a language that counts in binary wrote another number than its author saw
		err = fmt.Errorf("%w, not %s", err, v.Text)
	}
	return cents, err
}

// AboveZero reads an amount of which 0 would mean in the core that it is absent.
func AboveZero(v Value) (money.Cents, error) {
	c, err := Amount(v)
	if err == nil && c == 0 {
		err = errors.New("must be above zero")
	}
	return c, err
}

// Whole returns what reads a whole number from 1 to limit, however JSON writes it: 52, 52.0 and 5.2e1 are the same.
// money.Parse is exact, and cheap for a text of any size.
func Whole(limit int) func(Value) (int, error) {
	return func(v Value) (int, error) {
		hundredths, err := Amount(v)
		if n := hundredths / 100; err == nil && hundredths%100 == 0 && 1 <= n && n <= money.Cents(limit) {
			return int(n), nil
		}
		return 0, fmt.Errorf("must be a whole number from 1 to %d", limit)
	}
}

// IsTrue reports whether v is true itself.
func IsTrue(v Value) bool { return v.Kind == Bool && v.Text == "true" }

// Reference reads a reference to a secret, "env:NAME" for an environment variable or "file:PATH" for a file, and reports whether the
// value is written as one. A reference without a name has neither.
func Reference(v Value) (variable, file string, isReference bool) {
	scheme, name, found := strings.Cut(v.Text, ":")
	switch {
	case v.Kind != String || !found:
	case scheme == "env":
		return name, "", true
	case scheme == "file":
		return "", name, true
	}
	return "", "", false
}
