package gocardlesstest_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/simtest"
)

// events returns one field of the events that a query finds.
func (b *bench) events(query, field string) (values []string) {
	b.Helper()
	return eventFields(b.OK(200, "GET", "/events?"+query, ""), field)
}

func eventFields(got simtest.Reply, field string) (values []string) {
	entries, _ := got.At("events").([]any)
	for _, e := range entries {
		values = append(values, simtest.Reply{Body: e.(simtest.Object)}.Text(field))
	}
	return values
}

func TestEventsOfABillingRequestAreNewestFirst(t *testing.T) {
	b := newBench(t)
	id := b.fulfilled().Text("billing_requests.id")
	want := []string{"fulfilled", "payer_details_confirmed", "collect_bank_account", "collect_customer_details", "created"}
	if got := b.events("billing_request="+id, "action"); !slices.Equal(got, want) {
		t.Errorf("actions = %v, want %v", got, want)
	}
	if got := b.events("resource_type=mandates", "action"); !slices.Equal(got, []string{"created"}) {
		t.Errorf("actions of mandates = %v, want created", got)
	}
}

func TestEventSaysWhatHappenedToWhat(t *testing.T) {
	b := newBench(t)
	request := b.fulfilled()
	id, mandate := request.Text("billing_requests.id"), request.Text("billing_requests.links.mandate_request_mandate")
	if err := b.sim.MoveMandate(mandate, "failed", "DISHONOUR-AC04"); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]map[string]any{
		"action=fulfilled": {"resource_type": "billing_requests", "links.billing_request": id, "links.mandate_request_mandate": mandate,
			"links.customer":              request.At("billing_requests.links.customer"),
			"links.customer_bank_account": request.At("billing_requests.links.customer_bank_account"),
			"details.cause":               "billing_request_fulfilled", "resource_metadata.checkout_id": "CHK1"},
		"action=failed": {"resource_type": "mandates", "links.mandate": mandate, "details.origin": "bank", "details.scheme": "becs_nz",
			"details.cause": "bank_account_closed", "details.reason_code": "DISHONOUR-AC04", "resource_metadata.checkout_id": "CHK1"},
		"resource_type=mandates&action=created": {"details.origin": "api", "details.reason_code": nil, "created_at": "2027-02-01T00:00:00.000Z"},
	} {
		got := b.OK(200, "GET", "/events?"+query, "")
		for path, value := range want {
			if at := got.At("events.0." + path); at != value {
				t.Errorf("%s: %s = %v, want %v", query, path, at, value)
			}
		}
		if id := got.Text("events.0.id"); !strings.HasPrefix(id, "EV") {
			t.Errorf("%s: the id of the event is %q", query, id)
		}
	}
}

func TestEventsArePaged(t *testing.T) {
	b := newBench(t)
	for range 3 {
		b.fulfilled()
	}
	all := b.events("limit=500", "id")
	if len(all) != 18 {
		t.Fatalf("%d events, want 18", len(all))
	}
	for _, limit := range []string{"1", "5", "18"} {
		var walked []string
		for cursor := ""; ; {
			got := b.OK(200, "GET", "/events?limit="+limit+"&after="+cursor, "")
			walked = append(walked, eventFields(got, "id")...)
			if cursor = got.Text("meta.cursors.after"); cursor == "" {
				break
			}
		}
		if !slices.Equal(walked, all) {
			t.Errorf("limit %s: walked back over %v, want %v", limit, walked, all)
		}
	}
	if got := b.OK(200, "GET", "/events?limit=2&after="+all[2], ""); got.Text("meta.cursors.before") != all[3] {
		t.Errorf("%s, want the cursor of the page before", got.Raw)
	}
}

func TestEventsAreFoundByTime(t *testing.T) {
	b := newBench(t)
	b.newRequest()
	b.sim.Advance(time.Minute)
	b.newRequest()
	at := url.QueryEscape("2027-02-01T00:01:00.000Z")
	for query, want := range map[string]int{
		"created_at[gt]=" + at: 0, "created_at%5Bgt%5D=" + url.QueryEscape("2027-02-01T13:00:30+13:00"): 1,
	} {
		if got := b.events(query, "id"); len(got) != want {
			t.Errorf("%s: %d events, want %d", query, len(got), want)
		}
	}
}

func TestQueriesThatMeanNothingAreRefused(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct{ query, reason string }{
		{"limit=0", "invalid_filters"}, {"limit=501", "invalid_filters"}, {"limit=x", "invalid_filters"},
		{"limit=1&limit=2", "invalid_filters"}, {"colour=red", "invalid_filters"}, {"after=EV1", "invalid_cursor"},
		{"before=EV1", "invalid_filters"}, {"created_at[gt]=yesterday", "invalid_filters"},
	} {
		checkError(t, tt.query, b.Call("GET", "/events?"+tt.query, ""), 400, "invalid_api_usage", tt.reason)
	}
}

func TestACursorKeepsItsPlaceWhateverIsLookedFor(t *testing.T) {
	b := newBench(t)
	b.fulfilled()
	b.fulfilled()
	newest := b.events("limit=1", "id")[0]
	got := b.events("resource_type=mandates&after="+newest, "action")
	if !slices.Equal(got, []string{"created", "created"}) {
		t.Errorf("events of mandates before the newest event = %v, want two", got)
	}
}

func TestAMandateIsCancelledOnce(t *testing.T) {
	b := newBench(t)
	id := b.fulfilled().Text("billing_requests.links.mandate_request_mandate")
	cancel := func() simtest.Reply { return b.Call("POST", "/mandates/"+id+"/actions/cancel", `{"data":{}}`) }
	if got := cancel(); got.Text("mandates.status") != "cancelled" || got.At("mandates.next_possible_charge_date") != nil {
		t.Errorf("cancel = %s", got.Raw)
	}
	checkError(t, "cancel a dead one", cancel(), 422, "invalid_state", "mandate_not_cancelled")
	if got := b.events("mandate="+id, "action"); !slices.Equal(got, []string{"cancelled", "created"}) {
		t.Errorf("events = %v", got)
	}
}
