package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// settlingFor is how long a notification of a fulfilled billing request is handled again because the mandate is not known.
	settlingFor = time.Hour
	// settlingPause is the pause before that.
	settlingPause = 20 * time.Second
	// notifiedPause is the pause before a notification is handled again after a failure.
	notifiedPause = 10 * time.Second

	manyNotified = 4096
)

// look is the handler of JobLook: it asks the processor about a setup whose outcome is not final, less and less often the older
// it is.
func (s *Service) look(ctx context.Context, l ports.Lease) error {
	stored, err := found(s.cfg.Store.Checkout(ctx, l.Job.CheckoutID))
	if err != nil {
		return fmt.Errorf("read checkout %s: %w", l.Job.CheckoutID, err)
	}
	var asked error
	outcome := ports.Outcome{State: checkout.JobDone}
	if stored != nil {
		fresh := *stored
		if _, again := stored.Setup.NextLook(l.Job.Try, s.now()); again {
			fresh, asked = s.refresh(ctx, *stored, s.observeFor(ports.ForNotification))
		}
		if pause, again := fresh.Setup.NextLook(l.Job.Try, s.now()); again {
			outcome.State, outcome.Again = checkout.JobPending, pause
		}
	}
	settling, cancel := detached(ctx, settleLimit)
	defer cancel()
	_, err = s.settle(settling, l, outcome, ports.Enqueue{Now: s.now()}, nil)
	if lost(err) {
		err = nil
	}
	return errors.Join(asked, err)
}

// Notified stores notifications of the processor, each of which is handled once: the service asks the processor about the setup
// that it names. A receiver may acknowledge them when Notified has returned nil.
func (s *Service) Notified(ctx context.Context, all []checkout.Notification) (err error) {
	defer recovered(&err)
	if len(all) == 0 {
		return nil
	}
	ctx, cancel := detached(ctx, waitLimit)
	defer cancel()
	jobs := make([]checkout.Job, len(all))
	for i, n := range all {
		jobs[i] = n.Job()
	}
	if _, err := s.cfg.Store.Enqueue(ctx, jobs); err != nil {
		return s.fail(ctx, "store notifications", err)
	}
	s.rouse()
	return nil
}

// handleNotification is the handler of JobNotified. Of several notifications about one subject the first to be handled answers
// those that came before it was asked.
func (s *Service) handleNotification(ctx context.Context, l ports.Lease) error {
	subject, settles := l.Job.Name, l.Job.Try > 0
	unlock, err := s.notified.asking.lock(ctx, subject)
	if err != nil {
		return err
	}
	defer unlock()
	asking := s.now()
	settling, err := s.notified.latest(subject, l.Job.CreatedAt), error(nil)
	if settling == nil {
		settling, err = s.refreshSubject(ctx, subject)
		if err == nil {
			s.notified.answers.Put(subject, notifiedAnswer{asking, *settling})
		}
	}
	outcome := ports.Outcome{State: checkout.JobDone, Attempts: 1}
	switch {
	case err != nil:
		outcome = ports.Outcome{State: checkout.JobPending, Attempts: 1, Again: notifiedPause}
	case *settling && settles && s.now().Sub(l.Job.CreatedAt) <= settlingFor:
		outcome = ports.Outcome{State: checkout.JobPending, Attempts: 1, Again: settlingPause}
	}
	storing, cancel := detached(ctx, settleLimit)
	defer cancel()
	_, stored := s.settle(storing, l, outcome, ports.Enqueue{Now: s.now()}, nil)
	if lost(stored) {
		stored = nil
	}
	return errors.Join(err, stored)
}

// refreshSubject asks about the setup that a notification names, a billing request or a mandate, and reports whether it is settling. A
// subject that is not ours, or that a later try has replaced, is not.
func (s *Service) refreshSubject(ctx context.Context, subject string) (settling *bool, err error) {
	c, err := s.RefreshBillingRequest(ctx, subject)
	if refusedWith(err, checkout.CodeCheckoutNotFound) {
		c, err = s.RefreshMandate(ctx, subject)
	}
	is := err == nil && c.Setup.BillingRequestID == subject && c.Setup.Settling()
	if refusedWith(err, checkout.CodeCheckoutNotFound) {
		err = nil
	}
	return &is, err
}
