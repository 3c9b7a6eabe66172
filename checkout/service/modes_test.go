package service_test

import (
	"slices"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// legacy returns the configuration without a catalogue.
func legacy() catalogue.Configuration {
	c := kowhai()
	c.Provider.Mode, c.Courses = catalogue.Legacy, nil
	return c
}

// legacyCreate is a create with the figures that the catalogue resolves create to.
func legacyCreate(order string) checkout.Create {
	c := create(order)
	c.CourseCode = checkout.Optional[string]{}
	c.CourseName = checkout.Some("Diploma in Business")
	c.Price, c.Upfront, c.Principal = checkout.Some[money.Cents](2990_00), checkout.Some[money.Cents](200_00), checkout.Some[money.Cents](2790_00)
	c.PaymentType = checkout.Some(checkout.PaymentType)
	c.Number, c.Regular, c.Final = checkout.Some(52), checkout.Some[money.Cents](53_65), checkout.Some[money.Cents](53_85)
	return c
}

// expectFields checks that err is a refusal with this code that names these fields.
func expectFields(t *testing.T, err error, code checkout.Code, fields []string) {
	t.Helper()
	expect(t, err, code)
	if got := namedBy(err); !slices.Equal(got, fields) {
		t.Errorf("%v names %q, want %q", err, got, fields)
	}
}

// A final instalment that was sent is echoed, even if it equals the others.
func TestAFinalInstalmentThatWasSentIsRemembered(t *testing.T) {
	w := newWorld(t)
	w.configure(t, legacy())
	for _, tt := range []struct {
		order string
		final checkout.Optional[money.Cents]
	}{
		{"A", checkout.Some[money.Cents](697_50)},
		{"B", checkout.Optional[money.Cents]{}},
	} {
		cmd := legacyCreate(tt.order)
		cmd.Number, cmd.Regular, cmd.Final = checkout.Some(4), checkout.Some[money.Cents](697_50), tt.final
		for _, replay := range []bool{false, true} {
			o, err := w.Create(t.Context(), caller, cmd)
			if err != nil || o.Replay != replay || o.SentFinal != tt.final.Given {
				t.Errorf("order %s, replay %v: sent %v, %v; want %v", tt.order, o.Replay, o.SentFinal, err, tt.final.Given)
			}
		}
	}
}
