package service

import (
	"context"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// lookAgain is the pause after a question that the processor did not answer.
const lookAgain = time.Minute

// look asks the processor about a setup, without a caller, until its answer is final.
func (s *Service) look(ctx context.Context, l checkout.Lease) (o checkout.Outcome, err error) {
	stored, err := found(s.cfg.Store.Checkout(ctx, l.Job.CheckoutID))
	switch {
	case err != nil:
		return o, err
	case stored == nil:
		return checkout.Outcome{State: checkout.JobDropped}, nil
	}
	o = checkout.Outcome{State: checkout.JobDone, Attempts: 1}
	fresh, failure := s.refresh(ctx, *stored)
	if failure != nil {
		s.report(ctx, Failure{Operation: OperationObserve, Severity: Warning, About: stored.About(), Err: failure})
		o.State, o.Pause, o.Failure = checkout.JobPending, lookAgain, checkout.FailureOf(failure, s.now())
		return o, nil
	}
	if pause, again := fresh.NextLook(s.processor.Notifies, s.now()); again {
		o.State, o.Pause = checkout.JobPending, pause
	}
	return o, nil
}

// Notified takes notifications of the processor, each of which names a setup that the service then asks the processor about. A setup of
// nobody here is passed over. A receiver may acknowledge them when Notified has returned nil.
func (s *Service) Notified(ctx context.Context, all []checkout.Notification) (err error) {
	defer recovered(&err)
	ctx, cancel := detached(ctx, waitLimit)
	defer cancel()
	var jobs []checkout.Job
	for _, n := range all {
		c, err := found(s.cfg.Store.FindCheckout(ctx, checkout.Reference{BillingRequestID: n.BillingRequestID, MandateID: n.MandateID}))
		switch {
		case err != nil:
			return s.fail(ctx, "look for the checkout of a notification", err)
		case c != nil:
			jobs = append(jobs, c.Job(checkout.JobLook, "", s.now(), 0))
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	if _, err := s.cfg.Store.Enqueue(ctx, jobs, nil); err != nil {
		return s.fail(ctx, "store notifications", err)
	}
	s.wakeScheduler()
	return nil
}

// end ends the setup of a checkout that has ended, at the processor, and stores what the processor says of it then.
func (s *Service) end(ctx context.Context, l checkout.Lease) (o checkout.Outcome, err error) {
	c, err := found(s.cfg.Store.Checkout(ctx, l.Job.CheckoutID))
	switch {
	case err != nil:
		return o, err
	case c == nil, !c.Ended(), c.Erased():
		return checkout.Outcome{State: checkout.JobDropped}, nil
	}
	ended, failure := s.endSetup(ctx, *c)
	if failure != nil {
		s.report(ctx, Failure{Operation: OperationCancel, Severity: Warning, About: c.About(), RequestID: l.Job.RequestID, Err: failure})
		return checkout.Outcome{State: checkout.JobPending, Attempts: 1, Pause: checkout.SyncPause(l.Attempts+1, false),
			Failure: checkout.FailureOf(failure, s.now())}, nil
	}
	p, err := s.providerOf(ctx, c.ProviderCode)
	if err != nil {
		return o, err
	}
	_, err = s.updateLater(ctx, p, ended, func(c checkout.Checkout) (checkout.Change, error) {
		return c.SetupEnded(l.Job.RequestID, s.now()), nil
	})
	return checkout.Outcome{State: checkout.JobDone, Attempts: 1}, err
}

// endSetup ends a setup that lives, and returns the checkout as it is then.
func (s *Service) endSetup(ctx context.Context, c checkout.Checkout) (checkout.Checkout, error) {
	if !c.ToEnd() {
		return c, nil
	}
	if err := s.ask(ctx, c, processorLimit, s.cfg.Processor.Cancel); err != nil {
		return c, fmt.Errorf("end the setup of %s: %w", c.ID, err)
	}
	fresh, err := s.refresh(ctx, c)
	if err == nil && fresh.ToEnd() { // it lives again already, or the processor does not say yet that it has ended
		err = fmt.Errorf("end the setup of %s: the processor still has mandate %s", c.ID, fresh.Setup.Mandate)
	}
	return fresh, err
}
