package golive

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
)

// began is the time of the first request of every history.
var began = time.Date(2026, time.November, 20, 4, 0, 0, 0, time.UTC)

// past is a history in the making: its requests are a second apart.
type past struct {
	history
	clock time.Duration
}

func (p *past) call(method, route string, status int, code checkout.Code) *past {
	p.clock += time.Second
	p.calls = append(p.calls, call{RequestID: fmt.Sprint("req_", len(p.calls)+1), At: began.Add(p.clock), Method: method, Route: route,
		Status: status, Code: string(code), Checkout: "KOWHAI-1-a"})
	return p
}

func (p *past) create(status int, code checkout.Code) *past {
	return p.call(http.MethodPost, createRoute, status, code)
}

func (p *past) confirm(status int, code checkout.Code) *past {
	return p.call(http.MethodPost, confirmRoute, status, code)
}

// poll is a poll after a time, whose answer asks for another one after a time.
func (p *past) poll(after, next time.Duration) *past {
	p.clock += after - time.Second
	p.call(http.MethodGet, oneRoute, http.StatusOK, "")
	last := &p.calls[len(p.calls)-1]
	last.NextPoll, last.Complete = next, next == 0
	return p
}

// shows has the latest poll say that the checkout has a status, without a complete setup.
func (p *past) shows(s checkout.Status) *past {
	last := &p.calls[len(p.calls)-1]
	last.Shown, last.Complete = string(s), false
	return p
}

// ahead has the latest moment happen by a clock that is ahead.
func (p *past) ahead() *past {
	at := &p.moments[len(p.moments)-1].At
	*at = at.Add(time.Hour)
	return p
}

// moment is something that happened in the latest request.
func (p *past) moment(kind checkout.MomentKind, detail string) *past {
	p.moments = append(p.moments, checkout.Moment{At: began.Add(p.clock), Kind: kind, Detail: detail, RequestID: fmt.Sprint("req_", len(p.calls))})
	return p
}

// answered says which answers to the deliveries of an event are on record.
func (p *past) answered(id string, answers ...string) *past {
	if p.answers == nil {
		p.answers = map[string][]string{}
	}
	p.answers[id] = answers
	return p
}

func (p *past) elsewhere(opened int) *past { p.opened = opened; return p }

