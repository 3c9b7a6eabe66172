package scenario_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
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

// A provider with its own key alone gets every error, every status and every event that the API's description has, and of each
// operation every answer.
func TestAProviderGetsAllThatIsDocumented(t *testing.T) {
	everywhere(t, testAProviderGetsAllThatIsDocumented)
}

func testAProviderGetsAllThatIsDocumented(t *testing.T, w *world) {
	w.observe(t)
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
	saw(w.Get(t, "KOWHAI", "/v1"))
	saw(w.Get(t, "KOWHAI", "/v1/environment"))
	for _, path := range []string{"/v1", "/v1/environment"} {
		saw(w.Send(t, http.MethodDelete, path, ""))
	}
	w.everyRefusal(t, open[1], saw)
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

// answers matches an answer of an operation: its status and, of a refusal, the error's code.
var answers = regexp.MustCompile(`^[a-z]\w+ \d{3}`)

// everyRefusal has each operation refuse a call in every way that the description has. created is an open checkout of order open-1.
func (w *world) everyRefusal(t *testing.T, created sandbox.Response, saw func(sandbox.Response) sandbox.Response) {
	const query, tooLong = "?provider_order_id=open-1", 65 << 10
	path, create, confirm := created.CheckoutPath(), sandbox.Order(sandbox.CatalogueCreate, "open-1"), created.ConfirmBody()
	event := func(order string) string {
		list := saw(w.Get(t, "KOWHAI", "/v1/events?provider_order_id="+order)).At("events").([]any)
		return "/v1/events/" + list[len(list)-1].(map[string]any)["event_id"].(string) + "/redeliver"
	}
	key := []string{"Authorization", "Bearer " + w.Keys["KOWHAI"]}
	calls := []struct {
		method, path, body string
		next               []scenario.Scenario // beside the refusals of every call
		wrong              [][2]string         // paths and bodies
	}{
		{"POST", apiclient.CheckoutsPath, create, []scenario.Scenario{scenario.NextAnswer410}, [][2]string{
			{apiclient.CheckoutsPath, "{}"}, {apiclient.CheckoutsPath, sandbox.Set(t, create, "plan.first_payment_date", `"2027-03-01"`)},
			{apiclient.CheckoutsPath, sandbox.Set(t, create, "provider.provider_code", `"TUI"`)},
			{apiclient.CheckoutsPath, sandbox.Order(sandbox.CatalogueCreate, "cancelled-event_fails")}}},
		{"GET", path, "", []scenario.Scenario{scenario.NextAnswer410}, [][2]string{
			{apiclient.CheckoutsPath + "/none"}, {apiclient.CheckoutsPath + "/a%2Fb"}}},
		{"POST", path + "/confirm", confirm, []scenario.Scenario{scenario.NextAnswer410}, [][2]string{{path + "/confirm", "{}"},
			{path + "/confirm", sandbox.Set(t, confirm, "checkout.dda_id", `"another"`)},
			{path + "/confirm", sandbox.Set(t, confirm, "provider.provider_code", `"TUI"`)},
			{apiclient.CheckoutsPath + "/none/confirm", confirm}, {apiclient.CheckoutsPath + "/a%2Fb/confirm", confirm}}},
		{"POST", path + "/cancel", `{"reason": "test"}`, []scenario.Scenario{scenario.NextAnswer410}, [][2]string{{path + "/cancel", "{}"},
			{apiclient.CheckoutsPath + "/none/cancel", `{"reason": "test"}`}, {apiclient.CheckoutsPath + "/a%2Fb/cancel", `{"reason": "test"}`}}},
		{"GET", "/v1/events" + query, "", nil, [][2]string{{"/v1/events?limit=x"}}},
		{"GET", "/v1/enrolments" + query, "", nil, [][2]string{{"/v1/enrolments?limit=x"}}},
		{"POST", event("open-1"), "", nil, [][2]string{{"/v1/events/none/redeliver"}, {"/v1/events/a%2Fb/redeliver"},
			{event("cancelled-event_not_configured")}}},
	}
	for _, c := range calls {
		send := func(path, body string, headers ...string) sandbox.Response {
			return saw(w.Send(t, c.method, path, body, append([]string{"Content-Type", "application/json"}, headers...)...))
		}
		for _, s := range append(c.next, scenario.NextAnswer403, scenario.NextAnswer404, scenario.NextAnswer500, scenario.NextAnswer503) {
			w.play(t, created, string(s))
			send(c.path, c.body, key...)
		}
		for _, wrong := range c.wrong {
			w.Clock.Forward(2 * time.Second) // one redelivery a second is allowed
			send(wrong[0], wrong[1], key...)
		}
		w.Clock.Forward(2 * time.Second)
		send(c.path, c.body, key...)
		send(c.path, c.body)
		send(c.path, c.body, "Authorization", "Bearer wrong")
		saw(w.Send(t, http.MethodDelete, c.path, ""))
		if c.body != "" {
			send(c.path, strings.Repeat(" ", tooLong)+c.body, key...)
			saw(w.Send(t, c.method, c.path, c.body, append(key, "Content-Type", "text/plain")...))
		}
		limited := false // 25 requests a second for this provider, whose bursts are twice that
		for began := time.Now(); !limited && time.Since(began) < 2*time.Minute; {
			burst, together := make([]sandbox.Response, 100), sync.WaitGroup{}
			for i := range burst {
				together.Go(func() {
					burst[i] = w.Send(t, c.method, c.path, "{}", "Authorization", "Bearer "+w.Keys["TUI"], "Content-Type", "application/json")
				})
			}
			together.Wait()
			limited = slices.ContainsFunc(burst, func(r sandbox.Response) bool { return saw(r).Status == http.StatusTooManyRequests })
		}
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
	want = append(want, slices.DeleteFunc(w.seen.Unseen(), func(s string) bool { return !answers.MatchString(s) })...)
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
