// Package golive says of each provider of a sandbox whether its integration is ready for production: which steps it has done, when and
// in which request. It keeps the provider's requests of a day, and takes its proofs from them and from the journals of the checkouts
// that they are about. A step that was proven stays proven.
package golive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Store is the store of a sandbox, with the log of requests. Every store of this module implements it.
type Store interface {
	scenario.Store
	// LogRequests and LoggedRequests keep the requests of providers: storetest.RequestStore has what they promise.
	LogRequests(ctx context.Context, provider string, at time.Time, requests [][]byte, since time.Time, newest int) error
	LoggedRequests(ctx context.Context, provider string, after checkout.Cursor, limit int) ([][]byte, checkout.Cursor, error)
}

const (
	// kept is the time for which requests are kept, and newest the most of a provider that are.
	kept   = 24 * time.Hour
	newest = 10_000
	// maxJournals is the most journals that a check reads.
	maxJournals = 500
)

// Check is the state of a provider's integration at a time.
type Check struct {
	Provider string
	At       time.Time
	Steps    []Step
}

// Ready reports whether every step is done.
func (c Check) Ready() bool {
	return !slices.ContainsFunc(c.Steps, func(s Step) bool { return !s.Done() })
}

// Run checks what is on record about a provider. It records each step that it finds proven. baseURL is that of the service, for the
// pages that explain the steps.
func Run(ctx context.Context, store Store, provider, baseURL string, now time.Time) (Check, error) {
	check := Check{Provider: provider, At: now.UTC()}
	histories := sync.OnceValues(func() ([]history, error) { return read(ctx, store, provider, now) })
	for _, d := range definitions() {
		step := Step{Name: d.name, Words: d.words, Help: baseURL + "/docs#" + d.anchor}
		data, err := store.SandboxRecord(ctx, recordName(provider, d.name))
		switch {
		case errors.Is(err, ports.ErrNotFound):
			err = step.prove(ctx, store, recordName(provider, d.name), d, histories)
		case err == nil:
			err = json.Unmarshal(data, &step.Proof)
		}
		if err != nil {
			return check, fmt.Errorf("check step %s: %w", d.name, err)
		}
		check.Steps = append(check.Steps, step)
	}
	return check, nil
}

// oursName is the name of the record of a checkout that this program created with a provider's key. It is erased with the checkout.
func oursName(c checkout.Checkout) string {
	return fakeprocessor.ScriptPrefix(c.SetupKey(catalogue.Sandbox, 1)) + "ours"
}

// recordName is the name of the record of a step that a provider has done.
func recordName(provider, step string) string { return "golive/" + provider + "/" + step }

// prove looks for the first proof of a step, and records it. Without one the newest attempt that came near says what it lacked.
func (s *Step) prove(ctx context.Context, store Store, record string, d definition, histories func() ([]history, error)) error {
	all, err := histories()
	for _, h := range all {
		proof, near := d.prove(h)
		if proof.At.IsZero() {
			s.Near = cmp.Or(near, s.Near)
			continue
		}
		s.Proof, s.Near = proof, ""
		data, err := json.Marshal(proof)
		return cmp.Or(err, store.KeepSandboxRecord(ctx, record, data))
	}
	return err
}

// read returns the histories of the checkouts that the provider's requests of the last day are about, in the order of their first request
// there; of many the newest.
func read(ctx context.Context, store Store, provider string, now time.Time) (histories []history, err error) {
	calls, _, err := pageOf(ctx, store, provider, since(0, now), newest)
	if err != nil {
		return nil, err
	}
	calls = slices.DeleteFunc(calls, func(c call) bool { return c.Ours })
	// Processes store their requests at different times.
	slices.SortStableFunc(calls, func(a, b call) int { return a.At.Compare(b.At) })
	at := map[string]int{} // by checkout id
	for _, c := range calls {
		if c.Checkout == "" {
			continue
		}
		i, known := at[c.Checkout]
		if !known && c.is(http.MethodPost, createRoute) && !c.conflicts() { // its answer may have been lost
			for i := range histories {
				histories[i].opened++
			}
		}
		if !known {
			i = len(histories)
			at[c.Checkout], histories = i, append(histories, history{checkout: c.Checkout})
		}
		histories[i].calls = append(histories[i].calls, c)
		if c.conflicts() {
			histories[i].opened = 0
		}
	}
	histories = histories[max(0, len(histories)-maxJournals):]
	for i := range histories {
		if err := histories[i].read(ctx, store, now); err != nil {
			return nil, err
		}
	}
	return histories, nil
}

// read adds the journal of the checkout, and the answers to its events. A checkout that was removed has no journal. A checkout that
// this program created proves nothing, nor does a checkout that was erased, with the records of who created it and what its receiver
// answered. What a clock that was moved has in the future is of now: a report has no proof of a later time than its own.
func (h *history) read(ctx context.Context, store Store, now time.Time) error {
	of, err := store.Checkout(ctx, h.checkout)
	if errors.Is(err, ports.ErrNotFound) {
		return nil
	}
	if err == nil && !of.Erased() {
		_, err = store.SandboxRecord(ctx, oursName(of))
	}
	if !errors.Is(err, ports.ErrNotFound) {
		h.calls = nil
		return err
	}
	h.moments, err = store.Moments(ctx, h.checkout)
	h.answers = map[string][]string{}
	for i, m := range h.moments {
		if m.At.After(now) {
			h.moments[i].At = now
		}
		id, ok := deliveredBy(m)
		if !ok || h.answers[id] != nil || err != nil {
			continue
		}
		var attempts []checkout.Attempt
		attempts, err = store.Attempts(ctx, events.Event{ID: id, CheckoutID: of.ID, OrderID: of.OrderID, ProviderCode: of.ProviderCode})
		if errors.Is(err, ports.ErrNotFound) { // the event was removed
			err = nil
		}
		for _, a := range attempts {
			if a.Failure == "" {
				h.answers[id] = append(h.answers[id], a.Answer)
			}
		}
	}
	return err
}

// since returns the cursor behind which requests are shown: no request of before a day ago is.
func since(after checkout.Cursor, now time.Time) checkout.Cursor {
	return max(after, checkout.CursorAt(now.Add(-kept)))
}

// pageOf returns the first requests behind a cursor.
func pageOf(ctx context.Context, store Store, provider string, after checkout.Cursor, limit int) ([]call, checkout.Cursor, error) {
	data, next, err := store.LoggedRequests(ctx, provider, after, limit)
	calls := make([]call, len(data))
	for i, text := range data {
		err = cmp.Or(err, json.Unmarshal(text, &calls[i]))
	}
	return calls, next, err
}
