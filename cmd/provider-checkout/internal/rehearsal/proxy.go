package rehearsal

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
)

// handler returns the handler in front of the service. Calls that are no part of an enrolment go through it as they are.
func (r *rehearsal) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", r.service)
	mux.HandleFunc("POST "+apiclient.CheckoutsPath, r.serve(create))
	mux.HandleFunc("GET "+apiclient.CheckoutsPath+"/{id}", r.serve(poll))
	mux.HandleFunc("POST "+apiclient.CheckoutsPath+"/{id}"+apiclient.ConfirmSuffix, r.serve(confirm))
	return mux
}

// serve has the service answer a call, and disturbs it as the situation of its checkout says.
func (r *rehearsal) serve(k kind) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		q, err := read(req, k, time.Now())
		q.next = slices.Contains(r.next, q.header.Get("Authorization"))
		var t *trial
		var count int
		if err == nil {
			t, count = r.arrive(q)
		}
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
	s := r.situationFor(order, q)
	if end := scenario.Misspelt(order); end != "" && !slices.ContainsFunc(r.order, func(s situation) bool { return s.name == end }) {
		r.printf("order %s: it ends with +%s, which is no situation\n", cli.OneLine(order), end)
	}
	for _, former := range r.byOrder {
		another := s.name != former.name && strings.HasSuffix(order, "+"+s.name) // enrolment, perhaps of the same student
		if c := former.calls[create]; c.unheard != "" && former.other == "" && q.intent != "" && c.last.intent == q.intent && !another {
			former.other = order
		}
	}
	t := newTrial(s, r.base, order)
	r.byOrder[order] = t
	if s.name != "" {
		r.trials[s.name] = append(r.trials[s.name], t)
		t.print(r.out)
	}
	return t
}

// disturb has the service answer a call, and returns the answer, and why the integration does not get it, "" if it does.
func (r *rehearsal) disturb(req *http.Request, q request, t *trial, count int) (a *answer, unheard string) {
	by := undisturbed
	if q.kind == t.disturbs && count == 1 {
		by = t.by
	}
	switch {
	case by == refused:
		return r.turnAway(t), ""
	case by == taken: // the order exists already, with another intent
		r.call(req, apiclient.CheckoutsPath, apiclient.With(string(q.body), "plan.first_payment_date", `"2199-12-31"`))
	case q.kind == poll:
		r.play(req, q, t.playBefore(count))
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
		if !cli.Sleep(req.Context(), t.wait) {
			r.mu.Lock()
			defer r.mu.Unlock()
			t.fault(shortTimeout, q.kind, time.Since(q.at).Round(time.Millisecond))
			return a, "its time-out"
		}
	}
	return a, ""
}

// turnAway returns the answer of a service that has no time now.
func (r *rehearsal) turnAway(t *trial) *answer {
	code := map[int]string{http.StatusServiceUnavailable: "INTERNAL_ERROR", http.StatusTooManyRequests: "RATE_LIMITED"}[t.status]
	r.mu.Lock()
	defer r.mu.Unlock()
	id := "req_" + uuid.NewString()
	t.calls[t.disturbs].notBefore = time.Now().Add(t.wait)
	a := &answer{header: http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {id}}, status: t.status}
	a.header.Set("Retry-After", fmt.Sprint(int(t.wait.Seconds())))
	fmt.Fprintf(&a.body, `{"success": false, "request_id": %q, "error": {"code": %q, "details": [], "message": %q}}`, id, code,
		"wait as long as Retry-After says and send the same request again")
	return a
}

// leave notes the answer to a call.
func (r *rehearsal) leave(t *trial, q request, a *answer, unheard string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.leaves(time.Now(), q, a, unheard)
	if t.Checkout != "" {
		r.byID[t.Checkout] = t
	}
	if !t.reached.IsZero() {
		r.release(t)
	}
}

// play has a scenario of the sandbox happen, if any, before a poll: the payer, the bank or the operator does something.
func (r *rehearsal) play(req *http.Request, q request, s scenario.Scenario) {
	if s == "" {
		return
	}
	a := r.call(req, "/sandbox/v1/checkouts/"+q.checkout+"/scenarios", `{"scenario": "`+string(s)+`"}`)
	if a.status != http.StatusOK { // a person may have opened the payer's pages in a browser
		r.printf("checkout %s: %s cannot happen: %s\n", q.checkout, s, a.body.Bytes())
	}
}

// call has the service answer a call of ours, with the provider's key, before a call of the integration.
func (r *rehearsal) call(before *http.Request, path, body string) *answer {
	req := before.Clone(context.WithoutCancel(before.Context()))
	req.Method, req.URL = http.MethodPost, &url.URL{Path: path}
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	req.Header.Set("Content-Type", "application/json")
	return ask(r.service, req)
}
