package golive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// maxWaiting is the most requests of a provider that wait in memory to be stored: further requests of it are not logged.
	maxWaiting = 500
	// gathering is the time in which requests are gathered before they are stored, and storing the longest that this takes.
	gathering = time.Second
	storing   = 10 * time.Second
	// checking is the longest that a check takes.
	checking = 30 * time.Second
	// tidyEvery is the time between two removals of old requests.
	tidyEvery = 10 * time.Minute

	logRoute = "/sandbox/v1/requests"
)

// CheckPath is the path of the check.
const CheckPath = "/sandbox/v1/golive"

// Log keeps the requests that a server has answered. Run stores them, off the path of the requests.
type Log struct {
	store   Store
	baseURL string
	now     func() time.Time
	failed  func(provider string, err error)
	storing chan struct{} // has an element while requests are stored, so that they are in their order
	checks  sync.Map      // of a channel by provider: one check at a time, for it may read many journals

	mu      sync.Mutex
	waiting map[string][]call // by provider
}

// NewLog returns the log of a server with a base URL. failed is called with each failure and its provider, "" for all;
// requests that could not be stored are lost.
func NewLog(store Store, baseURL string, now func() time.Time, failed func(provider string, err error)) *Log {
	return &Log{store: store, baseURL: baseURL, now: now, failed: failed, storing: make(chan struct{}, 1), waiting: map[string][]call{}}
}

// Serve adds the log and the check to the API, whose options have Around, Observe and Calls.
func (l *Log) Serve(o *httpapi.Options) {
	around, observe := o.Around, o.Observe
	o.Around = func(r *http.Request, caller service.Caller, order string, serve func(*http.Request) error) error {
		return around(r, caller, order, func(r *http.Request) error {
			if order == "" || r.UserAgent() != apiclient.Agent {
				return serve(r)
			}
			of := checkout.Checkout{ProviderCode: caller.ProviderCode, OrderID: order}
			return l.marked(r.Context(), of, func() error { return serve(r) })
		})
	}
	o.Observe = func(a httpapi.Answered) { observe(a); l.add(a) }
	o.Calls["GET "+logRoute] = l.admitted(l.requests)
	o.Calls["GET "+CheckPath] = l.admitted(func(r *http.Request, caller service.Caller) (any, error) {
		c, err := l.Check(r.Context(), caller.ProviderCode)
		return c.Answer(), err
	})
}

// admitted returns a call that is refused to a provider that may not call.
func (l *Log) admitted(serve httpapi.Call) httpapi.Call {
	return func(r *http.Request, caller service.Caller) (any, error) {
		p, err := l.store.Provider(r.Context(), caller.ProviderCode)
		known := &p
		if errors.Is(err, ports.ErrNotFound) {
			known, err = nil, nil
		}
		if err = cmp.Or(err, checkout.Admit(caller.ProviderCode, checkout.Optional[string]{}, known, catalogue.Sandbox)); err != nil {
			return nil, err
		}
		return serve(r, caller)
	}
}

// marked has this program create a checkout, which is on record as ours before anybody can know of it. An order that has a checkout
// already is not marked.
func (l *Log) marked(ctx context.Context, of checkout.Checkout, create func() error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute) // longer than a create takes
	defer cancel()
	unknown := func() bool {
		_, err := l.store.FindCheckout(ctx, checkout.Reference{ProviderCode: of.ProviderCode, OrderID: of.OrderID})
		return errors.Is(err, ports.ErrNotFound)
	}
	if !unknown() {
		return create()
	}
	if err := l.store.KeepSandboxRecord(ctx, oursName(of), nil); err != nil {
		return err
	}
	err := create()
	if err != nil && unknown() {
		err = cmp.Or(l.store.DropSandboxRecords(ctx, oursName(of)), err)
	}
	return err
}

// add notes a request of a provider, unless it reads the log itself.
func (l *Log) add(a httpapi.Answered) {
	ours := strings.HasPrefix(a.Route, "/v1/") || strings.HasPrefix(a.Route, "/sandbox/v1/")
	if a.Provider == "" || !ours || a.Route == logRoute || a.Route == CheckPath {
		return
	}
	answered := call{RequestID: a.ID, At: l.now().UTC(), Method: a.Method, Route: a.Route, Path: a.Path, Status: a.Status, Code: a.Code,
		Checkout: a.Checkout, NextPoll: a.NextPoll, Complete: a.Complete, Shown: a.Shown, Ours: a.Agent == apiclient.Agent}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting[a.Provider]) < maxWaiting {
		l.waiting[a.Provider] = append(l.waiting[a.Provider], answered)
	}
}

