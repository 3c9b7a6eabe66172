package evidence_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// unrecorded are the fields of an agreement that its entry in the log does not have, with the reason.
var unrecorded = map[string]string{
	".ID":              "it follows from the environment, the provider and the order, which are recorded",
	".Sandbox":         "the environment is recorded",
	".Provider.Colour": "it changes nothing of what was agreed",

	".DirectDebit.Consent.NoticeDays": "the agreement's own days of notice, which follow from it, are recorded",
}

// Whatever is changed in an agreement is found: a field that is added to it later cannot be forgotten.
func TestEveryFieldOfAnAgreementIsRecorded(t *testing.T) {
	seen := map[string]bool{}
	full := reflect.New(reflect.TypeFor[agreement.Agreement]()).Elem()
	fill(full, 0)
	debited := reflect.New(reflect.TypeFor[evidence.Debited]()).Elem()
	fill(debited, 0)
	recorded := func(v reflect.Value) string {
		return string(evidence.OfAgreement(v.Interface().(agreement.Agreement), evidence.Conclusion{Environment: "sandbox", At: time.Unix(1, 0),
			Debited: debited.Interface().(evidence.Debited)}).Leaf)
	}
	before := recorded(full)
	each(full, "", func(path string, field reflect.Value) {
		was := reflect.New(field.Type()).Elem()
		was.Set(field)
		change(field)
		_, excused := unrecorded[path]
		if seen[path] = true; (recorded(full) == before) != excused {
			t.Errorf("a change of %s: is it recorded is %v, want %v", path, excused, !excused)
		}
		field.Set(was)
	})
	each(debited, "", func(path string, field reflect.Value) {
		if change(field); recorded(full) == before {
			t.Errorf("a change of %s of what is debited is not recorded", path)
		}
		before = recorded(full)
	})
	for path := range unrecorded {
		if !seen[path] {
			t.Errorf("there is no field %s any more", path)
		}
	}
	if len(seen) < 60 {
		t.Errorf("void: %d fields were changed", len(seen))
	}
}

// fill gives every field a value: each text its own, each list two elements.
func fill(v reflect.Value, n int) int {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1_800_000_000+int64(n), 0).UTC()))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			n = fill(v.Field(i), n)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		n = fill(v.Index(1), fill(v.Index(0), n))
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprintf("text %d", n))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(int64(1 + n%9))
	default:
		panic("an agreement has a field of type " + v.Type().String() + ", which this test cannot change")
	}
	return n + 1
}

// each calls do with every field that holds a value, and its path.
func each(v reflect.Value, path string, do func(path string, field reflect.Value)) {
	switch {
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]():
		for i := range v.NumField() {
			each(v.Field(i), path+"."+v.Type().Field(i).Name, do)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			each(v.Index(i), fmt.Sprintf("%s[%d]", path, i), do)
		}
	default:
		do(path, v)
	}
}

func change(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(v.Interface().(time.Time).Add(time.Hour)))
	case v.Kind() == reflect.String:
		v.SetString(v.String() + "!")
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	default:
		v.SetInt(v.Int() + 1)
	}
}
