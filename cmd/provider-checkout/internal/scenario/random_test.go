package scenario_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
)

// Whatever a provider does with a checkout, in whatever order: no call fails, what is recorded is in the order of the checkout's clock,
// and GET and the last event agree on the mandate.
func TestAnyOrderOfScenarios(t *testing.T) { everywhere(t, testAnyOrderOfScenarios) }

func testAnyOrderOfScenarios(t *testing.T, w *world) {
	number := 0
	rapid.Check(t, func(rt *rapid.T) {
		number++
		order := fmt.Sprint("order-", number)
		created := w.Create(t, order)
		id, path := created.String("checkout.checkout_id"), created.CheckoutPath()
		for range rapid.IntRange(1, 12).Draw(rt, "calls") {
			var r sandbox.Response
			switch what := rapid.SampledFrom([]string{"scenario", "scenario", "scenario", "clock", "confirm", "create", "cancel", "get", "page"}).Draw(rt, "call"); what {
			case "scenario":
				s := rapid.SampledFrom(scenario.All()).Draw(rt, "scenario")
				if s == scenario.EventSlow || s == scenario.NextAnswer500 || s == scenario.NextAnswerLost {
					continue // which take long, fail, and have no answer
				}
				r = w.post(t, id, string(s))
			case "clock":
				by := rapid.SampledFrom([]string{"PT1S", "PT2H", "P3D", "P5W"}).Draw(rt, "by")
				r = w.call(t, "KOWHAI", http.MethodPost, "/sandbox/v1/checkouts/"+id+"/clock", `{"advance": "`+by+`"}`)
			case "confirm":
				r = w.Confirm(t, created)
			case "create":
				r = w.Post(t, "KOWHAI", apiclient.CheckoutsPath, sandbox.Order(sandbox.CatalogueCreate, order))
				if r.Status == http.StatusOK && r.SetupURL() != "" {
					created = r
				}
			case "cancel":
				r = w.Post(t, "KOWHAI", path+"/cancel", `{"reason": "test"}`)
			case "get":
				r = w.Get(t, "KOWHAI", path)
			case "page":
				r = sandbox.Fetch(t, created.SetupURL())
			}
			if r.Status == http.StatusInternalServerError || r.Status == 0 {
				rt.Fatalf("%d %s", r.Status, r.Body)
			}
		}
		for range scenario.All() { // refusals that wait are answered first
			w.Get(t, "KOWHAI", path)
		}
		w.inOrder(rt, t, id)
	})
}

// inOrder checks the times and the end of what is recorded of a checkout.
func (w *world) inOrder(rt rapid.TB, t *testing.T, id string) {
	moments, err := w.Store.Moments(t.Context(), id)
	if err != nil {
		rt.Fatal(err)
	}
	moments = slices.DeleteFunc(moments, func(m checkout.Moment) bool { // which are stored later, or counted
		return m.Kind == checkout.MomentOpened || m.Kind == checkout.MomentReturned || m.Kind == checkout.MomentRefused
	})
	if !slices.IsSortedFunc(moments, func(a, b checkout.Moment) int { return a.At.Truncate(time.Second).Compare(b.At.Truncate(time.Second)) }) {
		rt.Errorf("the journal is not in the order of its times: %+v", moments)
	}
	got := w.Get(t, "KOWHAI", apiclient.CheckoutsPath+"/"+id)
	events, err := w.Store.Jobs(t.Context(), checkout.JobFilter{CheckoutID: id, Kinds: []checkout.JobKind{checkout.JobDeliver}, OldestFirst: true}, 100)
	if err != nil {
		rt.Fatal(err)
	}
	var last time.Time
	said := ""
	for _, e := range events {
		if e.Job.CreatedAt.Before(last) {
			rt.Errorf("event %s is at %s, before an earlier one", e.Job.Name, e.Job.CreatedAt)
		}
		last = e.Job.CreatedAt
		if o, err := apiclient.ParseObject(e.Job.Body); err == nil && e.Job.Name == "mandate.changed" {
			said = o.Text("data.mandate_status")
		}
	}
	mandate := got.String("direct_debit.mandate_status")
	if said != "" && checkout.MandateStatus(said).Dead() != checkout.MandateStatus(mandate).Dead() {
		rt.Errorf("the last event says %q of the mandate, and GET says %s", said, got.Body)
	}
}
