package providerfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
)

const (
	required = true
	optional = false
)

// unreadable is the value of an amount or a number that is present but cannot be parsed. Check refuses it too, at the
// same place.
const unreadable = -1

func (f *Faults) add(place, message string) {
	*f = append(*f, catalogue.Fault{Place: place, Message: message})
}

func (f *Faults) text(place string, v strictjson.Value) string {
	s, err := strictjson.Text(v)
	if err != nil {
		f.add(place, err.Error())
	}
	return s
}

// object is the fields of one object of the file. Reading them adds their faults.
type object struct {
	*strictjson.Fields
	faults *Faults
}

const maxUnknown = 100

// readObject reads v as an object. A value that is no object is reported once, and has no fields. Unknown fields are
// reported too: in a file that a person writes, they are misspelt.
func readObject[T any](f *Faults, place string, v strictjson.Value, read func(*object) T) T {
	o := &object{&strictjson.Fields{Path: place, Value: v}, f}
	if v.Kind != strictjson.Object {
		f.add(place, "must be an object")
	}
	t := read(o)
	for _, name := range o.Unknown(maxUnknown) {
		f.add(o.At(name), "is not a field here; the fields are "+strings.Join(o.Known, ", "))
	}
	return t
}

// section reads an optional field that is an object, whose fields are optional too.
func section[T any](o *object, name string, read func(*object) T) (absent T) {
	v, given := o.Take(name)
	if !given {
		return absent
	}
	return readObject(o.faults, o.At(name), v, read)
}

// items reads a field that is a list, each item with its place.
func items[T any](o *object, name string, isRequired bool, read func(place string, v strictjson.Value) T) (all []T) {
	v, given := o.field(name, isRequired)
	if given && v.Kind != strictjson.Array {
		o.faults.add(o.At(name), "must be a list in square brackets")
	}
	for i, item := range v.Items {
		all = append(all, read(fmt.Sprintf("%s[%d]", o.At(name), i), item))
	}
	return all
}

func each[T any](o *object, name string, isRequired bool, read func(*object) T) []T {
	return items(o, name, isRequired, func(place string, v strictjson.Value) T { return readObject(o.faults, place, v, read) })
}

func (o *object) field(name string, isRequired bool) (v strictjson.Value, given bool) {
	v, given = o.Take(name)
	if !given && isRequired && o.Value.Kind == strictjson.Object {
		o.faults.add(o.At(name), "must be given")
	}
	return v, given
}

func (o *object) text(name string, isRequired bool) string {
	v, given := o.field(name, isRequired)
	if !given {
		return ""
	}
	return o.faults.text(o.At(name), v)
}

func (o *object) secret(name string, secrets Secrets) string {
	v, _ := o.Take(name)
	variable, file, isReference := strictjson.Reference(v)
	if !isReference {
		return o.text(name, optional)
	}
	err := errors.New("must be env: and the name of a variable, or file: and a path")
	secret := ""
	if secrets == nil {
		err = errors.New("must be the secret itself: references are not read here")
	} else if variable+file != "" {
		secret, err = secrets(variable, file)
	}
	if err != nil {
		o.faults.add(o.At(name), err.Error())
	}
	return secret
}

// date reads a day, which must be there. A text that is no day is refused by Check, at the same place.
func (o *object) date(name string) money.Date {
	d, _ := money.ParseDate(o.text(name, required))
	return d
}

func (o *object) name(name string, isRequired bool) string {
	return text.Normalize(o.text(name, isRequired))
}

func (o *object) boolean(name string) bool {
	v, given := o.field(name, required)
	if given && v.Kind != strictjson.Bool {
		o.faults.add(o.At(name), "must be true or false")
	}
	return strictjson.IsTrue(v)
}

// number reads a field with convert; an absent one is 0.
func number[T money.Cents | int](o *object, name string, isRequired bool, convert func(strictjson.Value) (T, error)) T {
	v, given := o.field(name, isRequired)
	if !given {
		return 0
	}
	n, err := convert(v)
	if err != nil {
		o.faults.add(o.At(name), err.Error())
		return unreadable
	}
	return n
}
