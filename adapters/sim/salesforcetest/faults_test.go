package salesforcetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/simtest"
)

func TestFaults(t *testing.T) {
	const path = "sobjects/Contact/Provider_Checkout_Key__c/k"
	table := []struct {
		kind    salesforcetest.FaultKind
		status  int    // 0: no answer
		code    string // of the error
		records int    // that there are afterwards
	}{
		{salesforcetest.FaultTimeout, 0, "", 0},
		{salesforcetest.FaultTimeoutAfter, 0, "", 1},
		{salesforcetest.FaultReset, 0, "", 0},
		{salesforcetest.FaultResetAfter, 0, "", 1},
		{salesforcetest.FaultSlow, 201, "", 1},
		{salesforcetest.FaultError, 500, "UNKNOWN_EXCEPTION", 0},
		{salesforcetest.FaultErrorAfter, 500, "UNKNOWN_EXCEPTION", 1},
		{salesforcetest.FaultUnavailable, 503, "SERVER_UNAVAILABLE", 0},
		{salesforcetest.FaultHTML, 503, "", 0},
		{salesforcetest.FaultHTMLAfter, 502, "", 1},
		{salesforcetest.FaultTornBody, 201, "", 1},
		{salesforcetest.FaultOtherBody, 200, "", 1},
		{salesforcetest.FaultHugeBody, 201, "", 1},
		{salesforcetest.FaultRequestLimit, 403, "REQUEST_LIMIT_EXCEEDED", 0},
		{salesforcetest.FaultExpiredToken, 401, "INVALID_SESSION_ID", 0},
		{salesforcetest.FaultLockedRow, 400, "UNABLE_TO_LOCK_ROW", 0},
		{salesforcetest.FaultValidation, 400, "FIELD_CUSTOM_VALIDATION_EXCEPTION", 0},
		{salesforcetest.FaultDuplicateValue, 400, "DUPLICATE_VALUE", 1},
	}
	if kinds := salesforcetest.FaultKinds(); len(kinds) != len(table) {
		t.Errorf("the test has %d of the faults %q", len(table), kinds)
	}
	for _, tt := range table {
		b := newBench(t)
		b.sim.Arm(salesforcetest.Fault{Kind: tt.kind, Times: 1, Hang: 20 * time.Millisecond})
		begun := time.Now()
		got, err := b.Do(b.Request("PATCH", path, contact("a@example.nz")))
		if (err != nil) != (tt.status == 0) || got.Status != tt.status || got.Text("0.errorCode") != tt.code {
			t.Errorf("%s: %d %v\n%.200s\nwant %d %s", tt.kind, got.Status, err, got.Raw, tt.status, tt.code)
		}
		if tt.kind == salesforcetest.FaultSlow && time.Since(begun) < 20*time.Millisecond {
			t.Errorf("slow: answered after %v", time.Since(begun))
		}
		if stats := b.sim.Statistics(); stats.Records["Contact"] != tt.records || stats.Faults[tt.kind] != 1 ||
			len(b.sim.Journal()) != tt.records {
			t.Errorf("%s: %+v, want %d contacts, and the journal the same", tt.kind, stats, tt.records)
		}
		if tt.kind == salesforcetest.FaultExpiredToken {
			b.refused(401, "INVALID_SESSION_ID", "GET", "limits", "") // it has really ended
			b.signIn()
		}
		if again := b.Call("PATCH", path, contact("a@example.nz")); again.Status != 201-tt.records {
			t.Errorf("%s: the call again = %d, want %d", tt.kind, again.Status, 201-tt.records)
		}
	}
}

func TestFormsOfFaultyAnswers(t *testing.T) {
	b := newBench(t)
	arm := func(kind salesforcetest.FaultKind) simtest.Reply {
		b.sim.Arm(salesforcetest.Fault{Kind: kind, Times: 1})
		return b.Call("GET", "sobjects", "")
	}
	if got := arm(salesforcetest.FaultHTML); got.Header.Get("Content-Type") != "text/html" || !strings.HasPrefix(string(got.Raw), "<html>") {
		t.Errorf("page = %v %s", got.Header, got.Raw)
	}
	if got := arm(salesforcetest.FaultOtherBody); string(got.Raw) != "{}" || !strings.HasPrefix(got.Header.Get("Content-Type"), "application/json") {
		t.Errorf("other body = %v %s", got.Header, got.Raw)
	}
	if got := arm(salesforcetest.FaultRequestLimit); got.Header.Get("Sforce-Limit-Info") == "" {
		t.Errorf("headers = %v, want the limit", got.Header)
	}
	b.CheckFaults("sobjects", func(name string, times int) {
		b.sim.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultKind(name), Times: times})
	})
}

