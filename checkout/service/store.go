package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// holdLimit is the time that a request holds the jobs that it enqueues, and that a lease lasts unless it is extended.
const holdLimit = 10 * time.Second

// update stores what decide makes of a checkout, and returns the change. An error of decide is returned unchanged.
func (s *Service) update(ctx context.Context, id string, entry checkout.JobEntry, decide decider) (checkout.Change, error) {
	d := &decision{service: s, decide: decide}
	err := s.cfg.Store.UpdateCheckout(ctx, id, entry, d.run)
	switch {
	case err == nil:
		s.journal(ctx, d.change.Next.About(), d.change.Moments)
	case d.err == nil || !errors.Is(err, d.err):
		err = s.fail(ctx, "update checkout "+id, err)
	}
	return d.change, err
}

// settle settles a job with what decide makes of its checkout, and returns that change; decide may be nil. An error of decide is
// returned unchanged. It wraps ports.ErrNotFound if the lease is lost.
func (s *Service) settle(ctx context.Context, l checkout.Lease, o checkout.Outcome, entry checkout.JobEntry,
	decide decider) (checkout.Change, error) {
	d := &decision{service: s, decide: decide}
	run := d.run
	if decide == nil {
		run = nil
	}
	err := s.cfg.Store.Settle(ctx, l, o, entry, run)
	switch {
	case err == nil:
		s.journal(ctx, d.change.Next.About(), d.change.Moments)
		s.journal(ctx, l.Job.About(), o.Moments)
	case d.err == nil || !errors.Is(err, d.err):
		err = fmt.Errorf("settle job %s: %w", l.Job.ID, err)
	}
	return d.change, err
}

// decider decides the change of a checkout, as it is in the store now.
type decider = func(checkout.Checkout) (checkout.Change, error)

// decision holds the latest result of decide: a store may have it decide more than once.
type decision struct {
	service *Service
	decide  decider
	change  checkout.Change
	err     error
}

func (d *decision) run(c checkout.Checkout) (checkout.Change, error) {
	d.change, d.err = d.decide(c)
	d.change.Jobs = d.service.wanted(d.change.Jobs)
	return d.change, d.err
}

// settleAttempt settles an attempt that changes nothing of the checkout, also when the time for the attempt is over. That another
// has the job by now is no error.
func (s *Service) settleAttempt(ctx context.Context, l checkout.Lease, o checkout.Outcome) error {
	ctx, cancel := detached(ctx, settleLimit)
	defer cancel()
	if _, err := s.settle(ctx, l, o, checkout.JobEntry{Now: s.now()}, nil); !lost(err) {
		return err
	}
	return nil
}

// extend has a lease last for a time from now on; 0 gives the job back.
func (s *Service) extend(ctx context.Context, l checkout.Lease, d time.Duration) error {
	return within(ctx, settleLimit, func(ctx context.Context) error { return s.cfg.Store.Extend(ctx, l, s.now(), d) })
}

// wanted returns the jobs without the notices where payers are not notified.
func (s *Service) wanted(jobs []checkout.Job) []checkout.Job {
	if s.cfg.Notifier != nil {
		return jobs
	}
	return slices.DeleteFunc(slices.Clone(jobs), func(j checkout.Job) bool { return j.Kind == checkout.JobNotify })
}

// lease leases jobs. The query's time must not be older than checkout.MaxLease allows for when it takes effect.
func (s *Service) lease(ctx context.Context, q checkout.JobQuery) (leases []checkout.Lease, err error) {
	q.Now, q.For = s.now(), holdLimit
	err = within(ctx, waitLimit, func(ctx context.Context) (err error) { leases, err = s.cfg.Store.Lease(ctx, q); return err })
	if err != nil {
		return nil, fmt.Errorf("lease jobs: %w", err)
	}
	return leases, nil
}
