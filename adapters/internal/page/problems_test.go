package page

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestEveryRefusalHasAPage(t *testing.T) {
	for code, status := range statuses {
		if problems[status].Title == "" {
			t.Errorf("code %d is answered with %d, which has no page", code, status)
		}
	}
	for _, code := range []checkout.Code{checkout.CodeTokenUnknown, checkout.CodeTokenExpired,
		checkout.CodeProviderNotEnabled, checkout.CodeBusy} {
		if statuses[code] == 0 {
			t.Errorf("code %d has no status", code)
		}
	}
}
