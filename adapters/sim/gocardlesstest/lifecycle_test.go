package gocardlesstest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
)

// complete sends a payer through a new flow and returns the billing request's id.
func (b *bench) complete(p gocardlesstest.Payer) string {
	b.Helper()
	id := b.newRequest()
	if _, err := b.sim.Complete(b.newFlow(id), p); err != nil {
		b.Fatal(err)
	}
	return id
}

// status returns the statuses of a billing request and of its mandate, "" without a mandate.
func (b *bench) status(request string) (billing, mandate string) {
	b.Helper()
	got := b.OK(200, "GET", "/billing_requests/"+request, "")
	if id := got.Text("billing_requests.links.mandate_request_mandate"); id != "" {
		mandate = b.OK(200, "GET", "/mandates/"+id, "").Text("mandates.status")
	}
	return got.Text("billing_requests.status"), mandate
}

func TestFates(t *testing.T) {
	const base = "01-0902-0068389-"
	fulfilled := func(mandate ...string) []string { // at once, after one minute, after two
		var want []string
		for _, m := range mandate {
			want = append(want, "fulfilled "+m)
		}
		return want
	}
	stays := func(status string) []string { return []string{status + " ", status + " ", status + " "} }
	pending := "pending_submission"
	for _, tt := range []struct {
		holder, account string
		want            []string
		reason          string
	}{
		{"Ana Tau", base + "00", fulfilled(pending, pending, pending), ""},
		{"MANDATE FAILS", base + "00", fulfilled(pending, "failed", "failed"), "NEGATIVE_ACKNOWLEDGEMENT-AC05"},
		{"Mandate Fails", base + "00", fulfilled(pending, "failed", "failed"), "NEGATIVE_ACKNOWLEDGEMENT-AC05"},
		{"MANDATE CANCELLED", base + "00", fulfilled(pending, "cancelled", "cancelled"), "DISHONOUR-AG01"},
		{"MANDATE BLOCKED", base + "00", fulfilled(pending, "blocked", "blocked"), ""},
		{"MANDATE EXPIRED", base + "00", fulfilled(pending, "expired", "expired"), ""},
		{"MANDATE ACTIVE", base + "00", fulfilled(pending, "submitted", "active"), ""},
		{"MANDATE REPLACED", base + "00", fulfilled(pending, "cancelled", "cancelled"), ""},
		{"MANDATE RETURNS", base + "00", fulfilled(pending, "cancelled", pending), "DISHONOUR-AG01"},
		{"MANDATE LATE", base + "00", fulfilled("", pending, pending), ""},
		{"SETUP CANCELLED", base + "00", stays("cancelled"), ""},
		{"SETUP FAILS", base + "00", stays("cancelled"), ""},
		{"SETUP HANGS", base + "00", stays("fulfilling"), ""},
		{"SETUP WAITS", base + "00", stays("ready_to_fulfil"), ""},
		{"Ana Tau", base + "01", fulfilled(pending, "failed", "failed"), "NEGATIVE_ACKNOWLEDGEMENT-AC05"},
		{"Ana Tau", base + "02", fulfilled(pending, "failed", "failed"), "DISHONOUR-AC05"},
		{"Ana Tau", base + "03", fulfilled(pending, "failed", "failed"), "DISHONOUR-AC03"},
		{"Ana Tau", base + "04", fulfilled(pending, "cancelled", "cancelled"), "DISHONOUR-AC04"},
		{"Ana Tau", base + "05", fulfilled(pending, "cancelled", "cancelled"), "DISHONOUR-AC05"},
		{"Ana Tau", base + "06", fulfilled(pending, "cancelled", "cancelled"), "DISHONOUR-AG01"},
		{"Ana Tau", base + "007", fulfilled(pending, "cancelled", "cancelled"), "DISHONOUR-BE05"},
		{"Ana Tau", base + "08", fulfilled(pending, "cancelled", "cancelled"), "DISHONOUR-AM04"},
		{"Ana Tau", base + "09", fulfilled(pending, "cancelled", "cancelled"), "DISHONOUR-MS01"},
		{"Ana Tau", base + "10", fulfilled(pending, "blocked", "blocked"), ""},
		{"Ana Tau", base + "11", fulfilled(pending, "expired", "expired"), ""},
		{"Ana Tau", base + "12", stays("cancelled"), ""},
		{"Ana Tau", base + "13", fulfilled(pending, pending, pending), ""},
		{"Ana Tau", "12-3140-0171323-01", fulfilled(pending, pending, pending), ""},
	} {
		b := newBench(t)
		id := b.complete(gocardlesstest.Payer{Holder: tt.holder, Account: tt.account})
		var got []string
		for range 3 {
			billing, mandate := b.status(id)
			got = append(got, billing+" "+mandate)
			b.sim.Advance(time.Minute)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s, %s: %q, want %q", tt.holder, tt.account, got, tt.want)
		}
		reasons := strings.Join(b.events("resource_type=mandates", "details.reason_code"), "")
		if reasons != tt.reason {
			t.Errorf("%s, %s: reason codes %q, want %q", tt.holder, tt.account, reasons, tt.reason)
		}
	}
}

