package golive

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
)

// Step is something that an integration must have done once before production.
type Step struct {
	Name  string
	Words string // what is to be done
	Near  string // what the newest attempt that came near lacked, of a step that is not done
	Help  string // the page that explains it
	Proof        // zero until it is done
}

// Done reports whether the step was proven.
func (s Step) Done() bool { return !s.At.IsZero() }

// Todo returns what is to be done, and what an attempt lacked.
func (s Step) Todo() string {
	if s.Near == "" {
		return s.Words
	}
	return s.Words + " It did not count: " + s.Near + "."
}

// definition is a step with the rule that finds its proof in the history of a checkout, or else says what an attempt lacked.
type definition struct {
	name, anchor, words string
	prove               func(history) (proof Proof, near string)
}

// definitions returns every step, in the order in which most integrations come to them.
func definitions() []definition {
	return []definition{
		{"create", "createCheckout", "Create a checkout.", at(checkout.MomentCreated)},
		{"replay", "retries-times-and-limits", "Send a create again, as after an answer that was lost: the same order and the same body. " +
			"The answer is 200 with idempotent_replay.", again(createRoute, checkout.MomentCreated)},
		{"conflict", "error-IDEMPOTENCY_CONFLICT", "Send a create of an order with another plan or price once, and after the 409 go on with " +
			"the first one, or with another order: the same wrong create must not come again.", history.conflictHandled},
		{"early_confirm", "error-DIRECT_DEBIT_SETUP_INCOMPLETE", "Confirm a checkout before the payer is done. The answer is 409.", history.confirmedEarly},
		{"setup", "the-payers-browser", "Have a payer set up the direct debit.", at(checkout.MomentSetupDone)},
		{"poll", "getCheckout", "Poll a checkout at least twice until the setup is complete, and never sooner than next_poll_after says. " +
			"In a test, have the scenario setup_succeeds happen after the first poll.", history.polled},
		{"confirm", "confirmCheckout", "Confirm a checkout whose setup is complete.", at(checkout.MomentConfirmed)},
		{"repeated_confirm", "confirmCheckout-response", "Send a confirm again. The answer is 200 with already_confirmed.", again(confirmRoute, checkout.MomentConfirmed)},
		{"event", "events", "Take an event, and answer 2xx.", taken(1)},
		{"event_forged", "checking-a-signature", "Check signatures: refuse a copy of an event whose signature is wrong, and take the right one " +
			"that comes behind it. The scenario event_forged sends both.", history.refusedForged},
		{"event_twice", "events", "Take the same event twice, and answer 2xx both times: have it sent again, or use the scenario event_twice.",
			taken(2)},
		{"cancel", "cancelCheckout", "Have a checkout cancelled, and learn it from the answer of your cancel or of a poll. No more than one call may be " +
			"refused for it.", history.cancelled},
	}
}