func TestEachStepHasItsProof(t *testing.T) {
	opened := func() *past { return new(past).create(201, "").moment(checkout.MomentCreated, "") }
	agreed := func() *past { return opened().confirm(200, "").moment(checkout.MomentConfirmed, "PPA-2026-1") }
	const gap, lost = 2 * time.Second, "a scenario of the sandbox: it was not sent"
	const forged = "a scenario of the sandbox: a copy with a wrong signature was refused before. "
	for _, tt := range []struct {
		step, name string
		p          *past
		want       string // the request of the proof; "" for no proof
	}{
		{"create", "a create", opened(), "req_1"},
		{"create", "a checkout that was opened long ago", new(past).moment(checkout.MomentCreated, "").poll(gap, 0), "req_0"},
		{"create", "a create that was refused", new(past).create(400, checkout.CodeValidation), ""},

		{"replay", "a create without a repeat", opened(), ""},
		{"replay", "a repeat", opened().create(200, ""), "req_2"},
		{"replay", "a create whose answer was lost", new(past).create(0, "").moment(checkout.MomentCreated, ""), ""},
		{"replay", "a repeat after an answer that was lost", new(past).create(0, "").moment(checkout.MomentCreated, "").create(200, ""), "req_2"},
		{"replay", "a repeat whose answer was lost", opened().create(0, ""), ""},
		{"replay", "a repeat that was refused", opened().create(409, checkout.CodeIntentConflict), ""},

		{"conflict", "a conflict, and no more", opened().create(409, checkout.CodeIntentConflict), ""},
		{"conflict", "the first intent again", opened().create(409, checkout.CodeIntentConflict).create(200, ""), "req_2"},
		{"conflict", "a poll", opened().create(409, checkout.CodeIntentConflict).poll(gap, gap), "req_2"},
		{"conflict", "another order", opened().create(409, checkout.CodeIntentConflict).elsewhere(1), "req_2"},
		{"conflict", "the same wrong call", opened().create(409, checkout.CodeIntentConflict).create(409, checkout.CodeIntentConflict).create(200, ""), ""},
		{"conflict", "the same wrong call later", opened().create(409, checkout.CodeIntentConflict).create(200, "").create(409, checkout.CodeIntentConflict), ""},
		{"conflict", "other refusals", opened().create(409, checkout.CodeIntentConflict).create(503, checkout.CodeBusy), ""},
		{"conflict", "a confirm's conflict", opened().confirm(409, checkout.CodeConflict).create(200, ""), ""},

		{"early_confirm", "before the setup", opened().confirm(409, checkout.CodeSetupIncomplete), "req_2"},
		{"early_confirm", "before the setup, which is done now", opened().confirm(409, checkout.CodeSetupIncomplete).
			moment(checkout.MomentRefused, "").moment(checkout.MomentSetupDone, ""), "req_2"},
		{"early_confirm", "after the setup, for the payer has suspended the mandate", opened().moment(checkout.MomentSetupDone, "").ahead().
			confirm(409, checkout.CodeSetupIncomplete).moment(checkout.MomentRefused, ""), ""},
		{"early_confirm", "with other identifiers", opened().confirm(409, checkout.CodeConflict), ""},

		{"setup", "a payer who is done", opened().poll(gap, 0).moment(checkout.MomentSetupDone, ""), "req_2"},
		{"setup", "a payer who is away", opened().poll(gap, gap), ""},

		{"poll", "three polls", opened().poll(gap, gap).poll(gap, gap).poll(gap, 0), "req_4"},
		{"poll", "a poll that is a little early", opened().poll(gap, gap).poll(gap-50*time.Millisecond, 0), "req_3"},
		{"poll", "a poll that is too early", opened().poll(gap, gap).poll(gap, gap).poll(gap/2, gap).poll(gap, 0), ""},
		{"poll", "a poll that is too early for a payer who is long away", opened().poll(gap, time.Minute).poll(gap, time.Minute).poll(gap, 0), ""},
		{"poll", "an early poll for a payer who has come back, done", opened().poll(gap, time.Minute).poll(gap, 0), "req_3"},
		{"poll", "polls after a create that renewed the link", opened().poll(gap, time.Minute).create(200, "").poll(gap, gap).poll(gap, 0), "req_5"},
		{"poll", "a checkout that ends before its setup", opened().poll(gap, gap).poll(gap, 0).shows(checkout.Cancelled), ""},
		{"poll", "one poll", opened().poll(gap, 0), ""},
		{"poll", "no end", opened().poll(gap, gap).poll(gap, gap), ""},
		{"poll", "looks after the end", opened().poll(gap, gap).poll(gap, 0).poll(0, 0), "req_3"},

		{"confirm", "a confirm", agreed(), "req_2"},
		{"confirm", "an early one", opened().confirm(409, checkout.CodeSetupIncomplete), ""},
		{"repeated_confirm", "one confirm", agreed(), ""},
		{"repeated_confirm", "two", agreed().confirm(200, ""), "req_3"},

		{"event", "a delivery", opened().moment(checkout.MomentEventDelivered, "checkout.created evt_1").answered("evt_1", "OK"), "req_1"},
		{"event", "a delivery whose answer is on record no more", opened().moment(checkout.MomentEventDelivered, "checkout.created evt_1"), ""},
		{"event", "a failure", opened().moment(checkout.MomentEventFailed, "checkout.created evt_1: 500"), ""},
		{"event_forged", "a delivery", opened().moment(checkout.MomentEventDelivered, "checkout.created evt_1").answered("evt_1", "OK"), ""},
		{"event_forged", "a copy that was refused", opened().moment(checkout.MomentEventDelivered, "checkout.created evt_1").
			answered("evt_1", forged+"OK"), "req_1"},
		{"event_forged", "a copy that our own receiver refused", opened().moment(checkout.MomentEventDelivered, "checkout.created evt_1").
			answered("evt_1", forged+scenario.OwnAnswer), ""},
		{"event_forged", "a copy that was refused, as the event was", opened().moment(checkout.MomentEventFailed, "checkout.created evt_1: 500").
			answered("evt_1", forged+"OK"), ""},
		{"event_twice", "two events", opened().moment(checkout.MomentEventDelivered, "checkout.created evt_1").
			moment(checkout.MomentEventDelivered, "checkout.confirmed evt_2").answered("evt_1", "OK").answered("evt_2", "OK"), ""},
		{"event_twice", "one event twice", opened().moment(checkout.MomentEventDelivered, "checkout.created evt_1 (the caller's request a)").
			moment(checkout.MomentEventDelivered, "checkout.confirmed evt_2").create(200, "").
			moment(checkout.MomentEventDelivered, "checkout.created evt_1").answered("evt_1", "OK", "OK").answered("evt_2", "OK"), "req_2"},

		{"event", "one that a scenario lost", opened().moment(checkout.MomentEventDelivered, "checkout.created evt_1").answered("evt_1", lost), ""},
		{"event", "one that was lost, and sent again", opened().moment(checkout.MomentEventDelivered, "checkout.created evt_1").
			answered("evt_1", lost, "OK").create(200, "").moment(checkout.MomentEventDelivered, "checkout.created evt_1"), "req_2"},
		{"event_twice", "one that was lost, and sent again", opened().moment(checkout.MomentEventDelivered, "checkout.created evt_1").
			answered("evt_1", lost, "OK").moment(checkout.MomentEventDelivered, "checkout.created evt_1"), ""},
		{"event_twice", "one of whose answers the first alone is on record", opened().
			moment(checkout.MomentEventDelivered, "checkout.created evt_1").answered("evt_1", "OK").moment(checkout.MomentEventDelivered, "checkout.created evt_1"), ""},
		{"event_twice", "one that a scenario sent twice", opened().moment(checkout.MomentEventDelivered, "checkout.created evt_1").answered("evt_1", "a scenario of the sandbox: it was sent twice. OK"), "req_1"},

		{"cancel", "its own", opened().call("POST", cancelRoute, 200, "").moment(checkout.MomentCancelled, ""), "req_2"},
		{"cancel", "the operator's, and a poll before", opened().poll(gap, gap).moment(checkout.MomentCancelled, ""), ""},
		{"cancel", "the operator's, and a poll after", opened().moment(checkout.MomentCancelled, "").poll(gap, 0).
			shows(checkout.Cancelled), "req_2"},
		{"cancel", "the operator's by a clock that is ahead, and a poll after", opened().moment(checkout.MomentCancelled, "").ahead().
			poll(gap, 0).shows(checkout.Cancelled), "req_2"},
		{"cancel", "the operator's, and a confirm", opened().moment(checkout.MomentCancelled, "").confirm(409, checkout.CodeCancelled), "req_2"},
		{"cancel", "the operator's, and confirms without end", opened().moment(checkout.MomentCancelled, "").
			confirm(409, checkout.CodeCancelled).confirm(409, checkout.CodeCancelled).poll(gap, 0).shows(checkout.Cancelled), ""},
		{"cancel", "a cancel that was refused", agreed().call("POST", cancelRoute, 409, checkout.CodeConflict), ""},
	} {
		got, _ := provenBy(tt.step, tt.p)
		if got.RequestID != tt.want || got.At.IsZero() != (tt.want == "") {
			t.Errorf("%s after %s: proven by %q at %s; want %q", tt.step, tt.name, got.RequestID, got.At, tt.want)
		}
	}
}

