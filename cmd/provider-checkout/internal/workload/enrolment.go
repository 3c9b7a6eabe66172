package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// Enrolment is one order as its provider knows it: its requests, and the answers so far.
type Enrolment struct {
	Provider, Order, key string // the Idempotency-Key of its creates, or ""
	Body                 string // of its creates

	Created   sandbox.Response // the latest answer that had a setup pair
	IDs       [4]string        // as first answered: checkout, contact, opportunity, DDA
	Opened    int              // creates that were answered as the first
	setUp     bool             // the payer saw that the setup is done
	Agreement [2]string        // as first answered: id, number
	Confirmed int              // confirms that were answered as the first
}

// Complete does what is left to do for the enrolment, in whatever state a crash left it: it sends the same
// requests again. It returns an error if a request has no answer, or a wrong one.
func (e *Enrolment) Complete(ctx context.Context, c *apiclient.Client, rng *rand.Rand) error {
	if err := e.twice(rng, e.NoteCreate, func() (sandbox.Response, error) { return e.SendCreate(ctx, c) }); err != nil {
		return err
	}
	if e.Created.Status == 0 {
		return fmt.Errorf("%s has no setup pair, though it cannot have been confirmed", e.name())
	}
	if err := e.SetUp(ctx, c); err != nil {
		return err
	}
	confirm := func() (sandbox.Response, error) {
		return c.Confirm(ctx, e.Created, e.Created.ConfirmBody())
	}
	if err := e.twice(rng, e.NoteConfirm, confirm); err != nil {
		return err
	}
	polled, err := e.poll(ctx, c)
	if err == nil && polled.String("checkout.status") != "confirmed" {
		err = e.Wrong("was confirmed, and a poll", polled)
	}
	return err
}

