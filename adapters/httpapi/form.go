package httpapi

import (
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// form reads the fields of a request's body by their dotted paths: "plan.instalment_amount" is the field
// instalment_amount of the section plan.
type form struct {
	body     *strictjson.Fields
	sections map[string]*strictjson.Fields
}

func newForm(body strictjson.Value) *form {
	return &form{strictjson.FieldsOf("", body), map[string]*strictjson.Fields{}}
}

// section returns the fields of a section, of which there are none if it is absent; fault says that it is no object.
func (f *form) section(name string) (s *strictjson.Fields, fault *checkout.Fault) {
	v, given := f.body.Take(name)
	if given && v.Kind != strictjson.Object {
		fault = &checkout.Fault{Field: name, Message: "must be an object"}
	}
	if f.sections[name] == nil {
		f.sections[name] = strictjson.FieldsOf(name, v)
	}
	return f.sections[name], fault
}

// get returns the field at a path as convert reads it. One that is null is missing.
func get[T any](f *form, path string, convert func(strictjson.Value) (T, error)) checkout.Optional[T] {
	section, name, _ := strings.Cut(path, ".")
	fields, fault := f.section(section)
	v, given := fields.Take(name)
	if fault != nil {
		return checkout.Unreadable[T](*fault)
	}
	if !given {
		return checkout.Missing[T](func() string { return f.suggest(section, name) })
	}
	value, err := convert(v)
	if err != nil {
		return checkout.Unreadable[T](checkout.Fault{Field: path, Message: err.Error()})
	}
	return checkout.Some(value)
}

// wellFormed refuses a body that contains a known name in another letter case.
func (f *form) wellFormed() error {
	var faults []checkout.Fault
	for _, fields := range f.all() {
		for _, name := range fields.OtherCase() {
			faults = append(faults, checkout.Fault{Field: fields.At(name), Message: "must be spelt exactly so"})
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return checkout.Malformed("the request body is not well-formed; details says where", faults...)
}

// all returns the body and its sections, in the order in which they were asked for.
func (f *form) all() []*strictjson.Fields {
	all := []*strictjson.Fields{f.body}
	for _, name := range f.body.Known() {
		all = append(all, f.sections[name])
	}
	return all
}

// maxUnknown is how many unknown names of one object are looked at for suggestions.
const maxUnknown = 16

// suggest asks whether an unknown field was meant for one that is missing: one beside it that looks like it, one
// outside of its section, or the whole section under a name that looks like its own.
func (f *form) suggest(section, name string) string {
	outside := f.body.Unknown(maxUnknown)
	if !f.sections[section].Object() {
		if whole := nearest(section, outside); whole != "" {
			return fmt.Sprintf("is %q a misspelling of %q?", whole, section)
		}
	}
	if beside := nearest(name, f.sections[section].Unknown(maxUnknown)); beside != "" {
		return fmt.Sprintf("is %q a misspelling of it?", beside)
	}
	if misplaced := nearest(name, outside); misplaced != "" {
		return fmt.Sprintf("is %q, outside of %q, meant for it?", misplaced, section)
	}
	return ""
}

// date reads a day.
func date(v strictjson.Value) (money.Date, error) {
	s, err := strictjson.Text(v)
	if err != nil {
		return money.Date{}, err
	}
	return money.ParseDate(s)
}

// declared reads a declaration, which only true itself makes.
func declared(v strictjson.Value) (bool, error) { return strictjson.IsTrue(v), nil }

// instalments reads the number of instalments.
func instalments(v strictjson.Value) (int, error) { return strictjson.Whole(money.MaxInstalments)(v) }
