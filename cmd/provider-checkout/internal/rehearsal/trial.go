package rehearsal

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/events"
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
	state  state
	base   string // of the pages in faults
	order  string
	id     string // of the checkout; "" before its create
	intent any    // the body of the create without the order id
	other  string // an order id with the same intent, which came while an answer to the create was missing

	calls     map[kind]*calls
	setupURL  string // the newest
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

	heard, reached time.Time // the last call, and the goal
	request        string    // X-Request-Id of the last answer
	faults         []Fault
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

// request is a call of an integration.
type request struct {
	kind           kind
	at             time.Time
	checkout       string // the id in the path
	body           []byte
	json           apiclient.Object
	contentType    string
	idempotencyKey string
	key            string // the whole Authorization header
	next           bool   // it has the next key of a provider
}

func newTrial(s situation, base, order string) *trial {
	t := &trial{situation: s, state: running, base: base, order: order, sent: map[events.Name]bool{}, calls: map[kind]*calls{}}
	for _, k := range []kind{create, poll, confirm} {
		t.calls[k] = &calls{}
	}
	return t
}

// fault notes a fault by the rule with a name; args are of its format. A fault by a rule that was broken before is counted.
func (t *trial) fault(name string, args ...any) {
	i := slices.IndexFunc(t.faults, func(f Fault) bool { return f.Rule == name })
	switch {
	case t.state != running:
		return
	case i >= 0:
		t.faults[i].Times++
		return
	}
	r := rules()[name]
	t.faults = append(t.faults, Fault{name, fmt.Sprintf(r.wrong, args...), r.says, t.base + "/docs#" + r.anchor, t.request, 1})
}

// arrives notes a call before it is done, and what is wrong with it. It returns the number of calls of its kind.
func (t *trial) arrives(q request) (count int) {
	c := t.calls[q.kind]
	t.heard = q.at
	t.checkRetry(q, c)
	if q.kind != poll {
		t.checkPost(q, c)
	}
	switch q.kind {
	case create:
		if c.count == 0 || !reflect.DeepEqual(c.last.json, q.json) { // a retry has the same again
			t.checkAmounts(q)
		}
		if c.count == 0 {
			t.intent = intentOf(q.json)
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
	case t.id == "":
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
	if c.last.idempotencyKey != q.idempotencyKey {
		t.fault(otherKey, q.idempotencyKey, c.last.idempotencyKey)
	}
}

// checkPost checks what all calls that change something have in common.
func (t *trial) checkPost(q request, c *calls) {
	if !isJSON(q.contentType) && len(q.body) > 0 {
		t.fault(wrongContentType, q.kind, q.contentType)
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
			if hasPartsOfCents(value.String()) {
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
		t.id = id
		t.setupURL = json.Text("direct_debit.setup_url")
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
		t.pollAfter = whole(json.At("direct_debit.next_poll_after"))
		t.pollDue = now.Add(time.Duration(t.pollAfter) * time.Second)
		switch status := json.Text("checkout.status"); {
		case status == "cancelled" && t.ended == 0:
			t.ended++
			t.reaches(now, t.cancelAt > 0)
		case status == "confirmed":
			t.reaches(now, t.isConfirmed()) // as a repeated confirm would have said
		}
	case confirm:
		t.again = json.At("already_confirmed") == true && t.by == lost
		t.reaches(now, t.isConfirmed())
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
	case len(t.faults) == 0: // else it is a consequence
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
	case t.state != running || t.sending > 0:
		return false
	case t.reached.IsZero() && now.Sub(t.heard) >= wait:
		t.missing()
	case t.reached.IsZero() || now.Sub(t.reached) < settle || t.events != usual && len(t.sent) < 3 && now.Sub(t.reached) < patience:
		return false
	}
	t.state = passed
	if len(t.faults) > 0 {
		t.state = failed
	}
	return true
}

// outcome returns the outcome so far.
func (t *trial) outcome() Outcome {
	return Outcome{t.name, t.about, t.state, t.order, t.id, slices.Clone(t.faults)}
}

// missing notes the call that did not come.
func (t *trial) missing() {
	created, polled, confirms := t.calls[create], t.calls[poll], t.calls[confirm]
	switch {
	case !created.answered && t.other != "":
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

// intentOf returns the body of a create without its order id.
func intentOf(json apiclient.Object) any { return without(json, "provider", "provider_order_id") }
