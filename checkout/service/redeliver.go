package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// This file sends events again: events that failed, where the provider's configuration says for how long (Destination.RedeliverFor), and
// events for which their provider or an operator asks.

// Redeliver has an event of the caller that was delivered or has failed sent again, once, in the background; a pending event is being
// sent anyway. The refusals are PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, EVENT_NOT_FOUND, CONFLICT for an event without a destination,
// and BUSY.
func (s *Service) Redeliver(ctx context.Context, caller Caller, id, requestID string) (err error) {
	defer recovered(&err)
	ctx, cancel := detached(withSubject(ctx), waitLimit)
	defer cancel()
	provider, err := s.admit(ctx, caller, checkout.Optional[string]{})
	if err != nil {
		return err
	}
	event, err := s.Event(ctx, caller, id)
	if err != nil {
		return err
	}
	concerns(ctx, event.Job.About())
	switch err := checkout.EventOf(event).Resend(provider); {
	case errors.Is(err, checkout.ErrPending):
		return nil
	case err != nil:
		return err
	}
	again := checkout.SendNow(event.Job.Event(), checkout.ProviderActor(caller.KeyID), requestID, requestID, s.now())
	if _, err := s.cfg.Store.Enqueue(ctx, []checkout.Job{again}, nil); err != nil {
		return s.fail(ctx, "send event "+id+" again", err)
	}
	s.wakeScheduler()
	return nil
}

// Event returns an event of the caller with the job that delivers it. The refusals are EVENT_NOT_FOUND, also for an event that its list
// has no more, and BUSY.
func (s *Service) Event(ctx context.Context, caller Caller, id string) (event checkout.JobRecord, err error) {
	if !checkout.PlausibleID(id) {
		return event, checkout.EventNotFound()
	}
	// Either search has an index: an unknown id must not cost a reading of all jobs.
	for _, f := range []checkout.JobFilter{{Settled: true}, {State: checkout.JobPending, Kinds: []checkout.JobKind{checkout.JobDeliver}}} {
		f.ID, f.ProviderCode, f.CreatedSince = id, caller.ProviderCode, checkout.EventsSince(s.now())
		switch found, err := s.cfg.Store.Jobs(ctx, f, 1); {
		case err != nil:
			return event, s.fail(ctx, "read event "+id, err)
		case len(found) > 0:
			return found[0], nil
		}
	}
	return event, checkout.EventNotFound()
}

// furtherRuns returns the change that enqueues the further runs of an event that has failed; nil without further runs.
func (s *Service) furtherRuns(ctx context.Context, event checkout.Job) (decider, error) {
	provider, err := s.providerOf(ctx, event.ProviderCode)
	if err != nil {
		return nil, err
	}
	now := s.now()
	pause, again := checkout.NextRun(now, now, provider.Destination.RedeliverFor)
	if !again {
		return nil, nil
	}
	return func(c checkout.Checkout, _ time.Time) (checkout.Change, error) {
		return checkout.Change{Next: c, Jobs: []checkout.Job{checkout.SendAgain(event.Event(), now, pause)}}, nil
	}, nil
}

// redeliverLater makes the next run of attempts at an event that failed, unless it was delivered meanwhile.
func (s *Service) redeliverLater(ctx context.Context, l checkout.Lease) error {
	id := l.Job.EventID()
	found, err := s.cfg.Store.Jobs(ctx, checkout.JobFilter{ID: id, CheckoutID: l.Job.CheckoutID}, 1)
	if err != nil {
		return fmt.Errorf("read event %s: %w", id, err)
	}
	provider, err := s.providerOf(ctx, l.Job.ProviderCode)
	asked := l.Job.AskedBy() != ""
	switch {
	case err != nil:
		return err
	case len(found) == 0, !asked && (found[0].State != checkout.JobDead || provider.Destination.RedeliverFor == 0),
		s.now().Sub(l.Job.CreatedAt) > catalogue.MaxRedeliver: // its receiver took nothing in all that time
		return s.settleAttempt(ctx, l, checkout.Outcome{State: checkout.JobDropped})
	}
	d := deliverer{Service: s, scheduled: true}
	leave, err := d.slot(ctx, l.Job.ProviderCode)
	if err != nil {
		return nil // the service stops
	}
	defer leave()
	d.scheduled = false // a run is made in full, whatever the receiver did before
	switch err := d.ensure(ctx, &l); {
	case errors.Is(err, ports.ErrNotFound): // another process has it
		return nil
	case err != nil:
		return err
	}
	running, done := context.WithTimeout(ctx, l.Until.Sub(s.now())) // so that no two processes send at once
	defer done()
	outcome, _, err := d.run(running, checkout.Lease{Job: found[0].Job, Attempts: l.Attempts % events.MaxAttempts})
	if err != nil {
		return err
	}
	for i := range outcome.Log {
		outcome.Log[i].AskedBy = l.Job.AskedBy()
	}
	if outcome.State == checkout.JobDead && !asked {
		if pause, again := checkout.NextRun(l.Job.CreatedAt, s.now(), provider.Destination.RedeliverFor); again {
			outcome.State, outcome.Pause = checkout.JobPending, pause
		}
	}
	settling, cancel := detached(ctx, settleLimit)
	defer cancel()
	if err := s.settleSent(settling, l, outcome, nil); !errors.Is(err, ports.ErrNotFound) {
		return err
	}
	return nil
}