func TestAFamilyNameIsAFateToo(t *testing.T) {
	b := newBench(t)
	id := b.complete(gocardlesstest.Payer{FamilyName: "MANDATE FAILS", Holder: "Ana Tau"})
	b.sim.Advance(time.Minute)
	if _, mandate := b.status(id); mandate != "failed" {
		t.Errorf("mandate is %s, want failed", mandate)
	}
	if got := b.events("action=failed", "created_at"); !slices.Equal(got, []string{"2027-02-01T00:01:00.000Z"}) {
		t.Errorf("failed at %v, want after a minute", got)
	}
}

func TestAReplacedMandateLeadsToItsSuccessor(t *testing.T) {
	b := newBench(t)
	b.complete(gocardlesstest.Payer{Holder: "MANDATE REPLACED"})
	b.sim.Advance(time.Hour)
	event := b.OK(200, "GET", "/events?action=replaced", "")
	old := b.OK(200, "GET", "/mandates/"+event.Text("events.0.links.mandate"), "")
	next := old.Text("mandates.links.new_mandate")
	if next == "" || next != event.Text("events.0.links.new_mandate") {
		t.Errorf("new mandate is %q, and of the event %q", next, event.Text("events.0.links.new_mandate"))
	}
	got := b.OK(200, "GET", "/mandates/"+next, "")
	if got.Text("mandates.status") != "pending_submission" || got.Text("mandates.metadata.checkout_id") != "CHK1" {
		t.Errorf("%s, want a mandate for the same checkout", got.Raw)
	}
	if got := b.sim.Statistics(); got.Mandates != 2 || got.MandatesByMetadata["checkout_id=CHK1"] != 1 {
		t.Errorf("%+v, want 2 mandates, one of which was asked for", got)
	}
}

func TestPace(t *testing.T) {
	b := newBench(t, func(o *gocardlesstest.Options) {
		o.Pace = gocardlesstest.Pace{Ready: 3 * time.Second, Fulfilling: 2 * time.Second}
	})
	id := b.complete(gocardlesstest.Payer{})
	var got []string
	for range 6 {
		billing, mandate := b.status(id)
		got = append(got, billing+" "+mandate)
		b.sim.Advance(time.Second)
	}
	const ready, fulfilling = "ready_to_fulfil ", "fulfilling "
	if want := []string{ready, ready, ready, fulfilling, fulfilling, "fulfilled pending_submission"}; !slices.Equal(got, want) {
		t.Errorf("each second: %q, want %q", got, want)
	}
	if got := b.events("action=fulfilled", "created_at"); !slices.Equal(got, []string{"2027-02-01T00:00:05.000Z"}) {
		t.Errorf("fulfilled at %v, want after 5 s", got)
	}
}

