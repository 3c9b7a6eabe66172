package rehearsal

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// The times of a trial.
const (
	patience = 5 * time.Minute        // for the next call of an integration, which may poll every few minutes
	settle   = 10 * time.Second       // after the end of an enrolment, in which nothing wrong may follow
	grace    = 200 * time.Millisecond // by which a call may be too early
)

// state is the state of a situation.
type state string

const (
	waiting state = "waiting" // for a checkout
	running state = "running"
	passed  state = "passed"
	failed  state = "failed"
	skipped state = "skipped" // there is no receiver
)

// trial is a checkout in its situation, with what its integration has done. Its methods are called under the rehearsal's lock.
type trial struct {
	situation
	Outcome
	base  string // of the pages in faults
	other string // an order id with the same intent, which came while an answer to the create was missing

	calls     map[kind]*calls
	pollDue   time.Time
	pollAfter int
	complete  bool // a poll has said that the setup is complete, the latest one
	ended     int  // polls that have said that the checkout is cancelled, or came after that
	again     bool // the confirm was answered already_confirmed after its first answer was lost

	sent      map[events.Name]bool // the names of the events that were sent
	held      []heldEvent
	releasing bool
	sending   int         // events, beside the calls
	twice     events.Name // the event that came a second time

	began, heard, reached time.Time // the first call, the last call, and the goal
	request               string    // X-Request-Id of the last answer
}

// calls are the calls of one kind of a trial.
type calls struct {
	last      request
	count     int
	open      int       // not answered yet
	unheard   string    // why the last call has no good answer, which has it sent again; "" where it has one, or was refused
	refusal   string    // the status and code that the last call was refused with, for good
	answered  bool      // 2xx, and the answer was not lost
	notBefore time.Time // by Retry-After
}

func newTrial(s situation, base, order string) *trial {
	return &trial{situation: s, Outcome: Outcome{Situation: s.name, About: s.about, State: running, Order: order}, base: base,
		sent: map[events.Name]bool{}, calls: map[kind]*calls{create: {}, poll: {}, confirm: {}}}
}

// fault notes a fault by a rule; args are of its format. A fault by a rule that was broken before is counted.
func (t *trial) fault(r rule, args ...any) {
	i := slices.IndexFunc(t.Faults, func(f Fault) bool { return f.Rule == r.name })
	switch {
	case t.State != running:
		return
	case i >= 0:
		t.Faults[i].Times++
		return
	}
	t.Faults = append(t.Faults, Fault{r.name, fmt.Sprintf(r.wrong, args...), r.says, t.base + "/docs#" + r.anchor, t.request, 1})
}

// arrives notes a call before it is done, and what is wrong with it. It returns the number of calls of its kind.
func (t *trial) arrives(q request) (count int) {
	c := t.calls[q.kind]
	if t.heard = q.at; t.began.IsZero() {
		t.began = q.at
	}
	t.checkRetry(q, c)
	if q.kind != poll {
		t.checkPost(q, c)
	}
	switch q.kind {
	case create:
		if c.count == 0 || !reflect.DeepEqual(c.last.json, q.json) { // a retry has the same again
			t.checkAmounts(q)
		}
	case poll:
		if t.pollDue.Sub(q.at) > grace {
			after := time.Duration(t.pollAfter)*time.Second - t.pollDue.Sub(q.at)
			t.fault(pollsTooFast, after.Round(time.Millisecond), t.pollAfter)
		}
		if t.ended > 0 {
			if t.ended++; t.ended > 3 {
				t.fault(pollsOn)
			}
		}
	case confirm:
		switch {
		case t.ended > 0:
			t.fault(confirmsCancelled)
		case !t.complete && !c.answered:
			t.fault(confirmsEarly)
		}
	}
	switch {
	case t.name != keyRotated || q.next:
	case t.Checkout == "":
		t.fault(createdFormer)
	default:
		t.fault(formerKey, q.kind)
	}
	c.last = q
	c.count++
	c.open++
	return c.count
}

// checkRetry checks a call that may be a retry.
func (t *trial) checkRetry(q request, c *calls) {
	switch {
	case c.notBefore.Sub(q.at) > grace:
		t.fault(ignoresRetryAfter, q.kind, c.notBefore.Sub(q.at).Round(time.Millisecond))
	case c.refusal != "" && reflect.DeepEqual(c.last.json, q.json):
		t.fault(retriesRefusal, q.kind, c.refusal)
	case c.open > 0 && t.by == slow && t.disturbs == q.kind:
		t.fault(shortTimeout, q.kind, q.at.Sub(c.last.at).Round(time.Millisecond))
	}
	c.notBefore = time.Time{}
	if c.unheard == "" {
		return
	}
	if !reflect.DeepEqual(c.last.json, q.json) {
		t.fault(changedRetry, q.kind)
	}
	if before, now := c.last.header.Get("Idempotency-Key"), q.header.Get("Idempotency-Key"); before != now {
		t.fault(otherKey, now, before)
	}
}

