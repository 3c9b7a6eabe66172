package gocardlesstest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/simtest"
)

func TestFaults(t *testing.T) {
	const hang = 20 * time.Millisecond
	untried := gocardlesstest.FaultKinds()
	for _, tt := range []struct {
		kind     gocardlesstest.FaultKind
		status   int    // 0: no answer
		reason   string // of the error
		requests int    // billing requests that there are afterwards
	}{
		{gocardlesstest.FaultTimeout, 0, "", 0},
		{gocardlesstest.FaultTimeoutAfter, 0, "", 1},
		{gocardlesstest.FaultReset, 0, "", 0},
		{gocardlesstest.FaultResetAfter, 0, "", 1},
		{gocardlesstest.FaultConflict, 409, "idempotent_creation_conflict", 0},
		{gocardlesstest.FaultRateLimit, 429, "rate_limit_reached", 0},
		{gocardlesstest.FaultError, 500, "internal_server_error", 0},
		{gocardlesstest.FaultErrorAfter, 500, "internal_server_error", 1},
		{gocardlesstest.FaultStringError, 500, "", 0},
		{gocardlesstest.FaultTornBody, 201, "", 1},
		{gocardlesstest.FaultHugeBody, 201, "", 1},
		{gocardlesstest.FaultForbidden, 403, "forbidden", 0},
		{gocardlesstest.FaultUnauthorized, 401, "unauthorized", 0},
		{gocardlesstest.FaultHTML, 502, "", 0},
	} {
		b := newBench(t)
		untried = slices.DeleteFunc(untried, func(kind gocardlesstest.FaultKind) bool { return kind == tt.kind })
		b.sim.Arm(gocardlesstest.Fault{Kind: tt.kind, Times: 1, Hang: hang})
		got, err := b.Do(b.Request("POST", "/billing_requests", requestBody, with("Idempotency-Key", "k")))
		if (err != nil) != (tt.status == 0) || got.Status != tt.status || got.Text("error.errors.0.reason") != tt.reason {
			t.Errorf("%s: %d %v\n%.200s\nwant %d %s", tt.kind, got.Status, err, got.Raw, tt.status, tt.reason)
		}
		if stats := b.sim.Statistics(); stats.BillingRequests != tt.requests || stats.Faults[tt.kind] != 1 {
			t.Errorf("%s: %+v, want %d billing requests", tt.kind, stats, tt.requests)
		}
		again := b.Call("POST", "/billing_requests", requestBody, with("Idempotency-Key", "k"))
		if want := 201 + tt.requests*(409-201); again.Status != want {
			t.Errorf("%s: the call again = %d, want %d", tt.kind, again.Status, want)
		}
	}
	if len(untried) > 0 {
		t.Errorf("no test of the faults %v", untried)
	}
}

func TestFormsOfFaultyAnswers(t *testing.T) {
	b := newBench(t)
	arm := func(kind gocardlesstest.FaultKind) simtest.Reply {
		b.sim.Arm(gocardlesstest.Fault{Kind: kind, Times: 1})
		return b.Call("GET", "/creditors", "")
	}
	if got := arm(gocardlesstest.FaultStringError); string(got.Raw) != `{"error":"bank_authorisation_expired"}` {
		t.Errorf("string error = %s", got.Raw)
	}
	if got := arm(gocardlesstest.FaultRateLimit); got.Header.Get("RateLimit-Remaining") != "0" ||
		got.Header.Get("RateLimit-Reset") != "Mon, 01 Feb 2027 00:01:00 GMT" {
		t.Errorf("headers = %v, want the limit spent until a minute past", got.Header)
	}
	b.CheckFaults("/creditors", func(name string, times int) {
		b.sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultKind(name), Times: times})
	})
}

func TestAConflictNamesAnotherCheckoutsBillingRequest(t *testing.T) {
	b := newBench(t)
	other := b.OK(201, "POST", "/billing_requests", requestBody, with("Idempotency-Key", "other")).Text("billing_requests.id")
	conflicting := func(f gocardlesstest.Fault) string {
		f.Kind, f.Times = gocardlesstest.FaultConflict, 1
		b.sim.Arm(f)
		return b.Call("POST", "/billing_requests", requestBody, with("Idempotency-Key", "k")).Text("error.errors.0.links.conflicting_resource_id")
	}
	if got := conflicting(gocardlesstest.Fault{}); got != other {
		t.Errorf("conflict with %q, want %q", got, other)
	}
	if got := conflicting(gocardlesstest.Fault{Conflict: "BRQ1"}); got != "BRQ1" {
		t.Errorf("conflict with %q, want the one that was armed", got)
	}
}

func TestAHangingCallEndsWithItsClientAndWithTheSimulator(t *testing.T) {
	b := newBench(t)
	b.sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultTimeout})
	b.HangsUntilClosed("/creditors", func() int { return b.sim.Statistics().Faults[gocardlesstest.FaultTimeout] }, b.sim.Close)
}

func TestFaultsLeaveThePagesAlone(t *testing.T) {
	b := newBench(t)
	page := b.newFlow(b.newRequest())
	b.sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultError})
	if got := b.visit(page, nil); got.status != 200 || !strings.Contains(got.body, "Your details") {
		t.Errorf("page = %d, want it", got.status)
	}
}