func TestATokenRequestSuffersFaults(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		kind   salesforcetest.FaultKind
		status int
	}{{salesforcetest.FaultError, 500}, {salesforcetest.FaultHTML, 503}, {salesforcetest.FaultTornBody, 200},
		{salesforcetest.FaultLockedRow, 200}, {salesforcetest.FaultExpiredToken, 200}, {salesforcetest.FaultRequestLimit, 200}} {
		b.sim.Disarm()
		b.sim.Arm(salesforcetest.Fault{Kind: tt.kind, Path: "/services/oauth2/token"})
		if got := b.post(credentials(clientID, clientSecret)); got.Status != tt.status {
			t.Errorf("%s: %d %s, want %d", tt.kind, got.Status, got.Raw, tt.status)
		}
	}
	if got := b.sim.Statistics().Faults; len(got) != 3 {
		t.Errorf("faults = %v, want the three that a token request can suffer", got)
	}
}

func TestOneRecordOfAUnitSuffers(t *testing.T) {
	const halted = "400 PROCESSING_HALTED"
	for _, tt := range []struct {
		fault salesforcetest.Fault
		body  string
		want  string
		after [4]int // records
	}{
		{salesforcetest.Fault{Kind: salesforcetest.FaultLockedRow, Object: "opportunity"}, unit(opening()...),
			halted + ", 400 UNABLE_TO_LOCK_ROW, " + halted + ", " + halted, [4]int{}},
		{salesforcetest.Fault{Kind: salesforcetest.FaultValidation}, unit(opening()...),
			"400 FIELD_CUSTOM_VALIDATION_EXCEPTION, " + halted + ", " + halted + ", " + halted, [4]int{}},
		{salesforcetest.Fault{Kind: salesforcetest.FaultDuplicateValue, Object: "Direct_Debit_Authority__c"},
			unit(opening()[0], opening()[1], opening()[3]), halted + ", " + halted + ", 400 DUPLICATE_VALUE", [4]int{1, 1, 0, 1}},
		{salesforcetest.Fault{Kind: salesforcetest.FaultDuplicateValue}, single(opening()...),
			"400 DUPLICATE_VALUE, 200, " + halted + ", " + halted, [4]int{1, 1, 1, 1}},
		{salesforcetest.Fault{Kind: salesforcetest.FaultLockedRow, Object: "Contact"}, single(opening()...),
			"400 UNABLE_TO_LOCK_ROW, 201, " + halted + ", " + halted, [4]int{0, 1, 0, 0}},
		{salesforcetest.Fault{Kind: salesforcetest.FaultLockedRow, Object: "Account"}, unit(opening()...),
			"201, 201, 201, 201", [4]int{1, 1, 1, 1}},
	} {
		b := newBench(t)
		tt.fault.Times = 1
		b.sim.Arm(tt.fault)
		if got, results := b.composite(tt.body); results != tt.want || b.records() != tt.after {
			t.Errorf("%s of %s:\n%s %v, want\n%s %v\n%s", tt.fault.Kind, tt.fault.Object, results, b.records(), tt.want, tt.after, got.Raw)
		}
	}
}

func TestFaultsAreArmedForSomeCalls(t *testing.T) {
	b := newBench(t)
	b.sim.Arm(
		salesforcetest.Fault{Kind: salesforcetest.FaultError, Method: "POST", Object: "Contact", Times: 2},
		salesforcetest.Fault{Kind: salesforcetest.FaultUnavailable, Path: "/services/data/*/limits"},
		salesforcetest.Fault{Kind: salesforcetest.FaultLockedRow, Object: "Contact", Times: 2})
	for range 2 {
		b.refused(500, "UNKNOWN_EXCEPTION", "POST", "sobjects/Contact", contact("a@example.nz"))
	}
	b.refused(400, "UNABLE_TO_LOCK_ROW", "POST", "sobjects/Contact", contact("a@example.nz"))
	for range 3 {
		b.refused(503, "SERVER_UNAVAILABLE", "GET", "limits", "")
	}
	b.create("Account", `{"Name":"x"}`)
	b.OK(200, "GET", "sobjects/Contact/describe", "") // who reads waits for no lock
	b.refused(400, "UNABLE_TO_LOCK_ROW", "POST", "sobjects/Contact", contact("a@example.nz"))
	b.sim.Disarm()
	b.OK(200, "GET", "limits", "")
	b.create("Contact", contact("a@example.nz"))
}

func TestAHangingCallEndsWithItsClientAndWithTheSimulator(t *testing.T) {
	b := newBench(t)
	b.sim.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultTimeout})
	b.HangsUntilClosed("limits", func() int { return b.sim.Statistics().Faults[salesforcetest.FaultTimeout] }, b.sim.Close)
}
