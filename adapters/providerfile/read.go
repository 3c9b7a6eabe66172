package providerfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

const (
	required = true
	optional = false
)

// unreadable stands for an amount or a number that is there but cannot be read. It passes for
// neither absent nor right: Check refuses it too, at the same place.
const unreadable = -1

var errZero = errors.New("must be above zero")

// reader gathers what is wrong while it reads.
type reader struct {
	faults Faults
}

func (r *reader) fault(place, message string) {
	r.faults = append(r.faults, catalogue.Fault{Place: place, Message: message})
}

// string reads a string as it is written.
func (r *reader) string(place string, v strictjson.Value) string {
	if v.Kind != strictjson.String {
		r.fault(place, "must be a string")
		return ""
	}
	return v.Text
}

// object reads v as an object. One that is no object is told of once, and is then as good as empty.
func (r *reader) object(place string, v strictjson.Value) *object {
	o := &object{reader: r, place: place, value: v, whole: v.Kind == strictjson.Object}
	if !o.whole {
		r.fault(place, "must be an object")
	}
	return o
}

// object hands out the fields of a JSON object by name. A field that is null is absent.
type object struct {
	reader *reader
	place  string
	value  strictjson.Value
	whole  bool     // it is there, and an object
	known  []string // the fields that were asked for
}

// end refuses the fields that nobody asked for: in a file that a person writes, they are mistyped.
func (o *object) end() {
	for _, m := range o.value.Members {
		if !slices.Contains(o.known, m.Name) {
			o.reader.fault(o.at(m.Name), "is not a field here; the fields are "+strings.Join(o.known, ", "))
		}
	}
}

// at is the place of a field.
func (o *object) at(name string) string { return strictjson.Join(o.place, name) }

// item is the place of an item of a list.
func item(place string, i int) string { return fmt.Sprintf("%s[%d]", place, i) }

// member returns the value of a field, if it is given.
func (o *object) member(name string) (v strictjson.Value, given bool) {
	o.known = append(o.known, name)
	v, _ = o.value.Member(name)
	return v, v.Kind != strictjson.Null
}

// field is member for a field that may have to be given.
func (o *object) field(name string, isRequired bool) (v strictjson.Value, given bool) {
	v, given = o.member(name)
	if !given && isRequired && o.whole {
		o.reader.fault(o.at(name), "must be given")
	}
	return v, given
}

// section reads a field that is an object of fields, none of which must be given.
func (o *object) section(name string) *object {
	v, given := o.member(name)
	if !given {
		return &object{reader: o.reader, place: o.at(name)}
	}
	return o.reader.object(o.at(name), v)
}

func (o *object) list(name string, isRequired bool) (items []strictjson.Value, given bool) {
	v, given := o.field(name, isRequired)
	if given && v.Kind != strictjson.Array {
		o.reader.fault(o.at(name), "must be a list in square brackets")
	}
	return v.Items, given
}

func (o *object) text(name string, isRequired bool) string {
	v, given := o.field(name, isRequired)
	if !given {
		return ""
	}
	return o.reader.string(o.at(name), v)
}

// name reads a text for people: two spellings that look the same become the same.
func (o *object) name(name string, isRequired bool) string {
	return strings.TrimFunc(norm.NFC.String(o.text(name, isRequired)), func(r rune) bool {
		return unicode.IsSpace(r) && !unicode.IsControl(r) // control characters stay, to be refused
	})
}

func (o *object) boolean(name string) bool {
	v, given := o.field(name, required)
	if given && v.Kind != strictjson.Bool {
		o.reader.fault(o.at(name), "must be true or false")
	}
	return v.Kind == strictjson.Bool && v.Text == "true"
}

// number reads a field that convert takes for a number; one that is absent is 0.
func number[T money.Cents | int](o *object, name string, isRequired bool, convert func(strictjson.Value) (T, error)) T {
	v, given := o.field(name, isRequired)
	if !given {
		return 0
	}
	n, err := convert(v)
	if err != nil {
		o.reader.fault(o.at(name), err.Error())
		return unreadable
	}
	return n
}

// dollars reads an amount.
func dollars(v strictjson.Value) (money.Cents, error) {
	if v.Kind != strictjson.Number {
		return 0, money.ErrNotNumber
	}
	return money.Parse(v.Text)
}

// instalment reads the amount that a plan fixes. 0 is how the core says that it fixes none, so a
// written 0 must not pass for that.
func instalment(v strictjson.Value) (money.Cents, error) {
	c, err := dollars(v)
	if err == nil && c == 0 {
		return 0, errZero
	}
	return c, err
}

// whole reads a number of instalments or of days, and refuses a written 0 as instalment does.
// 52 and 52.0 are the same number, as 1250 and 1250.00 are the same amount.
func whole(limit int) func(strictjson.Value) (int, error) {
	return func(v strictjson.Value) (int, error) {
		c, err := dollars(v)
		if err != nil || c == 0 || c%1_00 != 0 {
			return 0, fmt.Errorf("must be a whole number from 1 to %d", limit)
		}
		return int(c / 1_00), nil
	}
}
