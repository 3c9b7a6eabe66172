package scenario_test

import (
	"crypto/rand"
	"net/http"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/events"
)

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

func TestTheFirstSetupFails(t *testing.T) {
	w := newWorld(t, catalogue.Sandbox)
	created := w.Create(t, order(scenario.SetupFails))
	if err := w.setUp(t, created); err == nil {
		t.Error("the first setup goes through")
	}
	answered(t, w.poll(t, created), http.StatusOK, map[string]any{"direct_debit.setup_complete": false,
		"direct_debit.billing_request_status": "cancelled"})
	answered(t, w.Confirm(t, created), http.StatusConflict, map[string]any{"error.code": "DIRECT_DEBIT_SETUP_INCOMPLETE"})
	if err := w.setUp(t, created); err != nil {
		t.Fatalf("the next setup: %v", err)
	}
	answered(t, w.Confirm(t, created), http.StatusOK, map[string]any{"already_confirmed": false})
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

func TestTheLinkExpiresAfterFiveSeconds(t *testing.T) {
	w := newWorld(t, catalogue.Sandbox)
	created := w.Create(t, order(scenario.LinkExpires))
	if page := w.Visit(t, created.SetupURL()); page.Status != http.StatusOK {
		t.Errorf("at once the page answers %d", page.Status)
	}
	w.Clock.Forward(6 * time.Second)
	if page := w.Visit(t, created.SetupURL()); page.Status != http.StatusGone {
		t.Errorf("after 6 s the page answers %d, want 410", page.Status)
	}
	again := w.Replay(t, order(scenario.LinkExpires))
	if page := w.Visit(t, again.SetupURL()); page.Status != http.StatusOK || again.SetupURL() == created.SetupURL() {
		t.Errorf("the link of the replay answers %d", page.Status)
	}
}

func TestTheConfirmIsWithoutAPDF(t *testing.T) {
	w := newWorld(t, catalogue.Sandbox)
	created := w.Ready(t, order(scenario.PDFFails))
	answered(t, w.Confirm(t, created), http.StatusOK, map[string]any{"checkout.status": "confirmed", "agreement.pdf_generated": false})
	w.arrived(t, "checkout.created", "checkout.confirmed")
}

func TestEventsFailForAMinute(t *testing.T) {
	w := newWorld(t, catalogue.Sandbox)
	w.Create(t, order(scenario.EventFails))
	failed, err := w.Store.Jobs(t.Context(), checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}, State: checkout.JobFailed}, 2)
	if err != nil || len(failed) != 1 || failed[0].Attempts != 3 {
		t.Fatalf("the events that failed are %+v, %v; want one after three attempts", failed, err)
	}
	w.arrived(t)
	w.Clock.Forward(time.Minute)
	got := make(chan sandbox.Delivery, 1)
	w.Receiver.AnswerWith(func(d sandbox.Delivery) int { got <- d; return http.StatusNoContent })
	operator := operate.Operator{Store: w.Store, By: "Aroha", Now: w.Clock.Now, Rand: rand.Reader}
	if _, err := operator.Retry(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
	if d := <-got; d.Header.Get(events.HeaderEventID) != failed[0].Job.ID || !w.verifies(d) {
		t.Errorf("the retry brings %s under %v, want the event %s", d.Body, d.Header, failed[0].Job.ID)
	}
}

func TestEachEventArrivesTwice(t *testing.T) {
	w := newWorld(t, catalogue.Sandbox)
	answered(t, w.Confirm(t, w.Ready(t, order(scenario.EventTwice))), http.StatusOK, nil)
	w.arrived(t, "checkout.created", "checkout.created", "checkout.confirmed", "checkout.confirmed", "agreement.generated", "agreement.generated")
	all := w.Receiver.Deliveries()
	for i := 0; i+1 < len(all); i += 2 {
		if string(all[i].Body) != string(all[i+1].Body) || !w.verifies(all[i]) || !w.verifies(all[i+1]) {
			t.Errorf("the copies differ: %s and %s", all[i].Body, all[i+1].Body)
		}
	}
}

func TestAForgedCopyComesBeforeEachEvent(t *testing.T) {
	w := newWorld(t, catalogue.Sandbox)
	w.verifiedOnly()
	w.Create(t, order(scenario.EventForged))
	w.arrived(t, "checkout.created", "checkout.created")
	if got := w.Receiver.Deliveries(); w.verifies(got[0]) || !w.verifies(got[1]) {
		t.Error("want a wrong signature, and then the right one")
	}
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

func TestTheFirstCreateAndConfirmAreAnswered503(t *testing.T) {
	w := newWorld(t, catalogue.Sandbox)
	refused := func(r apiclient.Response) {
		t.Helper()
		if answered(t, r, http.StatusServiceUnavailable, nil); r.Header.Get("Retry-After") == "" {
			t.Error("the 503 has no Retry-After")
		}
	}
	body := sandbox.Order(sandbox.CatalogueCreate, order(scenario.Answer503))
	refused(w.Post(t, "KOWHAI", apiclient.CheckoutsPath, body))
	if all := w.Records(t); len(all) != 0 {
		t.Errorf("on record are %+v, want nothing", all)
	}
	created := w.Post(t, "KOWHAI", apiclient.CheckoutsPath, body)
	answered(t, created, http.StatusCreated, map[string]any{"idempotent_replay": false})
	w.Replay(t, order(scenario.Answer503))
	w.SetUp(t, created)
	refused(w.Confirm(t, created))
	w.arrived(t, "checkout.created")
	answered(t, w.Confirm(t, created), http.StatusOK, map[string]any{"already_confirmed": false})
	answered(t, w.Confirm(t, created), http.StatusOK, map[string]any{"already_confirmed": true})
	w.arrived(t, "checkout.created", "checkout.confirmed", "agreement.generated")
}

func TestTheAnswersToTheFirstCreateAndConfirmAreLost(t *testing.T) {
	w := newWorld(t, catalogue.Sandbox)
	if r, err := w.send(t, scenario.AnswerLost); !apiclient.IsCut(err) {
		t.Fatalf("the first create is answered %d, %v; want no answer", r.Status, err)
	}
	w.arrived(t, "checkout.created") // after the commit
	created := w.Replay(t, order(scenario.AnswerLost))
	w.SetUp(t, created)
	client := apiclient.New(w.URL, w.Keys)
	if r, err := client.Confirm(t.Context(), created, created.ConfirmBody()); !apiclient.IsCut(err) {
		t.Fatalf("the first confirm is answered %d, %v; want no answer", r.Status, err)
	}
	answered(t, w.Confirm(t, created), http.StatusOK, map[string]any{"already_confirmed": true, "agreement.pdf_generated": true})
	w.arrived(t, "checkout.created", "checkout.confirmed", "agreement.generated")
}

func TestAnOrderWithoutAScenarioGoesThrough(t *testing.T) {
	w := newWorld(t, catalogue.Sandbox)
	w.goesThrough(t, "ENROL-1+none")
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