// checkPost checks what all calls that change something have in common.
func (t *trial) checkPost(q request, c *calls) {
	contentType := q.header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(contentType); (err != nil || media != "application/json") && len(q.body) > 0 {
		t.fault(wrongContentType, q.kind, contentType)
	}
	if t.again {
		t.fault(repeatIsError, q.kind)
	}
	if t.twice != "" && c.answered {
		t.fault(actsTwice, t.twice, q.kind)
	}
}

// checkAmounts checks how the amounts of a create are written.
func (t *trial) checkAmounts(q request) {
	for _, field := range []string{"pricing.course_price", "pricing.amount_to_finance", "pricing.upfront_payment",
		"plan.instalment_amount", "plan.final_instalment_amount"} {
		switch value := q.json.At(field).(type) {
		case string:
			t.fault(amountAsText, field)
		case fmt.Stringer: // json.Number
			if _, err := money.Parse(value.String()); errors.Is(err, money.ErrFraction) {
				t.fault(amountNotCents, field)
			}
		}
	}
}

// leaves notes the answer to a call, and why the integration did not get it, "" if it did.
func (t *trial) leaves(now time.Time, q request, a *answer, unheard string) {
	c := t.calls[q.kind]
	c.open--
	c.unheard, c.refusal = unheard, ""
	json, _ := apiclient.ParseObject(a.body.Bytes())
	if id := json.Text("checkout.checkout_id"); id != "" && q.kind == create {
		t.Checkout = id
	}
	if unheard != "" {
		t.pollDue = time.Time{}
		return
	}
	t.request = a.Header().Get("X-Request-Id")
	switch {
	case a.status < http.StatusMultipleChoices:
		t.done(now, q, c, json)
	case a.status == http.StatusTooManyRequests || a.status >= http.StatusInternalServerError:
		c.unheard = fmt.Sprint("a ", a.status)
	default:
		t.refused(now, q, c, a.status, json)
	}
}

// done notes a good answer.
func (t *trial) done(now time.Time, q request, c *calls, json apiclient.Object) {
	switch c.answered = true; q.kind {
	case poll:
		t.complete = json.At("direct_debit.setup_complete") == true
		t.pollAfter, _ = strconv.Atoi(fmt.Sprint(json.At("direct_debit.next_poll_after"))) // 0 without one
		t.pollDue = now.Add(time.Duration(t.pollAfter) * time.Second)
		switch status := json.Text("checkout.status"); {
		case status == "cancelled" && t.ended == 0:
			t.ended++
			t.reaches(now, t.ends)
		case status == "confirmed":
			t.reaches(now, !t.ends) // as a repeated confirm would have said
		}
	case confirm:
		t.again = json.At("already_confirmed") == true && t.by == lost
		t.reaches(now, !t.ends)
	}
}

// refused notes a refusal that the same request would have again.
func (t *trial) refused(now time.Time, q request, c *calls, status int, json apiclient.Object) {
	code := json.Text("error.code")
	c.refusal = fmt.Sprint(status, " ", code)
	switch {
	case q.kind == create && code == "IDEMPOTENCY_CONFLICT" && t.by == taken:
		t.reaches(now, true)
	case code == "DIRECT_DEBIT_SETUP_INCOMPLETE":
		c.refusal = "" // the same is right later
	case len(t.Faults) == 0: // else it is a consequence
		t.fault(isRefused, q.kind, c.refusal, json.Text("error.message"))
	}
}

// reaches notes the end of the enrolment, if it is the end of the situation.
func (t *trial) reaches(now time.Time, end bool) {
	if end && t.reached.IsZero() {
		t.reached = now
	}
}

// judge ends the trial once it is time to, and reports whether it did.
func (t *trial) judge(now time.Time) bool {
	wait := patience
	for _, c := range t.calls {
		if c.refusal != "" { // it has no reason to go on
			wait = settle
		}
	}
	switch {
	case t.State != running || t.sending > 0:
		return false
	case t.reached.IsZero() && now.Sub(t.heard) >= wait:
		t.missing()
	case t.reached.IsZero() || now.Sub(t.reached) < settle || t.events != usual && len(t.sent) < 3 && now.Sub(t.reached) < patience:
		return false
	}
	t.State, t.Seconds = passed, now.Sub(t.began).Round(time.Millisecond).Seconds()
	if len(t.Faults) > 0 {
		t.State = failed
	}
	return true
}

// missing notes the call that did not come.
func (t *trial) missing() {
	created, polled, confirms := t.calls[create], t.calls[poll], t.calls[confirm]
	switch {
	case !created.answered && t.other != "" && created.count == 1:
		t.fault(newOrder, t.other)
	case !created.answered && created.unheard != "":
		t.fault(givesUp, create, created.unheard)
	case polled.unheard != "":
		t.fault(givesUp, poll, polled.unheard)
	case confirms.unheard != "":
		t.fault(givesUp, confirm, confirms.unheard)
	case created.answered && !t.complete:
		t.fault(stopsPolling, polled.count)
	case created.answered && confirms.count == 0:
		t.fault(neverConfirms)
	}
}
