package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// caller is a provider's backend, and the payer's browser, that talk to one process.
type caller struct {
	base string
	keys map[string]string
	http *http.Client
	cut  atomic.Int64 // requests that were sent whole and never answered
}

func newCaller(base string, keys map[string]string) *caller {
	return &caller{base: base, keys: keys,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}}
}

// call sends one request of the provider, once, and reads the answer. An error means that there was
// none.
func (c *caller) call(ctx context.Context, provider, method, path, body string, headers ...string) (sandbox.Response, error) {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(w httptrace.WroteRequestInfo) { sent.Store(w.Err == nil) }})
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return sandbox.Response{}, err
	}
	req.GetBody = nil // an Idempotency-Key would have the transport send it again by itself
	req.Header.Set("Authorization", "Bearer "+c.keys[provider])
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	r, err := c.answer(req)
	if err != nil && sent.Load() {
		c.cut.Add(1)
	}
	return r, err
}

func (c *caller) answer(req *http.Request) (sandbox.Response, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return sandbox.Response{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return sandbox.Response{}, err
	}
	r := sandbox.Response{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}
	r.JSON, _ = demo.ParseObject(text) // what is no JSON answers nothing that is asked of it
	return r, nil
}

// isCut tells whether an error is the connection's, not the answer's.
func isCut(err error) bool {
	return errors.As(err, new(*url.Error)) || errors.As(err, new(*net.OpError)) || errors.Is(err, io.ErrUnexpectedEOF)
}

// enrolment is one order as its provider knows it: what it asks for, and what was ever answered.
type enrolment struct {
	provider, order, key string // the key of its creates; "" for none
	create               string // the body

	created   sandbox.Response // the latest answer that had a setup pair
	ids       [4]string        // as first answered: checkout, contact, opportunity, DDA
	opened    int              // creates that were answered as the first
	setUp     bool             // the payer saw that it is done
	agreement [2]string        // as first answered: id, number
	confirmed int              // confirms that were answered as the first
}

// goOn does all that is left to do for the enrolment, from whatever state a crash left it in: the retries
// are the same requests again. It returns an error if a request has no answer, or a wrong one.
func (e *enrolment) goOn(ctx context.Context, c *caller, rng *rand.Rand) error {
	if err := e.twice(rng, e.noteCreate, func() (sandbox.Response, error) { return e.sendCreate(ctx, c) }); err != nil {
		return err
	}
	if e.created.Status == 0 {
		return fmt.Errorf("%s %s has no setup pair, and nobody could have confirmed it", e.provider, e.order)
	}
	if err := e.payerSetsUp(ctx, c); err != nil {
		return err
	}
	confirm := func() (sandbox.Response, error) {
		return c.call(ctx, e.provider, http.MethodPost, e.created.CheckoutPath()+"/confirm", e.created.ConfirmBody())
	}
	if err := e.twice(rng, e.noteConfirm, confirm); err != nil {
		return err
	}
	polled, err := e.poll(ctx, c)
	if err == nil && polled.String("checkout.status") != "confirmed" {
		err = e.wrong("was confirmed, and a poll", polled)
	}
	return err
}

// twice sends a request, and once more: at the same time or after it. It notes every answer; a wrong
// one is the error, whatever else happened.
func (e *enrolment) twice(rng *rand.Rand, note func(sandbox.Response) error, send func() (sandbox.Response, error)) error {
	var answers [2]sandbox.Response
	var errs [2]error
	if rng.IntN(4) == 0 {
		var both sync.WaitGroup
		for i := range 2 {
			both.Go(func() { answers[i], errs[i] = send() })
		}
		both.Wait()
	} else {
		for i := 0; i < 2 && errs[0] == nil; i++ {
			answers[i], errs[i] = send()
		}
	}
	for _, r := range answers {
		if r.Status == 0 {
			continue
		}
		if err := note(r); err != nil {
			return err
		}
	}
	return errors.Join(errs[:]...)
}

func (e *enrolment) sendCreate(ctx context.Context, c *caller) (sandbox.Response, error) {
	var headers []string
	if e.key != "" {
		headers = []string{"Idempotency-Key", e.key}
	}
	return c.call(ctx, e.provider, http.MethodPost, "/v1/provider-checkouts", e.create, headers...)
}

