package scenario_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/ports"
)

// asked is a CRM before whose answer to a confirm something happens, once.
type asked struct {
	ports.CRM
	once   *sync.Once
	before func()
}

func (a asked) Agreed(ctx context.Context, k checkout.EnrolmentKey) (checkout.Agreed, error) {
	a.once.Do(a.before)
	return a.CRM.Agreed(ctx, k)
}

func TestClockThatIsMovedDuringAConfirm(t *testing.T) {
	everywhere(t, testClockThatIsMovedDuringAConfirm)
}

func testClockThatIsMovedDuringAConfirm(t *testing.T, w *world) {
	var created sandbox.Response
	crm := w.config.Service.CRM
	if crm == nil {
		crm = service.EmbeddedCRM(catalogue.Sandbox)
	}
	w.config.Service.CRM = asked{crm, new(sync.Once), func() {
		w.advance(t, created, "P5D")
		w.play(t, created, "mandate_failed")
		w.play(t, created, "setup_succeeds")
	}}
	w.serve(t)
	created = w.Create(t, "order-1")
	w.play(t, created, "setup_succeeds")
	if r := w.Confirm(t, created); r.Status != http.StatusOK {
		t.Fatalf("confirm: %d %s", r.Status, r.Body)
	}
	a := w.Records(t)[0].Agreement
	w.within(t, "the setup of the direct debit", a.DirectDebit.AuthorisedAt, 5*day)
	if a.AcceptedAt.Before(a.DirectDebit.AuthorisedAt) {
		t.Errorf("the agreement is dated %s, and its direct debit was set up at %s", a.AcceptedAt, a.DirectDebit.AuthorisedAt)
	}
	w.inOrder(t, t, created.String("checkout.checkout_id"))
}
