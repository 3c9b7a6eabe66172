package service_test

import (
	"reflect"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

func TestAnAgreementKeepsTheTermsAndTheColourOfItsMoment(t *testing.T) {
	terms := agreement.Terms{
		Lender: agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay, Wellington"},
		Blocks: []agreement.Block{{Title: "Hardship", Text: "Ask the lender."}},
	}
	w := newWorld(t, func(c *service.Config) { c.Terms = terms })
	branded := kowhai()
	branded.Provider.Branding.PrimaryColour = "#1f6f54"
	w.configure(t, branded)
	w.confirms(t, w.ready(t, "ORDER-1"))
	w.config.Terms = agreement.Terms{}
	w.configure(t, kowhai())
	next := w.again(t)
	if _, err := next.confirm(t, next.ready(t, "ORDER-2")); err != nil {
		t.Fatal(err)
	}
	on := w.records(t)
	if a := on["ORDER-1"].Agreement; !reflect.DeepEqual(a.Terms, terms) || a.Provider.Colour != "#1f6f54" {
		t.Errorf("the first agreement has terms %+v and colour %q, want those of its confirm", a.Terms, a.Provider.Colour)
	}
	if a := on["ORDER-2"].Agreement; !a.Terms.IsZero() || a.Provider.Colour != "" {
		t.Errorf("the second agreement has terms %+v and colour %q, want none", a.Terms, a.Provider.Colour)
	}
}
