package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Checkout returns the caller's checkout, with its setup as the processor reports it within a second. The refusals are
// PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, CHECKOUT_NOT_FOUND, CHECKOUT_ERASED and BUSY.
func (s *Service) Checkout(ctx context.Context, caller Caller, id string) (c checkout.Checkout, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	if _, err := s.admit(ctx, caller, checkout.Optional[string]{}); err != nil {
		return c, err
	}
	stored, err := s.owned(ctx, caller, id)
	if err != nil {
		return stored, err
	}
	if err := stored.Available(); err != nil {
		return checkout.Checkout{}, err
	}
	return s.refreshForPoll(ctx, stored), nil
}

// observationLife is the lifetime of an answer of the processor, by which further polls go.
const observationLife = 2 * time.Second

// observed is an answer of the processor about a setup, or the error in its place.
type observed struct {
	seen  checkout.Observation
	err   error
	payer bool // it was asked for a payer who came back

	before, after checkout.Observation // on record when the question began, and with the answer
}

// answer returns the latest answer of the processor, or a new one, for which there is one question at a time for a billing request. A
// payer who comes back must see what the setup led to, even if a poll asked a moment before. An answer from before something else was
// learned of the setup serves no caller who knows of it. A caller that hangs up does not end the question, because others wait for its
// answer.
func (s *Service) answer(ctx context.Context, c checkout.Checkout, payer bool) (observed, error) {
	id, known := c.Setup.BillingRequestID, c.Setup.Observation
	unlock, _, err := s.asking.lock(ctx, id)
	if err != nil {
		return observed{}, err
	}
	defer unlock()
	o, fresh := s.answers.Fresh(s.now(), id)
	if fresh && (o.payer || !payer) && (known == o.before || known == o.after) {
		return o, o.err
	}
	o = observed{payer: payer, before: known}
	o.seen, o.err = s.observe(context.WithoutCancel(ctx), c, pollLimit)
	if o.err == nil {
		o.after = c.Observe(o.seen, s.now()).Next.Setup.Observation
	}
	s.answers.Put(s.now(), id, o)
	return o, o.err
}

// refreshForPoll returns the checkout with its setup as fresh as the processor answers within pollLimit, or answered another
// poll just now. A stale answer is better than no answer. The record has what a processor that notifies says.
func (s *Service) refreshForPoll(ctx context.Context, stored checkout.Checkout) checkout.Checkout {
	if s.processor.Notifies || stored.Setup.BillingRequestID == "" {
		return stored
	}
	o, err := s.answer(ctx, stored, false)
	if err == nil {
		stored, err = s.storeObservation(ctx, stored, o.seen)
	}
	if err != nil {
		s.report(ctx, Failure{Operation: OperationObserve, Severity: Warning, About: stored.About(), Err: err})
	}
	return stored
}

// observe asks the processor about the setup of a checkout, within a time.
func (s *Service) observe(ctx context.Context, c checkout.Checkout, limit time.Duration) (seen checkout.Observation, err error) {
	err = s.ask(ctx, c, limit, func(ctx context.Context, q checkout.SetupQuery) (err error) {
		seen, err = s.cfg.Processor.Observe(ctx, q)
		return err
	})
	if err != nil {
		return seen, fmt.Errorf("observe the setup of %s: %w", c.ID, err)
	}
	return seen, nil
}

// ask asks the processor something about the setup of a checkout, in its provider's account, within a time. A provider that was
// removed has no account.
func (s *Service) ask(ctx context.Context, c checkout.Checkout, limit time.Duration,
	question func(context.Context, checkout.SetupQuery) error) error {
	return within(ctx, limit, func(ctx context.Context) error {
		p, err := s.providerOf(ctx, c.ProviderCode)
		if err != nil {
			return err
		}
		return question(ctx, checkout.SetupQuery{Setup: c.Setup, OrderID: c.OrderID, Account: s.accountOf(p)})
	})
}

// refresh asks the processor about a checkout's setup within processorLimit, and stores what is new. With an error it returns
// the checkout as it was.
func (s *Service) refresh(ctx context.Context, stored checkout.Checkout) (checkout.Checkout, error) {
	if stored.Setup.BillingRequestID == "" {
		return stored, nil
	}
	seen, err := s.observe(ctx, stored, processorLimit)
	if err != nil {
		return stored, err
	}
	return s.storeObservation(ctx, stored, seen)
}

// errOvertaken: the end of the mandate was learned since the question, without its time: the answer may be from before the end, and the
// next question tells.
var errOvertaken = errors.New("the mandate has ended since the question")

// storeObservation stores what the processor said of a checkout's setup, if that is new, and leaves the jobs that follow to the
// scheduler.
func (s *Service) storeObservation(ctx context.Context, stored checkout.Checkout, seen checkout.Observation) (checkout.Checkout, error) {
	if !stored.Observe(seen, s.now()).Changes() {
		return stored, nil
	}
	p, err := s.providerOf(ctx, stored.ProviderCode)
	if err != nil {
		return stored, err
	}
	change, err := s.update(ctx, p, stored, 0, func(c checkout.Checkout) (checkout.Change, error) {
		known := c.Setup.Observation
		switch {
		case c.Setup.BillingRequestID != stored.Setup.BillingRequestID: // the payer has begun another try meanwhile
			return checkout.Change{Next: c}, nil
		case known != stored.Setup.Observation && known.Mandate.Dead() && known.MandateSince.IsZero() && !seen.Mandate.Dead():
			return checkout.Change{Next: c}, errOvertaken
		}
		return c.Observe(seen, s.now()), nil
	})
	switch {
	case errors.Is(err, errOvertaken):
		return change.Next, checkout.Busy()
	case err != nil:
		return stored, err
	}
	return change.Next, nil
}

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
// no checkout is ignored. A receiver may acknowledge them when Notified has returned nil.
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