// provenBy returns the proof of a step, or what an attempt lacked.
func provenBy(step string, p *past) (Proof, string) {
	all := definitions()
	return all[slices.IndexFunc(all, func(d definition) bool { return d.name == step })].prove(p.history)
}

func TestAStepSaysWhatAnAttemptLacked(t *testing.T) {
	opened := func() *past { return new(past).create(201, "").moment(checkout.MomentCreated, "") }
	const gap, conflict = 2 * time.Second, checkout.CodeIntentConflict
	for _, tt := range []struct {
		step string
		p    *past
		want string
	}{
		{"replay", opened(), ""},
		{"replay", opened().create(409, conflict), "req_2 was answered 409 IDEMPOTENCY_CONFLICT"},
		{"replay", opened().create(0, ""), "req_2 got no answer"},
		{"conflict", opened().create(409, conflict), "req_2 was answered 409 IDEMPOTENCY_CONFLICT, and nothing came after it"},
		{"conflict", opened().create(409, conflict).create(409, conflict), "req_3 was answered 409 IDEMPOTENCY_CONFLICT again"},
		{"early_confirm", opened().confirm(409, checkout.CodeConflict), "req_2 was answered 409 CONFLICT"},
		{"early_confirm", opened().moment(checkout.MomentSetupDone, "").confirm(409, checkout.CodeSetupIncomplete),
			"req_2 was answered 409 DIRECT_DEBIT_SETUP_INCOMPLETE after the payer was done"},
		{"poll", opened().poll(gap, gap).poll(gap/2, gap), "req_3 came 1s after a poll that asked for 2s"},
		{"poll", opened().poll(gap, gap), "no poll came after req_2, when the setup was not complete"},
		{"poll", opened().poll(gap, gap).poll(gap, 0).shows(checkout.Cancelled), "no poll came after req_3, when the setup was not complete"},
		{"poll", opened().poll(gap, 0), "the setup was complete before the first poll"},
		{"repeated_confirm", opened().confirm(409, checkout.CodeSetupIncomplete).confirm(200, "").moment(checkout.MomentConfirmed, ""), ""},
		{"event", opened().moment(checkout.MomentEventFailed, "checkout.created evt_1: 500"), "checkout.created evt_1: 500"},
		{"event_forged", opened().moment(checkout.MomentEventFailed, "checkout.created evt_1: a copy"), "checkout.created evt_1: a copy"},
		{"event_forged", opened().moment(checkout.MomentEventDelivered, "checkout.created evt_1"), ""},
		{"event_twice", opened().moment(checkout.MomentEventDelivered, "checkout.created evt_1").answered("evt_1", "OK"),
			"your receiver took evt_1 1 of 2 times"},
		{"cancel", opened().moment(checkout.MomentCancelled, ""), "no call has learned of the cancel"},
	} {
		if _, got := provenBy(tt.step, tt.p); got != tt.want {
			t.Errorf("%s after %+v lacks %q, want %q", tt.step, tt.p.calls, got, tt.want)
		}
	}
}
