package web

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestEveryRefusalHasAStatusAndAPageWhereItCanBeMet(t *testing.T) {
	for _, code := range checkout.Codes() {
		api, page := APIStatus(code), PageStatus(code)
		if api == 0 && page == 0 {
			t.Errorf("%s has no status", code)
		}
		if page != 0 && page != 409 && problems[page].Title == "" { // a conflict is said on the page itself
			t.Errorf("%s is answered with %d, which has no page", code, page)
		}
	}
	if len(statuses) != len(checkout.Codes()) {
		t.Errorf("%d codes have a status, of %d", len(statuses), len(checkout.Codes()))
	}
}
