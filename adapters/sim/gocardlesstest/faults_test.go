package gocardlesstest_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
)

func TestFaults(t *testing.T) {
	const hang = 20 * time.Millisecond
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
		b.sim.Arm(gocardlesstest.Fault{Kind: tt.kind, Times: 1, Hang: hang})
		got, err := b.do(b.request("POST", "/billing_requests", requestBody, with("Idempotency-Key", "k")))
		if (err != nil) != (tt.status == 0) || got.status != tt.status || got.text("error.errors.0.reason") != tt.reason {
			t.Errorf("%s: %d %v\n%.200s\nwant %d %s", tt.kind, got.status, err, got.raw, tt.status, tt.reason)
		}
		if stats := b.sim.Statistics(); stats.BillingRequests != tt.requests || stats.Faults[tt.kind] != 1 {
			t.Errorf("%s: %+v, want %d billing requests", tt.kind, stats, tt.requests)
		}
		again := b.call("POST", "/billing_requests", requestBody, with("Idempotency-Key", "k"))
		if want := 201 + tt.requests*(409-201); again.status != want {
			t.Errorf("%s: the call again = %d, want %d", tt.kind, again.status, want)
		}
	}
}

func TestFaultKindsAreAllTried(t *testing.T) {
	if got := len(gocardlesstest.FaultKinds()); got != 14 {
		t.Errorf("%d kinds of faults: TestFaults has 14", got)
	}
}

func TestFormsOfFaultyAnswers(t *testing.T) {
	b := newBench(t)
	arm := func(kind gocardlesstest.FaultKind) reply {
		b.sim.Arm(gocardlesstest.Fault{Kind: kind, Times: 1})
		return b.call("GET", "/creditors", "")
	}
	if got := arm(gocardlesstest.FaultStringError); string(got.raw) != `{"error":"bank_authorisation_expired"}` {
		t.Errorf("string error = %s", got.raw)
	}
	if got := arm(gocardlesstest.FaultTornBody); got.body != nil || len(got.raw) == 0 || got.status != 200 {
		t.Errorf("torn body = %d %s", got.status, got.raw)
	}
	if got := arm(gocardlesstest.FaultHugeBody); len(got.raw) < 16<<20 {
		t.Errorf("huge body = %d bytes", len(got.raw))
	}
	if got := arm(gocardlesstest.FaultRateLimit); got.header.Get("RateLimit-Remaining") != "0" ||
		got.header.Get("RateLimit-Reset") != "Mon, 01 Feb 2027 00:01:00 GMT" {
		t.Errorf("headers = %v, want the limit spent until a minute past", got.header)
	}
}

func TestAResetIsSeenAsOne(t *testing.T) {
	b := newBench(t)
	b.sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultReset})
	if _, err := b.do(b.request("GET", "/creditors", "")); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
		t.Errorf("error = %v, want the connection reset", err)
	}
}

func TestAConflictNamesAnotherCheckoutsBillingRequest(t *testing.T) {
	b := newBench(t)
	other := b.ok(201, "POST", "/billing_requests", requestBody, with("Idempotency-Key", "other")).text("billing_requests.id")
	conflicting := func(f gocardlesstest.Fault) string {
		f.Kind, f.Times = gocardlesstest.FaultConflict, 1
		b.sim.Arm(f)
		return b.call("POST", "/billing_requests", requestBody, with("Idempotency-Key", "k")).text("error.errors.0.links.conflicting_resource_id")
	}
	if got := conflicting(gocardlesstest.Fault{}); got != other {
		t.Errorf("conflict with %q, want %q", got, other)
	}
	if got := conflicting(gocardlesstest.Fault{Conflict: "BRQ1"}); got != "BRQ1" {
		t.Errorf("conflict with %q, want the one that was armed", got)
	}
}

func TestFaultsAreArmedForSomeCalls(t *testing.T) {
	b := newBench(t)
	id := b.newRequest()
	b.sim.Arm(
		gocardlesstest.Fault{Kind: gocardlesstest.FaultError, Method: "POST", Path: "/billing_requests/*/actions/*", Times: 2},
		gocardlesstest.Fault{Kind: gocardlesstest.FaultForbidden, Path: "/creditors"})
	act := func() int {
		return b.call("POST", "/billing_requests/"+id+"/actions/collect_customer_details", `{"data":{}}`).status
	}
	for i, want := range []int{500, 500, 200} {
		if got := act(); got != want {
			t.Errorf("action %d = %d, want %d", i, got, want)
		}
	}
	for range 3 {
		if got := b.call("GET", "/creditors", "").status; got != 403 {
			t.Errorf("creditors = %d, want 403 as long as it is armed", got)
		}
	}
	b.ok(200, "GET", "/billing_requests/"+id, "")
	b.sim.Disarm()
	b.ok(200, "GET", "/creditors", "")
}

func TestFaultsComeWithTheirProbability(t *testing.T) {
	b := newBench(t, func(o *gocardlesstest.Options) { o.RateLimit = -1 })
	b.sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultError, Probability: 0.2})
	failed := 0
	for range 500 {
		if b.call("GET", "/creditors", "").status == 500 {
			failed++
		}
	}
	if failed < 50 || failed > 150 {
		t.Errorf("%d of 500 calls failed, want about 100", failed)
	}
}

func TestAHangingCallEndsWithItsClientAndWithTheSimulator(t *testing.T) {
	b := newBench(t)
	b.sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultTimeout})
	client := &http.Client{Timeout: 20 * time.Millisecond}
	if got, err := client.Do(b.request("GET", "/creditors", "")); err == nil {
		got.Body.Close()
		t.Errorf("answer = %d, want a time-out", got.StatusCode)
	}
	before := b.sim.Statistics().Faults[gocardlesstest.FaultTimeout]
	ended := make(chan error)
	go func() {
		_, err := b.do(b.request("GET", "/creditors", ""))
		ended <- err
	}()
	for b.sim.Statistics().Faults[gocardlesstest.FaultTimeout] == before {
		time.Sleep(time.Millisecond)
	}
	b.sim.Close()
	if err := <-ended; err == nil {
		t.Error("the call was answered, want it broken")
	}
}

func TestFaultsLeaveThePagesAlone(t *testing.T) {
	b := newBench(t)
	page := b.newFlow(b.newRequest())
	b.sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultError})
	if got := b.visit(page, nil); got.status != 200 || !strings.Contains(got.body, "Your details") {
		t.Errorf("page = %d, want it", got.status)
	}
}
