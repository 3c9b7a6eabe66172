package service

import (
	"context"
	"errors"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// slotsOfProvider is the number of deliveries at once of each provider's events in a process, so that one receiver delays no other.
	// A delivery that finds no slot within slotLimit is left to another attempt.
	slotsOfProvider = 64
	slotLimit       = time.Second
)

// deliver makes a round of attempts to deliver an event (section 6): three at most, with one signature, at the contract's delays. A
// stopping service makes no further attempt.
func (s *Service) deliver(ctx context.Context, l checkout.Lease) (o checkout.Outcome, err error) {
	p, err := s.providerOf(ctx, l.Job.ProviderCode)
	switch {
	case err != nil:
		return o, err
	case !p.Destination.Configured():
		return checkout.Outcome{State: checkout.JobDropped}, nil
	}
	waiting, cancel := context.WithTimeout(ctx, slotLimit)
	defer cancel()
	unlock, _, err := s.slots.lock(waiting, p.Code)
	if err != nil {
		return o, errLeft
	}
	defer unlock()
	event := l.Job.Event()
	sent := events.NewDelivery(event, p.Destination.Secret, s.now())
	for made := l.Attempts % events.MaxAttempts; ; {
		err := s.cfg.Sender.Send(ctx, p.Destination, sent, l.Attempts+o.Attempts+1)
		switch {
		case err == nil:
			o.Attempts++
			o.State, o.Moments = checkout.JobDone, s.moments(l.Job, checkout.MomentEventDelivered, l.Job.ID)
			return o, nil
		case errors.Is(err, ports.ErrBusy):
			return o, err
		case errors.Is(err, ports.ErrProhibited): // no request was made, and no request will be
			return s.undelivered(l, o, err), nil
		}
		o.Attempts++
		made++
		s.report(ctx, Failure{Operation: OperationSend, Severity: Warning, About: l.Job.About(), EventID: event.ID,
			Attempt: l.Attempts + o.Attempts, Err: err})
		switch {
		case made >= events.MaxAttempts:
			return s.undelivered(l, o, err), nil
		case s.stopping.Load() || sleep(ctx, events.Delay(made+1)) != nil:
			o.State, o.Failure = checkout.JobPending, checkout.FailureOf(err, s.now())
			return o, nil
		}
	}
}

// undelivered returns the outcome of an event that is given up.
func (s *Service) undelivered(l checkout.Lease, o checkout.Outcome, err error) checkout.Outcome {
	o.State, o.Failure = checkout.JobFailed, checkout.FailureOf(err, s.now())
	o.Moments = s.moments(l.Job, checkout.MomentEventFailed, l.Job.ID+":", o.Failure.Reason)
	return o
}

// Events returns a page of the caller's events of the last 400 days, by the jobs that deliver them, the oldest first. The
// refusals are PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, VALIDATION_ERROR and BUSY.
func (s *Service) Events(ctx context.Context, caller Caller, l checkout.List) (page []checkout.JobRecord, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	if _, err := s.admit(ctx, caller, checkout.Optional[string]{}); err != nil {
		return nil, err
	}
	limit, err := l.Check()
	if err != nil {
		return nil, err
	}
	f := checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}, ProviderCode: caller.ProviderCode,
		Since: s.now().Add(-checkout.EventsKept), After: &l.After.Value}
	if l.OrderID.Given {
		of, err := found(s.cfg.Store.FindCheckout(ctx, checkout.Reference{ProviderCode: caller.ProviderCode, OrderID: l.OrderID.Value}))
		switch {
		case err != nil:
			return nil, s.fail(ctx, "look up the order of a list", err)
		case of == nil:
			return nil, nil
		}
		f.CheckoutID = of.ID
	}
	switch page, err = s.cfg.Store.Jobs(ctx, f, limit); {
	case errors.Is(err, ports.ErrNotFound):
		return nil, checkout.RefuseCursor()
	case err != nil:
		return nil, s.fail(ctx, "list the events of provider "+caller.ProviderCode, err)
	}
	return page, nil
}
