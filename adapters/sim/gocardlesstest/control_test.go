package gocardlesstest_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
)

func TestControlMovesMandatesAndBillingRequests(t *testing.T) {
	b := newBench(t)
	id := b.newRequest()
	flow := b.flow(id).Text("billing_request_flows.id")
	got := b.Control(200, "POST", "flows/"+flow+"/complete", `{"account_holder_name":"Māui Tāne-Mahuta o Rongo"}`)
	if at := got.Text("redirect_uri"); at != redirectURI {
		t.Errorf("redirect_uri = %q", at)
	}
	mandate := b.OK(200, "GET", "/billing_requests/"+id, "").Text("billing_requests.links.mandate_request_mandate")
	b.Control(200, "POST", "mandates/"+mandate, `{"status":"cancelled","reason_code":"DISHONOUR-AG01"}`)
	if _, status := b.status(id); status != "cancelled" {
		t.Errorf("mandate is %s", status)
	}
	got = b.Control(200, "GET", "mandates/"+mandate, "")
	if got.Text("submitted_name") != "MAUI TANE-MAHUTA O" || got.Text("billing_request") != id {
		t.Errorf("%s, want the name as the bank gets it", got.Raw)
	}
	for action, want := range map[string]string{"cancel": "cancelled", "fulfil": "fulfilled", "block": "pending"} {
		other := b.newRequest()
		b.Control(200, "POST", "billing_requests/"+other+"/"+action, "")
		if billing, _ := b.status(other); billing != want {
			t.Errorf("%s: billing request is %s, want %s", action, billing, want)
		}
	}
	b.Control(200, "POST", "creditors/CR000SIMULATOR", `{"scheme_status":"pending","minimum_advance_notice":12}`)
	if got := b.OK(200, "GET", "/creditors", ""); got.Text("creditors.0.scheme_identifiers.0.status") != "pending" {
		t.Errorf("%s, want it pending", got.Raw)
	}
}

func TestControlArmsFaults(t *testing.T) {
	b := newBench(t)
	b.Control(200, "POST", "faults", `{"kind":"error","method":"GET","path":"/creditors","times":1}`)
	b.OK(500, "GET", "/creditors", "")
	b.OK(200, "GET", "/creditors", "")
	b.Control(200, "POST", "faults", `{"kind":"error"}`)
	b.Control(200, "DELETE", "faults", "")
	b.OK(200, "GET", "/creditors", "")
}

func TestControlMovesNotifications(t *testing.T) {
	in := newInbox(t)
	b := newBench(t)
	b.Control(200, "POST", "webhooks", `{"url":"`+in.server.URL+`","secret":"`+secret+`"}`)
	b.Control(200, "POST", "webhooks/faults", `{"duplicate":1,"delay":"1ms"}`)
	b.newRequest()
	b.flush()
	if got := in.all(); len(got) != 2 || !got[0].signed(secret) {
		t.Errorf("%d notifications, want one twice", len(got))
	}
}

func TestControlTellsStatistics(t *testing.T) {
	b := newBench(t)
	b.fulfilled()
	got := b.Control(200, "GET", "statistics", "")
	for path, want := range map[string]any{"billing_requests": 1.0, "mandates": 1.0, "fulfilled": 1.0, "events": 6.0,
		"calls.POST /billing_requests": 1.0, "answers.POST /billing_requests 201": 1.0, "mandates_by_metadata.checkout_id=CHK1": 1.0,
		"billing_requests_by_metadata.checkout_id=CHK1": 1.0, "without_idempotency_key": 1.0, "webhooks.sent": 0.0} {
		if at := got.At(path); at != want {
			t.Errorf("%s = %v, want %v", path, at, want)
		}
	}
}

func TestControlSaysWhatIsWrong(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "", "", 404, "there is no"},
		{"PUT", "clock", `{}`, 404, "there is no"},
		{"POST", "clock", `{"advance":"soon"}`, 400, "advance"},
		{"POST", "clock", `{"advance":"-1s"}`, 400, "advance"},
		{"POST", "clock", `{"now":"x"}`, 400, "unknown field"},
		{"POST", "clock", "", 400, "Content-Type"},
		{"POST", "faults", `{"kind":"rain"}`, 400, "kind must be one of"},
		{"POST", "faults", `{"kind":"error","object":"Contact"}`, 400, "unknown field"},
		{"POST", "faults", `{"kind":"error","path":"["}`, 400, "path"},
		{"POST", "faults", `{"kind":"error","hang":"x"}`, 400, "hang"},
		{"POST", "webhooks/faults", `{"delay":"x"}`, 400, "delay"},
		{"POST", "mandates/MD1", `{"status":"failed"}`, 400, "no mandate MD1"},
		{"GET", "mandates/MD1", "", 400, "no mandate MD1"},
		{"POST", "billing_requests/BRQ1/cancel", "", 400, "no billing request BRQ1"},
		{"POST", "flows/BRF1/complete", `{}`, 400, "no flow BRF1"},
		{"POST", "flows/BRF1/complete", `{"account_number":"1"}`, 400, "account number"},
		{"POST", "creditors/CR1", `{}`, 400, "no creditor CR1"},
	} {
		if got := b.Control(tt.status, tt.method, tt.path, tt.body).Text("error"); !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: %q, want %q in it", tt.method, tt.path, got, tt.want)
		}
	}
}

func TestControlIsOffUnlessItIsAskedFor(t *testing.T) {
	b := newBench(t, func(o *gocardlesstest.Options) { o.Control = false })
	if got := b.Call("POST", "/simulator/clock", `{"advance":"1h"}`); got.Status != 404 || b.sim.Now() != started {
		t.Errorf("%d, and it is %v; want 404 and nothing moved", got.Status, b.sim.Now())
	}
}

// Many payers, notifications, moves and looks at once: for the race detector, and for one mandate each.
func TestMuchAtOnce(t *testing.T) {
	b, _ := notified(t, func(o *gocardlesstest.Options) { o.RateLimit = -1 })
	b.sim.SetWebhookFaults(gocardlesstest.WebhookFaults{Shuffle: true, Duplicate: 0.5, Delay: time.Millisecond})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			id := b.OK(201, "POST", "/billing_requests", requestBody).Text("billing_requests.id")
			flow := b.newFlow(id)
			var clicks sync.WaitGroup
			for range 3 {
				clicks.Go(func() { _, _ = b.sim.Complete(flow, gocardlesstest.Payer{Holder: "MANDATE ACTIVE"}) })
				clicks.Go(func() { b.visit(flow, nil) })
			}
			clicks.Wait()
			b.sim.Advance(time.Second)
			b.events("billing_request="+id, "id")
			b.Control(200, "GET", "statistics", "")
		})
	}
	all.Wait()
	b.sim.Advance(time.Hour)
	b.flush()
	if got := b.sim.Statistics(); got.Mandates != 20 || got.Fulfilled != 20 || got.MandatesByMetadata["checkout_id=CHK1"] != 20 {
		t.Errorf("%+v, want one mandate for each of 20 billing requests", got)
	}
}
