package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// holdLimit is the time that a request holds the jobs that it enqueues, and that a lease lasts unless it is extended.
const holdLimit = 10 * time.Second

// update stores what decide makes of a checkout, and returns the change. An error of decide is returned unchanged.
func (s *Service) update(ctx context.Context, id string, q checkout.Enqueue,
	decide func(checkout.Checkout) (checkout.Change, error)) (checkout.Change, error) {
	change, decided, err := s.stored(ctx, decide, func(decide func(checkout.Checkout) (checkout.Change, error)) error {
		return s.cfg.Store.UpdateCheckout(ctx, id, q, decide)
	})
	if err != nil && !decided {
		err = s.fail(ctx, "update checkout "+id, err)
	}
	return change, err
}

// settle settles a job with what decide makes of its checkout, and returns that change; decide may be nil. An error of decide is
// returned unchanged. It wraps ports.ErrNotFound if the lease is lost.
func (s *Service) settle(ctx context.Context, l checkout.Lease, o checkout.Outcome, q checkout.Enqueue,
	decide func(checkout.Checkout) (checkout.Change, error)) (checkout.Change, error) {
	change, decided, err := s.stored(ctx, decide, func(decide func(checkout.Checkout) (checkout.Change, error)) error {
		return s.cfg.Store.Settle(ctx, l, o, q, decide)
	})
	switch {
	case err == nil:
		s.journal(ctx, aboutJob(l.Job), o.Moments)
	case !decided:
		err = fmt.Errorf("settle job %s: %w", l.Job.ID, err)
	}
	return change, err
}

// stored returns the change that decide made last, once store has stored it, and passes its moments on. With an error it reports
// whether that is decide's.
func (s *Service) stored(ctx context.Context, decide func(checkout.Checkout) (checkout.Change, error),
	store func(func(checkout.Checkout) (checkout.Change, error)) error) (change checkout.Change, byDecide bool, err error) {
	var decided error
	var deciding func(checkout.Checkout) (checkout.Change, error)
	if decide != nil {
		deciding = func(c checkout.Checkout) (checkout.Change, error) {
			change, decided = decide(c)
			change.Jobs = s.wanted(change.Jobs)
			return change, decided
		}
	}
	switch err = store(deciding); {
	case err == nil:
		s.journal(ctx, aboutCheckout(change.Next), change.Moments)
		return change, false, nil
	case decided != nil && errors.Is(err, decided):
		return change, true, decided
	}
	return change, false, err
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
	defer recovered(&err)
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	q.Now, q.For = s.now(), holdLimit
	if leases, err = s.cfg.Store.Lease(ctx, q); err != nil {
		return nil, fmt.Errorf("lease jobs: %w", err)
	}
	return leases, nil
}

// owned returns the caller's checkout. Another provider's does not exist, and neither does a checkout that is only reserved.
func (s *Service) owned(ctx context.Context, caller Caller, id string) (checkout.Checkout, error) {
	if !checkout.PlausibleID(id) {
		return checkout.Checkout{}, checkout.CheckoutNotFound()
	}
	stored, err := found(s.cfg.Store.Checkout(ctx, id))
	switch {
	case err != nil:
		return checkout.Checkout{}, s.fail(ctx, "read checkout", err)
	case stored == nil, stored.ProviderCode != caller.ProviderCode, stored.Status == checkout.Reserved:
		return checkout.Checkout{}, checkout.CheckoutNotFound()
	}
	concerns(ctx, aboutCheckout(*stored))
	return *stored, nil
}

// enqueue says how the jobs of a change of this provider's checkout enter the queue: held by the caller for a time.
func (s *Service) enqueue(provider catalogue.Provider, hold time.Duration) checkout.Enqueue {
	return checkout.Enqueue{Now: s.now(), Hold: hold, Unsent: !provider.Destination.Configured()}
}

// pageURL returns the address of the setup page.
func (s *Service) pageURL(token string) string { return s.cfg.BaseURL + SetupPath + "?token=" + token }