// Flush stores the requests that wait, also if ctx ends meanwhile. If ctx ends while others are being stored, or before, they are left to
// a later Flush.
func (l *Log) Flush(ctx context.Context) {
	caller := ctx.Done()
	if ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storing)
	defer cancel()
	select {
	case l.storing <- struct{}{}:
		defer func() { <-l.storing }()
	case <-caller:
		return
	case <-ctx.Done():
		return
	}
	l.mu.Lock()
	waiting := l.waiting
	l.waiting = map[string][]call{}
	l.mu.Unlock()
	for provider, requests := range waiting {
		l.keep(ctx, provider, requests)
	}
}

// keep stores requests of a provider, and removes its old ones. Of a provider that was removed, and its requests with it, no more are
// stored: nothing would remove them.
func (l *Log) keep(ctx context.Context, provider string, calls []call) {
	ctx, cancel := context.WithTimeout(ctx, storing)
	defer cancel()
	if _, err := l.store.Provider(ctx, provider); errors.Is(err, ports.ErrNotFound) {
		return
	}
	requests, now := make([][]byte, len(calls)), l.now()
	for i, c := range calls {
		requests[i], _ = json.Marshal(c) // it cannot fail: a call has texts, numbers and a time
	}
	if err := l.store.LogRequests(ctx, provider, now, requests, now.Add(-kept), newest); err != nil {
		l.failed(provider, fmt.Errorf("log %d requests: %w", len(calls), err))
	}
}

// Run stores requests, and removes old requests, until ctx ends.
func (l *Log) Run(ctx context.Context) {
	flush, tidy := time.NewTicker(gathering), time.NewTicker(tidyEvery)
	defer flush.Stop()
	defer tidy.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-flush.C:
			l.Flush(ctx)
		case <-tidy.C:
			l.tidy(ctx)
		}
	}
}

// tidy removes old records of scenarios, records what each provider has proven, and removes its requests of before a day ago.
func (l *Log) tidy(ctx context.Context) {
	providers, err := l.store.Providers(ctx)
	if err != nil {
		l.failed("", err)
	}
	if err := scenario.Tidy(ctx, l.store, l.now()); err != nil {
		l.failed("", err)
	}
	for _, p := range providers {
		if ctx.Err() != nil {
			return
		}
		if _, err := l.Check(ctx, p.Code); err != nil {
			l.failed(p.Code, err)
		}
		l.keep(ctx, p.Code, nil)
	}
}

// requests answers a page of the caller's requests, the oldest first: the page behind a cursor or, without one, the newest.
func (l *Log) requests(r *http.Request, caller service.Caller) (any, error) {
	page, err := httpapi.PageOf(r)
	if err != nil {
		return nil, err
	}
	q, err := page.Query(caller.ProviderCode)
	if err != nil {
		return nil, err
	}
	limit := q.Limit
	if !page.After.Given {
		limit = newest
	}
	l.Flush(r.Context())
	calls, next, err := pageOf(r.Context(), l.store, caller.ProviderCode, since(q.After, l.now()), limit)
	if len(calls) == 0 {
		next = q.After
	}
	w := requestsWire{Success: true, Requests: []requestWire{}, Next: next.String()}
	for _, c := range calls[max(0, len(calls)-q.Limit):] {
		w.Requests = append(w.Requests, c.toWire(l.note(r.Context(), c)))
	}
	return w, err
}

// note says of a create that its order id ends with the name of no scenario, which may be misspelt.
func (l *Log) note(ctx context.Context, c call) string {
	if !c.creates() {
		return ""
	}
	of, err := l.store.Checkout(ctx, c.Checkout)
	if suffix := scenario.Misspelt(of.OrderID); err == nil && suffix != "" {
		return "the order id ends with +" + suffix + ", which is no scenario"
	}
	return ""
}

// Check returns the steps of a provider. Where it takes too long, with the wait for another check of the provider, the error is
// ports.ErrBusy.
func (l *Log) Check(ctx context.Context, provider string) (c Check, err error) {
	ctx, cancel := context.WithTimeout(ctx, checking)
	defer cancel()
	l.Flush(ctx)
	check, _ := l.checks.LoadOrStore(provider, make(chan struct{}, 1))
	select {
	case check.(chan struct{}) <- struct{}{}:
		defer func() { <-check.(chan struct{}) }()
		c, err = Run(ctx, l.store, provider, l.baseURL, l.now())
	case <-ctx.Done():
		err = fmt.Errorf("wait for another check: %w", ctx.Err())
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", ports.ErrBusy, err)
	}
	return c, err
}
