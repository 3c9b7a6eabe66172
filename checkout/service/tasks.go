package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Task is work of the embedding program that one process at a time does again and again: Config.Tasks.
type Task struct {
	Kind checkout.JobKind // JobReconcile or JobPull
	// Run does the work, and returns the cursor of its next run and the pause before that, also with an error, which is reported. The
	// cursor of the first run is "".
	Run func(ctx context.Context, cursor string) (next string, pause time.Duration, err error)
}

// runTask returns the function that runs a task, whose job then waits for the next run.
func (s *Service) runTask(t Task) func(context.Context, checkout.Lease) (checkout.Outcome, error) {
	return func(ctx context.Context, l checkout.Lease) (checkout.Outcome, error) {
		next, pause, failure := func() (next string, pause time.Duration, err error) {
			next, pause = l.Cursor, time.Minute // also where it panics
			defer recovered(&err)
			return t.Run(ctx, l.Cursor)
		}()
		o := checkout.Outcome{State: checkout.JobPending, Pause: pause, Cursor: next}
		if failure != nil && ctx.Err() == nil {
			o.Failure = checkout.FailureOf(failure, s.now())
			s.report(ctx, Failure{Operation: OperationTask, Severity: Error, Err: fmt.Errorf("%s: %w", t.Kind, failure)})
		}
		return o, nil
	}
}

// A look at all checkouts takes a page at a time, so that it is no load, and begins once a day, or a minute after a look that failed.
const (
	retainPage   = 500
	retainEvery  = time.Second
	retainAgain  = 24 * time.Hour
	retainFailed = time.Minute
	// failedMark begins the cursor of a look in which something has failed. No cursor of a store begins with it.
	failedMark = "!"
)

// retain looks at a page of checkouts, erases the checkouts that were kept for as long as Config.Retention says, and deletes old jobs. A
// checkout that cannot be erased is reported, and keeps no other from being erased.
func (s *Service) retain(ctx context.Context, cursor string) (next string, pause time.Duration, err error) {
	var ids []string
	now := s.now()
	from, failed := strings.CutPrefix(cursor, failedMark)
	err = within(ctx, waitLimit, func(ctx context.Context) (err error) {
		agreed, abandoned := s.cfg.Retention.Before(now)
		ids, next, err = s.cfg.Store.OldCheckouts(ctx, from, retainPage, agreed, abandoned)
		return err
	})
	if err != nil {
		return cursor, time.Minute, fmt.Errorf("look for what was kept for long enough: %w", err)
	}
	for _, id := range ids {
		if ctx.Err() != nil {
			return cursor, retainEvery, nil
		}
		if err := s.eraseOld(ctx, id, now); err != nil {
			failed = true
			about := checkout.About{CheckoutID: id, ProviderCode: checkout.ProviderOf(id)}
			s.report(ctx, Failure{Operation: OperationRetain, Severity: Error, About: about, Err: err})
		}
	}
	switch {
	case next != "" && failed:
		return failedMark + next, retainEvery, nil
	case next != "":
		return next, retainEvery, nil
	case failed:
		return "", retainFailed, nil
	}
	return "", retainAgain, nil
}

// eraseOld erases a checkout that was kept for long enough, unless a job still needs its data.
func (s *Service) eraseOld(ctx context.Context, id string, now time.Time) (err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	e := Eraser{Store: s.cfg.Store, Environment: s.cfg.Environment, By: checkout.ActorService, Now: s.now}
	e.Setups, _ = s.cfg.Processor.(ports.SetupEraser)
	for range attempts(ctx) {
		c, err := found(s.cfg.Store.Checkout(ctx, id))
		if err != nil || c == nil || !s.cfg.Retention.Over(*c, now, s.zone) {
			return err
		}
		act := checkout.Act{ID: "act_retain_" + id, At: now, Operator: "retention", Name: "privacy erase", Subject: id,
			ProviderCode: c.ProviderCode, Reason: s.cfg.Retention.String()}
		switch err := e.Erase(ctx, *c, act, false); {
		case errors.Is(err, errChanged): // by a look, for one
		case errors.Is(err, checkout.ErrJobsWait): // it is looked at again tomorrow
			return nil
		default:
			return err
		}
	}
	return errChanged
}

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
