package full_test

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

// enrolment is one order as its provider knows it: its requests, and the answers so far.
type enrolment struct {
	provider, order, key string // the Idempotency-Key of its creates, or ""
	body                 string // of its creates

	created   sandbox.Response // the latest answer that had a setup pair
	ids       [4]string        // as first answered: checkout, contact, opportunity, DDA
	opened    int              // creates that were answered as the first
	isSetUp   bool             // the payer saw that the setup is done
	agreement [2]string        // as first answered: id, number
	confirmed int              // confirms that were answered as the first
}

// complete does what is left to do for the enrolment, in whatever state a crash left it: it sends the same
// requests again. It returns an error if a request has no answer, or a wrong one.
func (e *enrolment) complete(ctx context.Context, c *apiclient.Client, rng *rand.Rand) error {
	if err := e.twice(rng, e.noteCreate, func() (sandbox.Response, error) { return e.sendCreate(ctx, c) }); err != nil {
		return err
	}
	if e.created.Status == 0 {
		return fmt.Errorf("%s has no setup pair, though it cannot have been confirmed", e.name())
	}
	if err := e.setUp(ctx, c); err != nil {
		return err
	}
	confirm := func() (sandbox.Response, error) {
		return c.Confirm(ctx, e.created, e.created.ConfirmBody())
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

// twice sends a request twice, at the same time or one after the other, and notes every answer. It
// returns the error about a wrong answer, whatever else happened.
func (e *enrolment) twice(rng *rand.Rand, note func(sandbox.Response) error, send func() (sandbox.Response, error)) error {
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

// sendCreate sends the create.
func (e *enrolment) sendCreate(ctx context.Context, c *apiclient.Client) (sandbox.Response, error) {
	var headers []string
	if e.key != "" {
		headers = []string{"Idempotency-Key", e.key}
	}
	return c.Create(ctx, e.provider, e.body, headers...)
}

// create sends the create once, and notes the answer.
func (e *enrolment) create(ctx context.Context, c *apiclient.Client) error {
	r, err := e.sendCreate(ctx, c)
	if err == nil {
		err = e.noteCreate(r)
	}
	return err
}

// noteCreate notes the answer to a create. It returns an error if the answer contradicts an earlier one.
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

// observationLife is the time for which a process may cache the state of a setup. Another process may have asked the
// processor since.
const observationLife = 2 * time.Second

// setupSeenWithin is the longest time that a setup may stay unseen while a process cannot ask the processor.
const setupSeenWithin = time.Minute

// setUp has the payer do the bank setup unless a poll says that it is done, and waits until one says so.
func (e *enrolment) setUp(ctx context.Context, c *apiclient.Client) error {
	for end := time.Now().Add(setupSeenWithin); ; <-time.After(observationLife) {
		polled, err := e.poll(ctx, c)
		switch {
		case err != nil:
			return err
		case polled.SetupComplete():
			e.isSetUp = true
			return nil
		case e.isSetUp && time.Now().After(end):
			return e.wrong("was set up, and a poll", polled)
		case e.isSetUp:
			continue
		}
		err = apiclient.NewBrowser(c.HTTP).SetUp(ctx, e.created.SetupURL())
		if err != nil && !errors.Is(err, apiclient.ErrOpenAgain) {
			return err
		}
		e.isSetUp = true
		if err == nil {
			return nil
		}
	}
}

func (e *enrolment) poll(ctx context.Context, c *apiclient.Client) (sandbox.Response, error) {
	r, err := c.Poll(ctx, e.created)
	if err == nil && r.Status != http.StatusOK {
		err = e.wrong("poll", r)
	}
	return r, err
}

// noteConfirm notes the answer to a confirm. It returns an error if the answer contradicts an earlier one.
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

// wrong returns the error about an answer that a request should not have.
func (e *enrolment) wrong(what string, r sandbox.Response) error {
	return fmt.Errorf("%s: %s answers %d %s", e.name(), what, r.Status, r.Body)
}

// name names the order, as [record.order] does.
func (e *enrolment) name() string { return e.provider + " " + e.order }

// enrolments are all enrolments that were begun, with the open ones, which are incomplete and without a client.
type enrolments struct {
	mu    sync.Mutex
	all   []*enrolment
	open  []*enrolment
	pairs int // of providers; 0 counts as 1
}

// begun returns how many enrolments were begun.
func (es *enrolments) begun() int {
	es.mu.Lock()
	defer es.mu.Unlock()
	return len(es.all)
}

// begin returns a new enrolment of either kind of provider, with or without an idempotency key.
func (es *enrolments) begin() *enrolment {
	es.mu.Lock()
	defer es.mu.Unlock()
	n := len(es.all)
	e := &enrolment{provider: "TUI", order: fmt.Sprintf("ENROL-%05d", n), body: sandbox.LegacyCreate}
	if n%2 == 0 {
		e.provider, e.body = "KOWHAI", sandbox.CatalogueCreate
	}
	if n%3 == 0 {
		e.key = "key-of-" + e.order
	}
	pair := n / 2 % max(1, es.pairs)
	e.provider, e.body = forPair(pair, e.provider), forPair(pair, sandbox.Order(e.body, e.order))
	es.all = append(es.all, e)
	return e
}

// resume returns an enrolment that a crash left open, or nil.
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

// take returns an open enrolment or, as often, a new one.
func (es *enrolments) take(rng *rand.Rand) *enrolment {
	if rng.IntN(2) == 0 {
		if e := es.resume(rng); e != nil {
			return e
		}
	}
	return es.begin()
}

// leave gives an incomplete enrolment back.
func (es *enrolments) leave(e *enrolment) {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.open = append(es.open, e)
}
