package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Eraser erases the personal data of checkouts, for the retention of a service and for an operator.
type Eraser struct {
	Store       ports.Store
	Setups      ports.SetupEraser // nil where the processor's records are elsewhere
	Environment catalogue.Environment
	By          checkout.Actor
	Now         func() time.Time
}

// needsData are the kinds of jobs that need the personal data of their checkout.
var needsData = []checkout.JobKind{checkout.JobSync, checkout.JobEnd}

// Erase erases a checkout that was read, with the processor's records of its setups, and stores the act. The error is
// checkout.ErrJobsWait while a job that needs the data is pending, unless force gives those jobs up.
func (e Eraser) Erase(ctx context.Context, c checkout.Checkout, act checkout.Act, force bool) error {
	pending, err := e.Store.Jobs(ctx, checkout.JobFilter{CheckoutID: c.ID, Kinds: needsData, State: checkout.JobPending}, 1)
	switch {
	case err != nil:
		return fmt.Errorf("read the jobs of %s: %w", c.ID, err)
	case len(pending) > 0 && !force:
		return checkout.ErrJobsWait
	}
	if e.Setups != nil {
		if err := e.Setups.EraseSetups(ctx, c.SetupKeys(e.Environment)); err != nil {
			return fmt.Errorf("erase the setups of %s: %w", c.ID, err)
		}
	}
	_, _, err = e.Store.UpdateCheckout(ctx, c, 0, func(stored checkout.Checkout) (checkout.Change, error) {
		if stored.Revision != c.Revision { // and may have new jobs
			return checkout.Change{}, errChanged
		}
		return stored.Erase(e.Now(), e.By, &act), nil
	})
	if err != nil {
		return fmt.Errorf("erase checkout %s: %w", c.ID, err)
	}
	return nil
}

// errChanged: the checkout has changed since it was read.
var errChanged = errors.New("it has just changed; try again")