// history is the record of one checkout, each list in its order.
type history struct {
	checkout string              // its id
	calls    []call              // of the last day
	moments  []checkout.Moment   // of all time
	answers  map[string][]string // by event id: the answers of the receivers that took the event
	opened   int                 // the number of further checkouts that the provider created after the latest conflict about this one
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

func (c call) creates() bool {
	return c.is(http.MethodPost, createRoute) && c.Status == http.StatusCreated
}

func (c call) conflicts() bool {
	return c.is(http.MethodPost, createRoute) && c.Code == string(checkout.CodeIntentConflict)
}

func (c call) proof() Proof { return Proof{c.At, c.RequestID} }

// outcome says how the call ended.
func (c call) outcome() string {
	if c.Status == 0 {
		return c.RequestID + " got no answer"
	}
	return strings.TrimSpace(fmt.Sprintf("%s was answered %d %s", c.RequestID, c.Status, c.Code))
}

// moment returns the first moment of a kind.
func (h history) moment(kind checkout.MomentKind) Proof {
	for _, m := range h.moments {
		if m.Kind == kind {
			return Proof{m.At, m.RequestID}
		}
	}
	return Proof{}
}

// at is the rule of a step that the first moment of a kind proves.
func at(kind checkout.MomentKind) func(history) (Proof, string) {
	return func(h history) (Proof, string) { return h.moment(kind), "" }
}

// post finds the first of some calls to a route that has the answer that it must have.
func post(calls []call, route string, admits func(call) bool) (proof Proof, near string) {
	for _, c := range calls {
		switch {
		case !c.is(http.MethodPost, route):
		case admits(c):
			return c.proof(), ""
		case !c.taken():
			near = c.outcome()
		}
	}
	return Proof{}, near
}

// again is the rule of a step that is to send a call a second time: the answer to the first call, which led to a moment, may have
// been lost.
func again(route string, kind checkout.MomentKind) func(history) (Proof, string) {
	return func(h history) (Proof, string) {
		first := h.moment(kind)
		if first.At.IsZero() {
			return first, ""
		}
		at := slices.IndexFunc(h.calls, func(c call) bool { return c.RequestID == first.RequestID }) // -1: it was a day ago
		return post(h.calls[at+1:], route, call.taken)
	}
}

// conflictHandled finds the only conflict about the checkout, after which the provider went on.
func (h history) conflictHandled() (proof Proof, near string) {
	at := slices.IndexFunc(h.calls, call.conflicts)
	if at < 0 {
		return Proof{}, ""
	}
	after := h.calls[at+1:]
	if i := slices.IndexFunc(after, call.conflicts); i >= 0 {
		return Proof{}, after[i].outcome() + " again"
	}
	if h.opened == 0 && !slices.ContainsFunc(after, call.taken) {
		return Proof{}, h.calls[at].outcome() + ", and nothing came after it"
	}
	return h.calls[at].proof(), ""
}

// confirmedEarly finds the confirm that was refused before the payer was done: in the order of the journal, for times are of a clock that
// may have been moved.
func (h history) confirmedEarly() (proof Proof, near string) {
	const refused = string(checkout.CodeSetupIncomplete)
	done := slices.IndexFunc(h.moments, func(m checkout.Moment) bool { return m.Kind == checkout.MomentSetupDone })
	proof, near = post(h.calls, confirmRoute, func(c call) bool {
		early := func(m checkout.Moment) bool { return m.RequestID == c.RequestID }
		return c.Code == refused && (done < 0 || slices.ContainsFunc(h.moments[:done], early))
	})
	if strings.HasSuffix(near, refused) {
		near += " after the payer was done"
	}
	return proof, near
}

// polled finds the poll that showed a complete setup, with nothing to wait for, if no poll came too soon. The rate is kept
// within a tenth: requests take a different time on their way. No poll is too soon that shows it, for the payer may have come back, nor
// the first poll after another create, whose answer has a wait of its own.
func (h history) polled() (proof Proof, near string) {
	var last call
	var due time.Time // of the next poll
	waited := false
	for _, c := range h.calls {
		switch {
		case c.is(http.MethodPost, createRoute) && c.taken():
			due = time.Time{}
			continue
		case !c.is(http.MethodGet, oneRoute) || !c.taken():
			continue
		case c.NextPoll > 0 && c.At.Before(due):
			return Proof{}, fmt.Sprintf("%s came %v after a poll that asked for %v", c.RequestID, c.At.Sub(last.At).Round(time.Millisecond),
				last.NextPoll)
		case c.NextPoll == 0 && c.Complete && waited && proof.At.IsZero():
			proof = c.proof()
		}
		last, due, waited = c, c.At.Add(c.NextPoll*9/10), waited || c.NextPoll > 0
	}
	switch {
	case last.NextPoll == 0 && last.Complete:
		near = "the setup was complete before the first poll"
	case last.RequestID != "":
		near = "no poll came after " + last.RequestID + ", when the setup was not complete"
	}
	return proof, near
}

// deliveredBy returns the id of the event that a moment says was delivered.
func deliveredBy(m checkout.Moment) (id string, ok bool) {
	_, rest, _ := strings.Cut(m.Detail, " ")
	id, _, _ = strings.Cut(rest, " ")
	return id, m.Kind == checkout.MomentEventDelivered
}

// taken is the rule of a step that a provider's receiver is to take an event so many times.
func taken(times int) func(history) (Proof, string) {
	return func(h history) (_ Proof, near string) {
		had, seen := map[string]int{}, map[string]int{}
		for _, m := range h.moments {
			id, ok := deliveredBy(m)
			switch {
			case m.Kind == checkout.MomentEventFailed:
				near = m.Detail
			case ok:
				n := 0 // of an answer that is on record no more
				if answers := h.answers[id]; seen[id] < len(answers) {
					n = scenario.Received(answers[seen[id]])
				}
				seen[id]++
				if had[id] += n; had[id] >= times {
					return Proof{m.At, m.RequestID}, ""
				}
				near = fmt.Sprintf("your receiver took %s %d of %d times", id, had[id], times)
			}
		}
		return Proof{}, near
	}
}

// refusedForged finds an event that the provider's receiver took after it had refused a copy with a wrong signature.
func (h history) refusedForged() (_ Proof, near string) {
	for _, m := range h.moments {
		id, delivered := deliveredBy(m)
		switch {
		case m.Kind == checkout.MomentEventFailed:
			near = m.Detail
		case delivered && slices.ContainsFunc(h.answers[id], scenario.RefusedForged):
			return Proof{m.At, m.RequestID}, ""
		}
	}
	return Proof{}, near
}

// cancelled finds the call by which the provider learned that the checkout is cancelled: its own cancel, a poll, or one call that was
// refused.
func (h history) cancelled() (proof Proof, near string) {
	end := h.moment(checkout.MomentCancelled)
	if end.At.IsZero() {
		return end, ""
	}
	refused := 0
	for _, c := range h.calls {
		if c.Code == string(checkout.CodeCancelled) {
			refused++
		}
		learned := c.is(http.MethodPost, cancelRoute) && c.taken() || c.Code == string(checkout.CodeCancelled) ||
			c.is(http.MethodGet, oneRoute) && c.taken() && c.Shown == string(checkout.Cancelled)
		if learned && proof.At.IsZero() {
			proof = c.proof()
		}
	}
	if refused > 1 {
		return Proof{}, fmt.Sprintf("%d calls were refused after the cancel", refused)
	}
	return proof, "no call has learned of the cancel"
}
