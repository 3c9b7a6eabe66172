package scenario_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
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

func TestClockOutlastsAnErasure(t *testing.T) { everywhere(t, testClockOutlastsAnErasure) }

func testClockOutlastsAnErasure(t *testing.T, w *world) {
	w.config.Service.Retention = checkout.Retention{AgreedYears: 7}
	w.serve(t)
	created := w.Create(t, "order-1")
	w.play(t, created, "setup_succeeds")
	if r := w.Confirm(t, created); r.Status != http.StatusOK {
		t.Fatalf("confirm: %d %s", r.Status, r.Body)
	}
	w.advance(t, created, "P400D")
	w.play(t, created, "mandate_failed")
	id := created.String("checkout.checkout_id")
	w.told(t, id)
	r := w.advance(t, created, "P2800D")
	for began := time.Now(); time.Since(began) < 2*time.Minute; time.Sleep(10 * time.Millisecond) { // until the CRM and the bank know the end
		if c, err := w.Store.Checkout(t.Context(), id); err != nil || c.Erased() {
			break
		}
		r = w.advance(t, created, "PT1S")
	}
	w.within(t, "the clock after the erasure", moment(t, r, "clock"), 3200*day)
	last := w.Records(t)[0].Moments
	if m := last[len(last)-1]; m.Kind != checkout.MomentErased {
		t.Errorf("the latest moment is %+v, want that of the erasure", m)
	} else {
		w.within(t, "the erasure", m.At, 3200*day)
	}
	w.inOrder(t, t, id)
	if got := scenario.Ahead(w.Store)(t.Context(), checkout.About{ProviderCode: "KOWHAI", OrderID: "order-1"}); got < 3200*day {
		t.Errorf("after the erasure the clock is %s ahead", got)
	}
}

// told waits until the provider and the CRM know everything about a checkout.
func (w *world) told(t *testing.T, id string) {
	t.Helper()
	for {
		pending, err := w.Store.Jobs(t.Context(), checkout.JobFilter{CheckoutID: id, State: checkout.JobPending,
			Kinds: []checkout.JobKind{checkout.JobDeliver, checkout.JobAuthority}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(pending) == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
