package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

const (
	// settlingFor limits the time in which a notification of a fulfilled billing request is handled again because the mandate is not
	// known.
	settlingFor = time.Hour
	// settlingPause is the pause before that.
	settlingPause = 20 * time.Second
	// notifiedPause is the pause before a notification is handled again after a failure.
	notifiedPause = 10 * time.Second
	// togetherPause is the pause before a question, in which the notifications begin that came with the first.
	togetherPause = 10 * time.Millisecond

	manyNotified = 4096
)

// look asks the processor about the setup of a JobLook whose outcome is not final. The job stays pending until the outcome is final,
// with longer and longer pauses.
func (s *Service) look(ctx context.Context, l checkout.Lease) error {
	stored, err := found(s.cfg.Store.Checkout(ctx, l.Job.CheckoutID))
	if err != nil {
		return fmt.Errorf("read checkout %s: %w", l.Job.CheckoutID, err)
	}
	var asked error
	outcome := checkout.Outcome{State: checkout.JobDone}
	if stored != nil {
		fresh := *stored
		if _, again := stored.NextLook(l.Job.Try, s.processor.Notifies, s.now()); again {
			fresh, asked = s.refresh(ctx, *stored, checkout.ForNotification)
		}
		if pause, again := fresh.NextLook(l.Job.Try, s.processor.Notifies, s.now()); again {
			outcome.State, outcome.Pause = checkout.JobPending, pause
		}
	}
	return errors.Join(asked, s.settleAttempt(ctx, l, outcome))
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
	s.wakeScheduler()
	return nil
}

// notifiedAnswer says at which place the setup of a notification's subject was asked about last, and whether it was settling.
type notifiedAnswer struct {
	place    int64 // in Service.places
	settling bool
}

// handleNotification has the processor asked about the setup that a notification names. A further attempt at a notification asks
// again.
func (s *Service) handleNotification(ctx context.Context, l checkout.Lease) error {
	n := l.Job.Notification()
	settling, err := s.answerTo(ctx, l.Job.Name, n)
	if err != nil && errors.Is(err, ctx.Err()) { // it waits for its next attempt
		return err
	}
	outcome := checkout.Outcome{State: checkout.JobDone, Attempts: 1}
	switch {
	case err != nil:
		outcome.State, outcome.Pause = checkout.JobPending, notifiedPause
		outcome.Failure = checkout.FailureOf(err, s.now())
	case settling && n.Settles && s.now().Sub(n.Received) <= settlingFor:
		outcome.State, outcome.Pause = checkout.JobPending, settlingPause
	}
	return errors.Join(err, s.settleAttempt(ctx, l, outcome))
}

// answerTo asks the processor about the subject of a notification, stores what is new, and reports whether the setup is settling. One
// question serves all notifications of that subject whose handling had begun before it, by no clock: that may be wrong, or another
// machine's.
func (s *Service) answerTo(ctx context.Context, subject string, n checkout.Notification) (settling bool, err error) {
	place := s.places.Add(1)
	unlock, _, err := s.notifying.lock(ctx, subject)
	if err != nil {
		return false, err
	}
	defer unlock()
	answer, known := s.notified.Get(subject)
	if !known || answer.place < place {
		if err := sleep(ctx, togetherPause); err != nil {
			return false, err
		}
		answer.place = s.places.Add(1)
		if answer.settling, err = s.refreshNotified(ctx, n); err != nil {
			return false, err
		}
		s.notified.Put(subject, answer)
	}
	return answer.settling, nil
}

// refreshNotified asks about the setup that a notification names, and reports whether it is settling. A setup that is not ours, or
// that a later try has replaced, is not.
func (s *Service) refreshNotified(ctx context.Context, n checkout.Notification) (settling bool, err error) {
	ctx, cancel := detached(ctx, waitLimit+s.cfg.ProcessorTimeout)
	defer cancel()
	subject := checkout.Reference{BillingRequestID: n.BillingRequestID, MandateID: n.MandateID}
	stored, err := found(s.cfg.Store.FindCheckout(ctx, subject))
	switch {
	case err != nil:
		return false, fmt.Errorf("look for the checkout of a notification: %w", err)
	case stored == nil, stored.Status == checkout.Reserved:
		return false, nil
	}
	concerns(ctx, stored.About())
	fresh, err := s.refresh(ctx, *stored, checkout.ForNotification)
	return fresh.Setup.BillingRequestID == n.BillingRequestID && fresh.Setup.Settling(), err
}
