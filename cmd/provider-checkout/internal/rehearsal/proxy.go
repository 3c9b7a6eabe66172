package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"time"

	"github.com/google/uuid"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
)

// ServeHTTP has the service answer a call, and disturbs it as the situation of its checkout says.
func (r *rehearsal) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	q, err := read(req, time.Now())
	if q.kind == "" || err != nil {
		r.service.ServeHTTP(w, req)
		return
	}
	q.next = r.isNext(q.key)
	t, count := r.arrive(q)
	if t == nil {
		r.service.ServeHTTP(w, req)
		return
	}
	a, unheard := r.disturb(req, q, t, count)
	r.leave(t, q, a, unheard)
	if unheard != "" {
		panic(http.ErrAbortHandler) // closes the connection
	}
	a.send(w)
}

// arrive notes a call in its trial, which a create may begin, and returns the number of calls of its kind. A call of no checkout
// that was created here has no trial.
func (r *rehearsal) arrive(q request) (t *trial, count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t = r.byID[q.checkout]
	if q.kind == create {
		t = r.trialOf(q)
	}
	if t == nil {
		return nil, 0
	}
	return t, t.arrives(q)
}

// trialOf returns the trial of a create, or nil without an order id. The lock is held.
func (r *rehearsal) trialOf(q request) *trial {
	order := q.json.Text("provider.provider_order_id")
	if t := r.byOrder[order]; t != nil || order == "" {
		return t
	}
	for _, trials := range r.trials {
		for _, former := range trials {
			if former.calls[create].unheard != "" && former.other == "" && reflect.DeepEqual(former.intent, intentOf(q.json)) {
				former.other = order
			}
		}
	}
	s := r.situationFor(order, q.key)
	t := newTrial(s, r.base, order)
	r.byOrder[order] = t
	if s.name != "" {
		r.trials[s.name] = append(r.trials[s.name], t)
		t.outcome().print(r.out)
	}
	return t
}

// disturb has the service answer a call, and returns the answer, and why the integration does not get it, "" if it does.
func (r *rehearsal) disturb(req *http.Request, q request, t *trial, count int) (a *answer, unheard string) {
	by := undisturbed
	if q.kind == t.disturbs && count == 1 {
		by = t.by
	}
	switch by {
	case unavailable, limited:
		return r.turnAway(t, by), ""
	case taken:
		r.take(req, q)
	}
	if q.kind == poll {
		r.payerOf(req.Context(), t, count)
	}
	if t.name == keyRotated && !q.next {
		req.Header.Set("Authorization", "Bearer "+keyOf("nobody", "first")) // as good as revoked
	}
	a = ask(r.service, req)
	switch by {
	case lost:
		return a, "its answer was lost"
	case slow:
		r.mu.Lock()
		r.slowUntil = time.Now().Add(t.wait + 2*time.Second)
		r.mu.Unlock()
		if !sleep(req.Context(), t.wait) {
			r.mu.Lock()
			defer r.mu.Unlock()
			t.fault(shortTimeout, q.kind, time.Since(q.at).Round(time.Millisecond))
			return a, "its time-out"
		}
	}
	return a, ""
}

// turnAway returns the answer of a service that has no time now.
func (r *rehearsal) turnAway(t *trial, by disturbance) *answer {
	status, code := http.StatusServiceUnavailable, "INTERNAL_ERROR"
	if by == limited {
		status, code = http.StatusTooManyRequests, "RATE_LIMITED"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := "req_" + uuid.NewString()
	t.calls[t.disturbs].notBefore = time.Now().Add(t.wait)
	a := &answer{header: http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {id}}, status: status}
	a.header.Set("Retry-After", fmt.Sprint(int(t.wait.Seconds())))
	_ = json.NewEncoder(&a.body).Encode(map[string]any{"success": false, "request_id": id, // a buffer takes everything
		"error": map[string]any{"code": code, "message": "wait as long as Retry-After says and send the same request again"}})
	return a
}

// leave notes the answer to a call.
func (r *rehearsal) leave(t *trial, q request, a *answer, unheard string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.leaves(time.Now(), q, a, unheard)
	if t.id != "" {
		r.byID[t.id] = t
	}
	if !t.reached.IsZero() {
		r.release(t)
	}
}

// firstPayment is the date of the first payment in a create.
var firstPayment = regexp.MustCompile(`("first_payment_date"\s*:\s*)"[^"]*"`)

// take has the order of a create exist already, with another intent.
func (r *rehearsal) take(req *http.Request, q request) {
	text := firstPayment.ReplaceAll(q.body, []byte(`$1"2199-12-31"`))
	first := req.Clone(req.Context())
	first.Body, first.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	ask(r.service, first)
}

// payerOf does what the payer, or the operator, does before a poll, counted from 1.
func (r *rehearsal) payerOf(ctx context.Context, t *trial, count int) {
	r.mu.Lock()
	setupURL, id := t.setupURL, t.id
	r.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	payer := apiclient.NewBrowser(r.payer)
	var err error
	switch count {
	case t.setUpAt:
		err = payer.SetUp(ctx, setupURL)
	case t.failsAt:
		payer.Holder = "MANDATE FAILS" // as the fake processor understands it
		err = payer.SetUp(ctx, setupURL)
		r.ahead.Add(int64(mandateFailsAfter))
	case t.cancelAt:
		err = r.operator.Cancel(ctx, id)
	}
	if err != nil { // somebody may have opened the payer's pages in a browser
		r.printf("order %s: the payer or the operator here could not go on: %v\n", t.order, err)
	}
}

// mandateFailsAfter is the time after which the fake processor has such a payer's mandate fail.
const mandateFailsAfter = 61 * time.Second