// twice sends a request twice, at the same time or one after the other, and notes every answer. It
// returns the error about a wrong answer, whatever else happened.
func (e *Enrolment) twice(rng *rand.Rand, note func(sandbox.Response) error, send func() (sandbox.Response, error)) error {
	var answers [2]sandbox.Response
	var errs [2]error
	var both sync.WaitGroup
	together := rng.IntN(4) == 0
	for i := 0; i < 2 && (together || errs[0] == nil); i++ {
		both.Go(func() { answers[i], errs[i] = send() })
		if !together {
			both.Wait()
		}
	}
	both.Wait()
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

// SendCreate sends the create.
func (e *Enrolment) SendCreate(ctx context.Context, c *apiclient.Client) (sandbox.Response, error) {
	var headers []string
	if e.key != "" {
		headers = []string{"Idempotency-Key", e.key}
	}
	return c.Create(ctx, e.Provider, e.Body, headers...)
}

// Create sends the create once, and notes the answer.
func (e *Enrolment) Create(ctx context.Context, c *apiclient.Client) error {
	r, err := e.SendCreate(ctx, c)
	if err == nil {
		err = e.NoteCreate(r)
	}
	return err
}

// NoteCreate notes the answer to a create. It returns an error if the answer contradicts an earlier one.
func (e *Enrolment) NoteCreate(r sandbox.Response) error {
	ids := [4]string{r.String("checkout.checkout_id"), r.String("records.contact_id"),
		r.String("records.opportunity_id"), r.String("records.dda_id")}
	switch {
	case r.Status == http.StatusCreated && r.At("idempotent_replay") == false:
		e.Opened++
	case r.Status != http.StatusOK || r.At("idempotent_replay") != true:
		return e.Wrong("create", r)
	}
	if e.IDs == [4]string{} {
		e.IDs = ids
	}
	if ids != e.IDs || e.Opened > 1 {
		return e.Wrong(fmt.Sprintf("is %q, and a create", e.IDs), r)
	}
	if r.String("direct_debit.token") != "" {
		e.Created = r
	}
	return nil
}

// ObservationLife is the time for which a process may cache the state of a setup. Another process may have asked the
// processor since.
const ObservationLife = 2 * time.Second

// setupSeenWithin is the longest time that a setup may stay unseen while a process cannot ask the processor.
const setupSeenWithin = time.Minute

// SetUp has the payer do the bank setup unless a poll says that it is done, and waits until one says so.
func (e *Enrolment) SetUp(ctx context.Context, c *apiclient.Client) error {
	for end := time.Now().Add(setupSeenWithin); ; <-time.After(ObservationLife) {
		polled, err := e.poll(ctx, c)
		switch {
		case err != nil:
			return err
		case polled.SetupComplete():
			e.setUp = true
			return nil
		case e.setUp && time.Now().After(end):
			return e.Wrong("was set up, and a poll", polled)
		case e.setUp:
			continue
		}
		err = apiclient.NewBrowser(c.HTTP).SetUp(ctx, e.Created.SetupURL())
		if err != nil && !errors.Is(err, apiclient.ErrOpenAgain) {
			return err
		}
		e.setUp = true
		if err == nil {
			return nil
		}
	}
}

func (e *Enrolment) poll(ctx context.Context, c *apiclient.Client) (sandbox.Response, error) {
	r, err := c.Poll(ctx, e.Created)
	if err == nil && r.Status != http.StatusOK {
		err = e.Wrong("poll", r)
	}
	return r, err
}

// NoteConfirm notes the answer to a confirm. It returns an error if the answer contradicts an earlier one.
func (e *Enrolment) NoteConfirm(r sandbox.Response) error {
	got := [2]string{r.String("agreement.id"), r.String("agreement.number")}
	if r.Status != http.StatusOK || got[0] == "" || got[1] == "" ||
		r.At("direct_debit.setup_complete") != true || r.At("agreement.pdf_generated") != true {
		return e.Wrong("confirm", r)
	}
	if r.At("already_confirmed") != true {
		e.Confirmed++
	}
	if e.Agreement == [2]string{} {
		e.Agreement = got
	}
	if got != e.Agreement || e.Confirmed > 1 {
		return e.Wrong(fmt.Sprintf("has agreement %q, and a confirm", e.Agreement), r)
	}
	return nil
}

// Wrong returns the error about an answer that a request should not have.
func (e *Enrolment) Wrong(what string, r sandbox.Response) error {
	return fmt.Errorf("%s: %s answers %d %s", e.name(), what, r.Status, r.Body)
}

// name names the order, as [Record.order] does.
func (e *Enrolment) name() string { return e.Provider + " " + e.Order }

// Enrolments are all enrolments that were begun, with the open ones, which are incomplete and without a client.
type Enrolments struct {
	mu    sync.Mutex
	All   []*Enrolment
	Open  []*Enrolment
	pairs int // of providers; 0 counts as 1
}

// Begun returns how many enrolments were begun.
func (es *Enrolments) Begun() int {
	es.mu.Lock()
	defer es.mu.Unlock()
	return len(es.All)
}

// Begin returns a new enrolment of either kind of provider, with or without an idempotency key.
func (es *Enrolments) Begin() *Enrolment {
	es.mu.Lock()
	defer es.mu.Unlock()
	n := len(es.All)
	e := &Enrolment{Provider: "TUI", Order: fmt.Sprintf("ENROL-%05d", n), Body: sandbox.LegacyCreate}
	if n%2 == 0 {
		e.Provider, e.Body = "KOWHAI", sandbox.CatalogueCreate
	}
	if n%3 == 0 {
		e.key = "key-of-" + e.Order
	}
	pair := n / 2 % max(1, es.pairs)
	e.Provider, e.Body = forPair(pair, e.Provider), forPair(pair, sandbox.Order(e.Body, e.Order))
	es.All = append(es.All, e)
	return e
}

// Resume returns an enrolment that a crash left open, or nil.
func (es *Enrolments) Resume(rng *rand.Rand) *Enrolment {
	es.mu.Lock()
	defer es.mu.Unlock()
	if len(es.Open) == 0 {
		return nil
	}
	i, last := rng.IntN(len(es.Open)), len(es.Open)-1
	e := es.Open[i]
	es.Open[i], es.Open = es.Open[last], es.Open[:last]
	return e
}

// Take returns an open enrolment or, as often, a new one.
func (es *Enrolments) Take(rng *rand.Rand) *Enrolment {
	if rng.IntN(2) == 0 {
		if e := es.Resume(rng); e != nil {
			return e
		}
	}
	return es.Begin()
}

// Leave gives an incomplete enrolment back.
func (es *Enrolments) Leave(e *Enrolment) {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.Open = append(es.Open, e)
}
