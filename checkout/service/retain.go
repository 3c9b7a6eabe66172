package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// A look at everything takes 500 checkouts a second, so that it is no load, and begins once a day.
	retainEvery = time.Second
	retainPage  = 500
	retainAgain = 24 * time.Hour
	// After a failure everything is looked at again a minute later, then two, and so on: one row that cannot be erased keeps
	// no other one, and is no load.
	retainPause = time.Minute
	retainBatch = 100 // erased in one commit
)

var errNothingToErase = errors.New("there is nothing to erase")

// retainer erases what was kept for as long as Config.Retention says.
type retainer struct {
	*Service
	pause   time.Duration // before everything is looked at again, because something failed; 0 if nothing has
	failing bool          // something did in this look at everything
}

func newRetainer(s *Service) *retainer { return &retainer{Service: s} }

// run looks at everything, a page at a time, and erases what was kept for long enough. The cursor is that of the next page.
func (r *retainer) run(ctx context.Context, cursor string) (next string, pause time.Duration, err error) {
	for {
		next, err := r.page(ctx, cursor, r.now())
		switch {
		case ctx.Err() != nil:
			return cursor, retainPause, nil
		case err != nil:
			r.reportUnlessStopped(ctx, Failure{Operation: OperationRetain, Severity: Error, Err: err})
			return cursor, retainPause, nil
		case next == "" && r.failing:
			r.pause, r.failing = min(max(2*r.pause, retainPause), retainAgain), false
			return "", r.pause, nil
		case next == "":
			r.pause = 0
			return "", retainAgain, nil
		}
		if cursor = next; sleep(ctx, retainEvery) != nil {
			return cursor, retainPause, nil
		}
	}
}

// leave reports why a checkout is left alone for now.
func (r *retainer) leave(ctx context.Context, about checkout.About, err error) {
	r.failing = true
	r.reportUnlessStopped(ctx, Failure{Operation: OperationRetain, Severity: Error, About: about, Err: err})
}

// page erases the checkouts of a page that were kept for long enough, and returns the cursor of the next page, "" at the end. A
// checkout that fails is reported, and keeps no other from being erased.
func (r *retainer) page(ctx context.Context, cursor string, now time.Time) (next string, err error) {
	var ids []string
	years, days := r.cfg.Retention.AgreedYears, r.cfg.Retention.AbandonedDays
	err = within(ctx, waitLimit, func(ctx context.Context) (err error) {
		ids, next, err = r.cfg.Store.OldCheckouts(ctx, cursor, retainPage, before(now, years, 0), before(now, 0, days))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("look for what was kept for long enough: %w", err)
	}
	var over []checkout.Checkout
	for _, id := range ids {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		switch c, isOver, err := r.over(ctx, id, now); {
		case err != nil:
			r.leave(ctx, c.About(), err)
		case isOver:
			over = append(over, c)
		}
	}
	for batch := range slices.Chunk(over, retainBatch) {
		r.eraseEach(ctx, batch, now)
	}
	return next, nil
}

// over returns a checkout, and whether something of it was kept for long enough and is to be erased.
func (r *retainer) over(ctx context.Context, id string, now time.Time) (c checkout.Checkout, isOver bool, err error) {
	defer recovered(&err)
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	c.ID = id
	stored, err := found(r.cfg.Store.Checkout(ctx, id))
	if err != nil || stored == nil {
		return c, false, err
	}
	return *stored, r.cfg.Retention.Over(*stored, now, r.zone), nil
}

// eraseEach erases checkouts together, and one by one if that fails.
func (r *retainer) eraseEach(ctx context.Context, batch []checkout.Checkout, now time.Time) {
	rest := make([]checkout.Checkout, 0, len(batch))
	for _, c := range batch {
		if err := r.eraseSetups(ctx, c); err != nil {
			r.leave(ctx, c.About(), err)
			continue
		}
		rest = append(rest, c)
	}
	if len(rest) == 0 || r.erase(ctx, rest, now) == nil {
		return
	}
	for _, c := range rest {
		if err := r.erase(ctx, []checkout.Checkout{c}, now); err != nil {
			r.leave(ctx, c.About(), err)
		}
	}
}

// eraseSetups erases what the processor keeps of a checkout, if that is here.
func (r *retainer) eraseSetups(ctx context.Context, c checkout.Checkout) error {
	eraser, ok := r.cfg.Processor.(ports.SetupEraser)
	if !ok {
		return nil
	}
	err := within(ctx, waitLimit, func(ctx context.Context) error { return eraser.EraseSetups(ctx, c.SetupKeys(r.cfg.Environment)) })
	if err != nil {
		return fmt.Errorf("erase the setups of %s: %w", c.ID, err)
	}
	return nil
}

// before returns the time so many years and days ago; for 0 and 0 the zero time, before which there is nothing.
func before(now time.Time, years, days int) time.Time {
	if years == 0 && days == 0 {
		return time.Time{}
	}
	return now.AddDate(-years, 0, -days)
}

// erase erases those checkouts that are still to be erased.
func (r *retainer) erase(ctx context.Context, batch []checkout.Checkout, now time.Time) (err error) {
	defer recovered(&err)
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	ids := make([]string, len(batch))
	for i, c := range batch {
		ids[i] = c.ID
	}
	var erasure checkout.Erasure
	err = r.cfg.Store.EraseCheckouts(ctx, ids, func(stored []checkout.Checkout) (checkout.Erasure, error) {
		stored = slices.DeleteFunc(stored, func(c checkout.Checkout) bool { return !r.cfg.Retention.Over(c, now, r.zone) })
		if len(stored) == 0 {
			return checkout.Erasure{}, errNothingToErase
		}
		erasure = checkout.EraseAll(stored, now, checkout.ActorService)
		erasure.Act.Operator, erasure.Act.Reason = "retention", r.cfg.Retention.String()
		return erasure, nil
	})
	switch {
	case errors.Is(err, errNothingToErase):
	case err != nil:
		return fmt.Errorf("erase what was kept for long enough: %w", err)
	default:
		for _, c := range erasure.Next {
			r.journal(ctx, c.About(), []checkout.Moment{erasure.Moment})
		}
	}
	return nil
}
