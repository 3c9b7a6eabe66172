package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// A look at everything takes 500 checkouts a second, so that it is no load, and begins once a day.
	retainEvery = time.Second
	retainPage  = 500
	retainAgain = 24 * time.Hour
	retainPause = time.Minute // after a failure
	retainBatch = 100         // erased in one commit
)

var errNothingToErase = errors.New("there is nothing to erase")

// retainer erases what was kept for as long as Config.Retention says. Every process has one: what one has erased, another
// leaves alone.
type retainer struct {
	*Service
	from int64     // where the next page begins
	next time.Time // when it is looked at
}

// look looks at the next page, if it is time to.
func (r *retainer) look(ctx context.Context) {
	now := r.now()
	if now.Before(r.next) {
		return
	}
	next, err := r.page(ctx, now)
	switch {
	case err != nil:
		r.failed(ctx, Failure{Operation: OperationRetain, Severity: Error, Err: err})
		r.next = now.Add(retainPause)
	case next == 0:
		r.from, r.next = 0, now.Add(retainAgain)
	default:
		r.from = next
	}
}

// page erases those of a page that were kept for long enough, and returns where the next one begins, 0 at the end.
func (r *retainer) page(ctx context.Context, now time.Time) (next int64, err error) {
	defer recovered(&err)
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	ids, next, err := r.cfg.Store.OldCheckouts(ctx, r.from, retainPage, r.before(r.cfg.Retention.AgreedYears, 0, now),
		r.before(0, r.cfg.Retention.AbandonedDays, now))
	if err != nil {
		return 0, fmt.Errorf("look for what was kept for long enough: %w", err)
	}
	var over []checkout.Checkout
	for _, id := range ids {
		c, err := found(r.cfg.Store.Checkout(ctx, id))
		switch {
		case err != nil: // it cannot be read: the others can
			r.failed(ctx, Failure{Operation: OperationRetain, Severity: Error, CheckoutID: id, Err: err})
		case c != nil && r.cfg.Retention.Over(*c, now, r.zone):
			over = append(over, *c)
		}
	}
	for batch := range slices.Chunk(over, retainBatch) {
		if err := r.erase(ctx, batch, now); err != nil {
			return 0, err
		}
	}
	return next, nil
}

// before returns the time so many years and days ago; the zero time, before which there is nothing, for none of either.
func (r *retainer) before(years, days int, now time.Time) time.Time {
	if years == 0 && days == 0 {
		return time.Time{}
	}
	return now.AddDate(-years, 0, -days)
}

// erase erases those checkouts that are still to be erased: first what the processor keeps of them, if that is here.
func (r *retainer) erase(ctx context.Context, batch []checkout.Checkout, now time.Time) error {
	ids, erased := make([]string, len(batch)), make(map[string]bool)
	for i, c := range batch {
		ids[i], erased[c.ID] = c.ID, c.Erased()
		if eraser, ok := r.cfg.Processor.(ports.SetupEraser); ok {
			if err := eraser.EraseSetups(ctx, c.SetupKeys(r.cfg.Environment)); err != nil {
				return fmt.Errorf("erase the setups of %s: %w", c.ID, err)
			}
		}
	}
	operation, err := uuid.NewRandomFromReader(r.cfg.Rand)
	if err != nil {
		return fmt.Errorf("generate the id of an operation: %w", err)
	}
	err = r.cfg.Store.EraseCheckouts(ctx, ids, func(stored []checkout.Checkout) (checkout.Erasure, error) {
		stored = slices.DeleteFunc(stored, func(c checkout.Checkout) bool {
			meanwhile := c.Erased() && !erased[c.ID] // by another process
			return meanwhile || !r.cfg.Retention.Over(c, now, r.zone)
		})
		if len(stored) == 0 {
			return checkout.Erasure{}, errNothingToErase
		}
		erasure := checkout.EndRetention(stored, now)
		erasure.Entry = r.cfg.Keyring.Attest(evidence.OfOperation(operation.String(), evidence.Operation{At: now, Operator: "retention",
			Name: "privacy erase", Subject: erasure.Subject(), Reason: r.cfg.Retention.String(), Changes: erasure.Changes()}))
		return erasure, nil
	})
	if err != nil && !errors.Is(err, errNothingToErase) {
		return fmt.Errorf("erase what was kept for long enough: %w", err)
	}
	return nil
}
