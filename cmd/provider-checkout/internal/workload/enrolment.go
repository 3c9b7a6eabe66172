package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// Enrolment is one order as its provider knows it: what it asks for, and what was ever answered.
type Enrolment struct {
	Provider, Order, key string // the key of its creates; "" for none
	create               string // the body

	Created   sandbox.Response // the latest answer that had a setup pair
	ids       [4]string        // as first answered: checkout, contact, opportunity, DDA
	Opened    int              // creates that were answered as the first
	setUp     bool             // the payer saw that it is done
	agreement [2]string        // as first answered: id, number
	Confirmed int              // confirms that were answered as the first
}

// Complete does all that is left to do for the enrolment, from whatever state a crash left it in: the retries
// are the same requests again. It returns an error if a request has no answer, or a wrong one.
func (e *Enrolment) Complete(ctx context.Context, c *Client, rng *rand.Rand) error {
	if err := e.twice(rng, e.NoteCreate, func() (sandbox.Response, error) { return e.SendCreate(ctx, c) }); err != nil {
		return err
	}
	if e.Created.Status == 0 {
		return fmt.Errorf("%s %s has no setup pair, and nobody could have confirmed it", e.Provider, e.Order)
	}
	if err := e.SetUp(ctx, c); err != nil {
		return err
	}
	confirm := func() (sandbox.Response, error) {
		return c.Call(ctx, e.Provider, http.MethodPost, e.Created.CheckoutPath()+"/confirm", e.Created.ConfirmBody())
	}
	if err := e.twice(rng, e.NoteConfirm, confirm); err != nil {
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
func (e *Enrolment) twice(rng *rand.Rand, note func(sandbox.Response) error, send func() (sandbox.Response, error)) error {
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

// SendCreate sends the create.
func (e *Enrolment) SendCreate(ctx context.Context, c *Client) (sandbox.Response, error) {
	var headers []string
	if e.key != "" {
		headers = []string{"Idempotency-Key", e.key}
	}
	return c.Call(ctx, e.Provider, http.MethodPost, "/v1/provider-checkouts", e.create, headers...)
}

// NoteCreate notes the answer to a create. It returns an error if the answer contradicts an earlier one.
func (e *Enrolment) NoteCreate(r sandbox.Response) error {
	ids := [4]string{r.String("checkout.checkout_id"), r.String("records.contact_id"),
		r.String("records.opportunity_id"), r.String("records.dda_id")}
	switch {
	case r.Status == http.StatusCreated && r.At("idempotent_replay") == false:
		e.Opened++
	case r.Status != http.StatusOK || r.At("idempotent_replay") != true:
		return e.wrong("create", r)
	}
	if e.ids == [4]string{} {
		e.ids = ids
	}
	if ids != e.ids || e.Opened > 1 {
		return e.wrong(fmt.Sprintf("is %q, and a create", e.ids), r)
	}
	if r.String("direct_debit.token") != "" {
		e.Created = r
	}
	return nil
}

// ObservationLife is how old what a process knows of a setup may be: another process may have asked the processor
// since.
const ObservationLife = 2 * time.Second

// SetUp has the payer do the bank setup unless a poll says that it is done.
func (e *Enrolment) SetUp(ctx context.Context, c *Client) error {
	polled, err := e.poll(ctx, c)
	if err == nil && e.setUp && polled.At("direct_debit.setup_complete") != true {
		<-time.After(ObservationLife)
		polled, err = e.poll(ctx, c)
	}
	if err != nil {
		return err
	}
	if polled.At("direct_debit.setup_complete") != true {
		if e.setUp {
			return e.wrong("was set up, and a poll", polled)
		}
		payer := demo.NewBrowser(c.HTTP)
		if err := payer.SetUp(ctx, e.Created.String("direct_debit.setup_url")); err != nil {
			return err
		}
	}
	e.setUp = true
	return nil
}

func (e *Enrolment) poll(ctx context.Context, c *Client) (sandbox.Response, error) {
	r, err := c.Call(ctx, e.Provider, http.MethodGet, e.Created.CheckoutPath(), "")
	if err == nil && r.Status != http.StatusOK {
		err = e.wrong("poll", r)
	}
	return r, err
}

// NoteConfirm notes the answer to a confirm. It returns an error if the answer contradicts an earlier one.
func (e *Enrolment) NoteConfirm(r sandbox.Response) error {
	got := [2]string{r.String("agreement.id"), r.String("agreement.number")}
	if r.Status != http.StatusOK || got[0] == "" || got[1] == "" ||
		r.At("direct_debit.setup_complete") != true || r.At("agreement.pdf_generated") != true {
		return e.wrong("confirm", r)
	}
	if r.At("already_confirmed") != true {
		e.Confirmed++
	}
	if e.agreement == [2]string{} {
		e.agreement = got
	}
	if got != e.agreement || e.Confirmed > 1 {
		return e.wrong(fmt.Sprintf("has agreement %q, and a confirm", e.agreement), r)
	}
	return nil
}

func (e *Enrolment) wrong(what string, r sandbox.Response) error {
	return fmt.Errorf("%s %s: %s answers %d %s", e.Provider, e.Order, what, r.Status, r.Body)
}

// Enrolments are all enrolments that were begun, and those of them that are not complete and that no client works on.
type Enrolments struct {
	mu   sync.Mutex
	All  []*Enrolment
	Open []*Enrolment
}

// Begin returns a new enrolment: of either kind of provider, with an idempotency key or without.
func (es *Enrolments) Begin() *Enrolment {
	es.mu.Lock()
	defer es.mu.Unlock()
	n := len(es.All)
	e := &Enrolment{Provider: "TUI", Order: fmt.Sprintf("ENROL-%05d", n), create: sandbox.LegacyCreate}
	if n%2 == 0 {
		e.Provider, e.create = "KOWHAI", sandbox.CatalogueCreate
	}
	if n%3 == 0 {
		e.key = "key-of-" + e.Order
	}
	e.create = sandbox.Order(e.create, e.Order)
	es.All = append(es.All, e)
	return e
}

// Resume returns one that a crash left open, or nil.
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

// Take returns one that is open or, as often, a new one.
func (es *Enrolments) Take(rng *rand.Rand) *Enrolment {
	if rng.IntN(2) == 0 {
		if e := es.Resume(rng); e != nil {
			return e
		}
	}
	return es.Begin()
}

// Leave gives back one that is not complete.
func (es *Enrolments) Leave(e *Enrolment) {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.Open = append(es.Open, e)
}
