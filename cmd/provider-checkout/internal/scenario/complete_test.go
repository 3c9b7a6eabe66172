package scenario_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/events"
)

// A provider with its own key alone gets every error, every status and every event that the API's description has.
func TestAProviderGetsAllThatIsDocumented(t *testing.T) {
	everywhere(t, testAProviderGetsAllThatIsDocumented)
}

func testAProviderGetsAllThatIsDocumented(t *testing.T, w *world) {
	got := make(map[string]bool)
	saw := func(r sandbox.Response) sandbox.Response {
		for _, path := range []string{"error.code", "checkout.status", "checkout.cancelled_by", "direct_debit.billing_request_status",
			"direct_debit.mandate_status", "direct_debit.authorisation_status"} {
			got[path+" "+r.String(path)] = true
		}
		return r
	}
	get := func(created sandbox.Response) { saw(w.Get(t, "KOWHAI", created.CheckoutPath())) }
	var open []sandbox.Response
	for n, s := range scenario.All() {
		created := w.Create(t, fmt.Sprint("open-", n))
		open = append(open, created)
		w.try(t, created, s)
		saw(w.Confirm(t, created))
		get(created)
	}
	for n, s := range scenario.All() {
		created := w.Create(t, fmt.Sprint("confirmed-", n))
		w.play(t, created, "setup_succeeds")
		saw(w.Confirm(t, created))
		w.try(t, created, s)
		get(created)
	}
	for _, s := range []string{"event_fails", "event_not_configured", "operator_cancels", "setup_succeeds"} {
		created := w.Create(t, "cancelled-"+s)
		w.play(t, created, s)
		if s == "setup_succeeds" {
			saw(w.Confirm(t, created))
		}
		saw(w.Post(t, "KOWHAI", created.CheckoutPath()+"/cancel", `{"reason": "test"}`))
	}
	saw(w.Post(t, "KOWHAI", open[0].CheckoutPath()+"/cancel", `{"reason": "test"}`))
	saw(w.Post(t, "KOWHAI", apiclient.CheckoutsPath, sandbox.Order(sandbox.CatalogueCreate, "open-0")))
	saw(w.Post(t, "KOWHAI", apiclient.CheckoutsPath, sandbox.Set(t, sandbox.Order(sandbox.CatalogueCreate, "open-1"), "plan.first_payment_date", `"2027-03-01"`)))
	saw(w.Post(t, "KOWHAI", apiclient.CheckoutsPath, sandbox.Order(sandbox.LegacyCreate, "open-1")))
	saw(w.Post(t, "KOWHAI", apiclient.CheckoutsPath, `{}`))
	saw(w.Get(t, "KOWHAI", apiclient.CheckoutsPath+"/x"))
	saw(w.Get(t, "KOWHAI", "/v1/nothing"))
	saw(w.Send(t, http.MethodDelete, apiclient.CheckoutsPath, ""))
	saw(w.Send(t, http.MethodGet, "/v1/events", ""))
	saw(w.Send(t, http.MethodGet, "/v1/events", "", "Authorization", "Bearer x"))
	saw(w.Post(t, "KOWHAI", "/v1/events/evt_x/redeliver", ""))
	saw(w.Post(t, "KOWHAI", apiclient.CheckoutsPath, strings.Repeat(" ", 65<<10)))
	saw(w.Send(t, http.MethodPost, apiclient.CheckoutsPath, "{}", "Authorization", "Bearer "+w.Keys["KOWHAI"], "Content-Type", "text/plain"))
	var together sync.WaitGroup
	burst := make([]sandbox.Response, 100) // a limit of 25 requests a second for a provider, whose bursts are twice that
	for i := range burst {
		together.Go(func() { burst[i] = w.Get(t, "TUI", "/v1/events") })
	}
	together.Wait()
	for _, r := range burst {
		saw(r)
	}
	for began := time.Now(); time.Since(began) < 2*time.Minute && len(missing(t, w, got)) > 0; time.Sleep(50 * time.Millisecond) {
		for _, d := range w.Receiver.Deliveries() {
			got["event "+d.JSON.Text("event")] = true
		}
		for _, s := range []string{"event_fails", "event_not_configured"} {
			list, _ := w.Get(t, "KOWHAI", "/v1/events?provider_order_id=cancelled-"+s).At("events").([]any)
			for _, e := range list {
				got[fmt.Sprint("event status ", e.(map[string]any)["status"])] = true
			}
		}
	}
	if left := missing(t, w, got); len(left) > 0 {
		t.Errorf("not seen are %q; seen are %q", left, slices.Sorted(maps.Keys(got)))
	}
}

// missing returns what the API's description has and was not seen.
func missing(t *testing.T, w *world, got map[string]bool) (left []string) {
	t.Helper()
	var doc struct {
		Components struct {
			Schemas map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(w.Send(t, http.MethodGet, "/v1/openapi.json", "").Body), &doc); err != nil {
		t.Fatal(err)
	}
	want := []string{"event status delivered", "event status failed", "event status not_configured"}
	for _, n := range events.Names() {
		want = append(want, "event "+string(n))
	}
	for path, place := range map[string][]string{
		"error.code":                          {"Error", "properties", "error", "properties", "code"},
		"checkout.status":                     {"CheckoutResponse", "properties", "checkout", "properties", "status"},
		"checkout.cancelled_by":               {"CancelResponse", "properties", "checkout", "properties", "cancelled_by"},
		"direct_debit.billing_request_status": {"CheckoutResponse", "properties", "direct_debit", "properties", "billing_request_status"},
		"direct_debit.authorisation_status":   {"CheckoutResponse", "properties", "direct_debit", "properties", "authorisation_status"},
		"direct_debit.mandate_status":         {"MandateStatus"},
	} {
		words := enum(t, doc.Components.Schemas, place)
		if len(words) < 2 {
			t.Fatalf("%s has the words %q in the description", path, words)
		}
		for _, word := range words {
			want = append(want, path+" "+word)
		}
	}
	slices.Sort(want)
	return slices.DeleteFunc(want, func(s string) bool { return got[s] })
}

// enum returns the words of a schema of the description.
func enum(t *testing.T, in map[string]json.RawMessage, place []string) []string {
	t.Helper()
	var schema struct {
		Enum  []string
		AnyOf []struct{ Enum []string }
	}
	raw := in[place[0]]
	for _, name := range place[1:] {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(raw, &object); err != nil {
			t.Fatal(err)
		}
		raw = object[name]
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	if len(schema.AnyOf) > 0 {
		return schema.AnyOf[0].Enum
	}
	return schema.Enum
}
