package demo

import (
	"bytes"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

func TestWalkStopsAtTheFirstThingThatDoesNotHold(t *testing.T) {
	var out bytes.Buffer
	d := &demonstration{Base: sandbox.New(t, sandbox.Memory).URL, Keys: map[string]string{providerCode: "pck_no_key"}, FirstPayment: "2027-02-01"}
	err := d.walk(t.Context(), &out)
	if err == nil || !strings.Contains(err.Error(), "the provider creates a checkout: POST /v1/provider-checkouts answered 403, want 201") {
		t.Errorf("walk = %v, want what is wrong with the create", err)
	}
	if strings.Contains(out.String(), "everything held") {
		t.Errorf("walk prints\n%s", out.String())
	}
}