func TestCancelledOnTheWayStaysCancelled(t *testing.T) {
	b := newBench(t, func(o *gocardlesstest.Options) {
		o.Pace = gocardlesstest.Pace{Ready: time.Second, Fulfilling: time.Second}
	})
	ready, fulfilling := b.complete(gocardlesstest.Payer{}), b.complete(gocardlesstest.Payer{})
	b.act(ready, "cancel", `{}`)
	b.sim.Advance(time.Second)
	if err := b.sim.CancelRequest(fulfilling); err != nil {
		t.Fatal(err)
	}
	b.sim.Advance(time.Hour)
	for _, id := range []string{ready, fulfilling} {
		if billing, mandate := b.status(id); billing != "cancelled" || mandate != "" {
			t.Errorf("billing request is %s and mandate %q, want it cancelled without one", billing, mandate)
		}
	}
}

func TestMoves(t *testing.T) {
	b := newBench(t)
	request := b.fulfilled()
	id := request.Text("billing_requests.links.mandate_request_mandate")
	for _, tt := range []struct{ status, reason, action, now string }{
		{"submitted", "", "submitted", "submitted"},
		{"active", "", "active", "active"},
		{"suspended_by_payer", "", "suspended_by_payer", "suspended_by_payer"},
		{"cancelled", "DISHONOUR-BE05", "cancelled", "cancelled"},
		{"pending_submission", "", "reinstated", "pending_submission"},
		{"transferred", "", "transferred", "pending_submission"},
		{"blocked", "", "blocked", "blocked"},
		{"expired", "", "expired", "expired"},
		{"consumed", "", "consumed", "consumed"},
		{"failed", "DISHONOUR-AC03", "failed", "failed"},
		{"replaced", "", "replaced", "cancelled"},
	} {
		if err := b.sim.MoveMandate(request.Text("billing_requests.id"), tt.status, tt.reason); err != nil {
			t.Errorf("%s: %v", tt.status, err)
		}
		event := b.OK(200, "GET", "/events?limit=1&mandate="+id, "")
		now := b.OK(200, "GET", "/mandates/"+id, "").Text("mandates.status")
		if event.Text("events.0.action") != tt.action || event.Text("events.0.details.reason_code") != tt.reason || now != tt.now ||
			event.Text("events.0.details.cause") == "" {
			t.Errorf("%s: mandate is %s after %s, want %s after %s for %q", tt.status, now, event.Raw, tt.now, tt.action, tt.reason)
		}
	}
	for _, wrong := range [][3]string{{"MD1", "failed", ""}, {id, "happy", ""}, {id, "created", ""}, {id, "failed", "AC05"}} {
		if b.sim.MoveMandate(wrong[0], wrong[1], wrong[2]) == nil {
			t.Errorf("MoveMandate%q succeeded", wrong)
		}
	}
}

func TestSubmittedName(t *testing.T) {
	for name, want := range map[string]string{
		"Ana Tau":                  "ANA TAU",
		"Māui Tāne-Mahuta":         "MAUI TANE-MAHUTA",
		"Ma\u0304ui":               "MAUI",
		"Wolfeschlegelsteinhausen": "WOLFESCHLEGELSTEIN",
		"Hēmi Te Whare o Rongo":    "HEMI TE WHARE O RO",
		"Jean-Baptiste d’Artagnan": "JEAN-BAPTISTE D'AR",
		"Søren Ærø Straße":         "SOREN AERO STRASSE",
		"Łukasz Żółć":              "LUKASZ ZOLC",
		"李 Lee":                    "LEE",
		"  two\u00a0 spaces  ":     "TWO SPACES",
		"A1 & Sons Ltd.":           "A1 & SONS LTD.",
		"Seventeen letters x y":    "SEVENTEEN LETTERS",
		"😀":                        "",
	} {
		if got := gocardlesstest.SubmittedName(name); got != want {
			t.Errorf("SubmittedName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestATokenIsRequired(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New without a token did not panic")
		}
	}()
	gocardlesstest.New(gocardlesstest.Options{})
}
