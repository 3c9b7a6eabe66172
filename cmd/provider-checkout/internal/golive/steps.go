package golive

import (
	"net/http"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Step is something that an integration must have done once before production.
type Step struct {
	Name  string
	Words string // what is to be done
	Help  string // the page that explains it
	Proof        // zero until it is done
}

// Done reports whether the step was proven.
func (s Step) Done() bool { return !s.At.IsZero() }

// definition is a step with the rule that finds its proof in the history of a checkout.
type definition struct {
	name, anchor, words string
	prove               func(history) (Proof, bool)
}

// definitions returns every step, in the order in which most integrations come to them.
func definitions() []definition {
	return []definition{
		{"create", "createCheckout", "Create a checkout.", history.created},
		{"replay", "retries-times-and-limits", "Send a create again, as after an answer that was lost: the same order and the same body. " +
			"The answer is 200 with idempotent_replay.", history.replayed},
		{"conflict", "error-IDEMPOTENCY_CONFLICT", "Send a create of an order with another plan or price once, and after the 409 go on with " +
			"the first one, or with another order: the same wrong create must not come again.", history.conflictHandled},
		{"early_confirm", "error-DIRECT_DEBIT_SETUP_INCOMPLETE", "Confirm a checkout before the payer is done. The answer is 409.", history.confirmedEarly},
		{"setup", "the-payers-browser", "Have a payer set up the direct debit.", history.setUp},
		{"poll", "getCheckout", "Poll a checkout at least twice until the setup is complete, and never sooner than next_poll_after says. " +
			"In a test, have the scenario setup_succeeds happen after the first poll.", history.polled},
		{"confirm", "confirmCheckout", "Confirm a checkout whose setup is complete.", history.confirmed},
		{"repeated_confirm", "confirmCheckout-response", "Send a confirm again. The answer is 200 with already_confirmed.", history.confirmedAgain},
		{"event", "checking-a-signature", "Take an event: check its signature and answer 2xx.", history.eventTaken},
		{"event_twice", "events", "Take the same event twice, and answer 2xx both times: have it sent again, or use the scenario event_twice.",
			history.eventTakenTwice},
		{"cancel", "cancelCheckout", "Have a checkout cancelled, and learn it from the answer of your cancel or of a poll. No more than one call may be " +
			"refused for it.", history.cancelled},
	}
}

// history is the record of one checkout, each list in its order.
type history struct {
	calls   []call            // of the last day
	moments []checkout.Moment // of all time
	times   map[string]int    // by event id: how often the receiver got an event in one delivery, where a scenario says so
	opened  int               // the number of further checkouts that the provider created after the latest conflict about this one
}

const (
	createRoute  = "/v1/provider-checkouts"
	oneRoute     = createRoute + "/{checkoutId}"
	confirmRoute = oneRoute + "/confirm"
	cancelRoute  = oneRoute + "/cancel"
)

func (c call) is(method, route string) bool { return c.Method == method && c.Route == route }

// taken reports whether the call was answered, and not refused.
func (c call) taken() bool { return c.Status/100 == 2 }

func (c call) conflicts() bool {
	return c.is(http.MethodPost, createRoute) && c.Code == string(checkout.CodeIntentConflict)
}

func (c call) proof() (Proof, bool) { return Proof{c.At, c.RequestID}, true }

// find returns the first call that a condition admits.
func (h history) find(admits func(call) bool) (Proof, bool) {
	if i := slices.IndexFunc(h.calls, admits); i >= 0 {
		return h.calls[i].proof()
	}
	return Proof{}, false
}

// moment returns the first moment of a kind.
func (h history) moment(kind checkout.MomentKind) (Proof, bool) {
	for _, m := range h.moments {
		if m.Kind == kind {
			return Proof{m.At, m.RequestID}, true
		}
	}
	return Proof{}, false
}

func (h history) created() (Proof, bool) { return h.moment(checkout.MomentCreated) }

// replayed finds a create that was answered and is not the first one, whose answer may have been lost.
func (h history) replayed() (Proof, bool) {
	first, ok := h.created()
	if !ok {
		return Proof{}, false
	}
	return h.find(func(c call) bool {
		return c.is(http.MethodPost, createRoute) && c.taken() && c.RequestID != first.RequestID
	})
}

// conflictHandled finds the only conflict about the checkout, after which the provider went on.
func (h history) conflictHandled() (Proof, bool) {
	at := slices.IndexFunc(h.calls, call.conflicts)
	if at < 0 {
		return Proof{}, false
	}
	after := h.calls[at+1:]
	if slices.ContainsFunc(after, call.conflicts) || h.opened == 0 && !slices.ContainsFunc(after, call.taken) {
		return Proof{}, false
	}
	return h.calls[at].proof()
}

func (h history) confirmedEarly() (Proof, bool) {
	return h.find(func(c call) bool {
		return c.is(http.MethodPost, confirmRoute) && c.Code == string(checkout.CodeSetupIncomplete)
	})
}

func (h history) setUp() (Proof, bool) { return h.moment(checkout.MomentSetupDone) }

// polled finds the poll that showed that there is nothing to wait for, if no poll came too soon. The rate is kept
// within a tenth: requests take a different time on their way.
func (h history) polled() (proof Proof, ok bool) {
	var last call
	waited := false
	for _, c := range h.calls {
		if !c.is(http.MethodGet, oneRoute) || !c.taken() {
			continue
		}
		if last.NextPoll > 0 {
			if c.At.Sub(last.At) < last.NextPoll*9/10 {
				return Proof{}, false
			}
			waited = true
		}
		if c.NextPoll == 0 && waited && !ok {
			proof, ok = c.proof()
		}
		last = c
	}
	return proof, ok
}

func (h history) confirmed() (Proof, bool) { return h.moment(checkout.MomentConfirmed) }

func (h history) confirmedAgain() (Proof, bool) {
	first, ok := h.confirmed()
	if !ok {
		return Proof{}, false
	}
	return h.find(func(c call) bool {
		return c.is(http.MethodPost, confirmRoute) && c.taken() && c.RequestID != first.RequestID
	})
}

// deliveredBy returns the id of the event that a moment says was delivered.
func deliveredBy(m checkout.Moment) (id string, ok bool) {
	_, rest, _ := strings.Cut(m.Detail, " ")
	id, _, _ = strings.Cut(rest, " ")
	return id, m.Kind == checkout.MomentEventDelivered
}

// taken finds the delivery by which the receiver had taken an event so many times.
func (h history) taken(times int) (Proof, bool) {
	had, seen := map[string]int{}, map[string]bool{}
	for _, m := range h.moments {
		id, ok := deliveredBy(m)
		if !ok {
			continue
		}
		n, changed := h.times[id]
		if !changed || seen[id] {
			n = 1
		}
		seen[id] = true
		if had[id] += n; had[id] >= times {
			return Proof{m.At, m.RequestID}, true
		}
	}
	return Proof{}, false
}

func (h history) eventTaken() (Proof, bool) { return h.taken(1) }

func (h history) eventTakenTwice() (Proof, bool) { return h.taken(2) }

// cancelled finds the call by which the provider learned that the checkout is cancelled: its own cancel, a poll, or one call that was
// refused.
func (h history) cancelled() (Proof, bool) {
	end, ok := h.moment(checkout.MomentCancelled)
	refused := 0
	learned := func(c call) bool {
		return c.is(http.MethodPost, cancelRoute) && c.taken() || c.Code == string(checkout.CodeCancelled) ||
			c.is(http.MethodGet, oneRoute) && c.taken() && c.At.After(end.At)
	}
	for _, c := range h.calls {
		if c.Code == string(checkout.CodeCancelled) {
			refused++
		}
	}
	if !ok || refused > 1 {
		return Proof{}, false
	}
	return h.find(learned)
}
