package checkout

import (
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/money"
)

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

// only reports a given value that is not the one that is possible.
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
