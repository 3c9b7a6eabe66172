package scenario_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/events"
)

// The conversation of testdata/conversations/scenarios.txt has the other scenarios.

func TestAScenarioIsTheEndOfAnOrderID(t *testing.T) {
	for id, want := range map[string]scenario.Scenario{
		"ENROL-1+setup_fails": scenario.SetupFails, "A+B+pdf_fails": scenario.PDFFails, "ENROL-1": "", "ENROL-1+": "", "ENROL-1+other": "",
		"+setup_fails": "", "setup_fails": "", "ENROL-1+setup_fails ": "", "ENROL-1+SETUP_FAILS": "", "ENROL-1+setup_fails+x": "",
	} {
		if got := scenario.Of(id); got != want {
			t.Errorf("Of(%q) = %q, want %q", id, got, want)
		}
	}
}

func TestTheMandateFailsAMinuteAfterTheSetup(t *testing.T) {
	w := newWorld(t, catalogue.Sandbox)
	created := w.Ready(t, order(scenario.MandateFails))
	w.Clock.Forward(50 * time.Second)
	answered(t, w.poll(t, created), http.StatusOK, map[string]any{"direct_debit.setup_complete": true,
		"direct_debit.mandate_status": "pending_submission"})
	w.Clock.Forward(11 * time.Second)
	answered(t, w.poll(t, created), http.StatusOK, map[string]any{"direct_debit.setup_complete": false,
		"direct_debit.mandate_status": "failed"})
	answered(t, w.Confirm(t, created), http.StatusConflict, map[string]any{"error.code": "DIRECT_DEBIT_SETUP_INCOMPLETE"})
}

func TestTheMandateIsCancelledTwoMinutesAfterTheSetup(t *testing.T) {
	w := newWorld(t, catalogue.Sandbox)
	created := w.Ready(t, order(scenario.MandateCancelled))
	answered(t, w.Confirm(t, created), http.StatusOK, nil)
	w.Clock.Forward(110 * time.Second)
	answered(t, w.poll(t, created), http.StatusOK, map[string]any{"direct_debit.mandate_status": "submitted"})
	w.Clock.Forward(11 * time.Second)
	answered(t, w.poll(t, created), http.StatusOK, map[string]any{"direct_debit.mandate_status": "cancelled", "checkout.status": "confirmed"})
}

// A receiver that checks no signature takes the copy and never gets the event.
func TestAReceiverThatTakesTheForgedCopyGetsNoEvent(t *testing.T) {
	w := newWorld(t, catalogue.Sandbox)
	w.Create(t, order(scenario.EventForged))
	for _, d := range w.Receiver.Deliveries() {
		if w.verifies(d) {
			t.Errorf("it got the event after a forged copy: %s", d.Body)
		}
	}
	failed, err := w.Store.Jobs(t.Context(), checkout.JobFilter{State: checkout.JobFailed}, 2)
	if err != nil || len(failed) != 1 {
		t.Errorf("the jobs that failed are %+v, %v; want the event", failed, err)
	}
}

// In production an order id is an order id.
func TestProductionHasNoScenario(t *testing.T) {
	w := newWorld(t, catalogue.Production)
	for _, s := range scenario.All() {
		t.Run(string(s), func(t *testing.T) { w.goesThrough(t, order(s)) })
	}
}

// goesThrough enrols by an order, on which nothing fails, is late or comes twice.
func (w world) goesThrough(t *testing.T, id string) {
	t.Helper()
	w.Receiver.Forget()
	created := w.Post(t, "KOWHAI", apiclient.CheckoutsPath, sandbox.Order(sandbox.CatalogueCreate, id))
	answered(t, created, http.StatusCreated, nil)
	w.Clock.Forward(time.Minute)
	if err := w.setUp(t, created); err != nil {
		t.Fatal(err)
	}
	w.Clock.Forward(5 * time.Minute)
	answered(t, w.poll(t, created), http.StatusOK, map[string]any{"direct_debit.setup_complete": true})
	answered(t, w.Confirm(t, created), http.StatusOK, map[string]any{"already_confirmed": false, "agreement.pdf_generated": true})
	w.arrived(t, "checkout.created", "checkout.confirmed", "agreement.generated")
	for _, d := range w.Receiver.Deliveries() {
		if !w.verifies(d) || d.Header.Get(events.HeaderAttempt) != "1" {
			t.Errorf("%s came under %v, want a right signature at the first attempt", d.Body, d.Header)
		}
	}
}