func (e *enrolment) noteCreate(r sandbox.Response) error {
	ids := [4]string{r.String("checkout.checkout_id"), r.String("records.contact_id"),
		r.String("records.opportunity_id"), r.String("records.dda_id")}
	switch {
	case r.Status == http.StatusCreated && r.At("idempotent_replay") == false:
		e.opened++
	case r.Status != http.StatusOK || r.At("idempotent_replay") != true:
		return e.wrong("create", r)
	}
	if e.ids == [4]string{} {
		e.ids = ids
	}
	if ids != e.ids || e.opened > 1 {
		return e.wrong(fmt.Sprintf("is %q, and a create", e.ids), r)
	}
	if r.String("direct_debit.token") != "" {
		e.created = r
	}
	return nil
}

// payerSetsUp has the payer do the bank setup unless a poll says that it is done.
func (e *enrolment) payerSetsUp(ctx context.Context, c *caller) error {
	polled, err := e.poll(ctx, c)
	if err != nil {
		return err
	}
	if polled.At("direct_debit.setup_complete") != true {
		if e.setUp {
			return e.wrong("was set up, and a poll", polled)
		}
		payer := demo.NewBrowser(c.http)
		if err := payer.SetUp(ctx, e.created.String("direct_debit.setup_url")); err != nil {
			return err
		}
	}
	e.setUp = true
	return nil
}

func (e *enrolment) poll(ctx context.Context, c *caller) (sandbox.Response, error) {
	r, err := c.call(ctx, e.provider, http.MethodGet, e.created.CheckoutPath(), "")
	if err == nil && r.Status != http.StatusOK {
		err = e.wrong("poll", r)
	}
	return r, err
}

func (e *enrolment) noteConfirm(r sandbox.Response) error {
	got := [2]string{r.String("agreement.id"), r.String("agreement.number")}
	if r.Status != http.StatusOK || got[0] == "" || got[1] == "" ||
		r.At("direct_debit.setup_complete") != true || r.At("agreement.pdf_generated") != true {
		return e.wrong("confirm", r)
	}
	if r.At("already_confirmed") != true {
		e.confirmed++
	}
	if e.agreement == [2]string{} {
		e.agreement = got
	}
	if got != e.agreement || e.confirmed > 1 {
		return e.wrong(fmt.Sprintf("has agreement %q, and a confirm", e.agreement), r)
	}
	return nil
}

func (e *enrolment) wrong(what string, r sandbox.Response) error {
	return fmt.Errorf("%s %s: %s answers %d %s", e.provider, e.order, what, r.Status, r.Body)
}

// enrolments are all that there ever were, and those that nobody works on and are not done.
type enrolments struct {
	mu   sync.Mutex
	all  []*enrolment
	open []*enrolment
}

// begin takes a new enrolment: of either kind of provider, with an idempotency key or without.
func (es *enrolments) begin() *enrolment {
	es.mu.Lock()
	defer es.mu.Unlock()
	n := len(es.all)
	e := &enrolment{provider: "TUI", order: fmt.Sprintf("ENROL-%05d", n), create: sandbox.LegacyCreate}
	if n%2 == 0 {
		e.provider, e.create = "KOWHAI", sandbox.CatalogueCreate
	}
	if n%3 == 0 {
		e.key = "key-of-" + e.order
	}
	e.create = sandbox.Order(e.create, e.order)
	es.all = append(es.all, e)
	return e
}

// resume takes one that a crash left undone, or returns nil if there is none.
func (es *enrolments) resume(rng *rand.Rand) *enrolment {
	es.mu.Lock()
	defer es.mu.Unlock()
	if len(es.open) == 0 {
		return nil
	}
	i, last := rng.IntN(len(es.open)), len(es.open)-1
	e := es.open[i]
	es.open[i], es.open = es.open[last], es.open[:last]
	return e
}

// take takes one that is undone or, as often, a new one.
func (es *enrolments) take(rng *rand.Rand) *enrolment {
	if rng.IntN(2) == 0 {
		if e := es.resume(rng); e != nil {
			return e
		}
	}
	return es.begin()
}

// leave gives back one that is not done.
func (es *enrolments) leave(e *enrolment) {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.open = append(es.open, e)
}
