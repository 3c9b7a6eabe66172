package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Cancel cancels the caller's checkout with this id before its confirm. A repeat is answered as the first was, and changes nothing. It
// takes up to ten seconds. The refusals are PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, VALIDATION_ERROR, CHECKOUT_NOT_FOUND, CONFLICT
// once it is confirmed, CHECKOUT_ERASED and BUSY. Where the command has no RequestID, one is made.
func (s *Service) Cancel(ctx context.Context, caller Caller, id string, cmd checkout.Cancel) (c checkout.Checkout, err error) {
	err = s.serve(ctx, call{Caller: caller, id: id, requestID: &cmd.RequestID},
		func(ctx context.Context, _ catalogue.Provider) (none heldChange, err error) {
			if err := cmd.Check(); err != nil {
				return none, err
			}
			ctx, cancel := detached(ctx, waitLimit)
			defer cancel()
			if _, err := s.owned(ctx, caller, id); err != nil {
				return none, err
			}
			cmd.By, cmd.Actor = checkout.PartyProvider, checkout.ProviderActor(caller.KeyID)
			change, err := s.update(ctx, id, checkout.JobEntry{Now: s.now()}, func(stored checkout.Checkout, now time.Time) (checkout.Change, error) {
				return cmd.Decide(stored, now)
			})
			switch c = change.Next; {
			case errors.Is(err, checkout.ErrEnded):
				return none, nil
			case err != nil:
				return none, err
			}
			s.wakeScheduler()
			return none, nil
		})
	return c, err
}

// cancelSetup has the processor end the setup of a checkout that has ended, and records what the processor says of it then. The job
// stays pending until that is done: every attempt may find what an attempt before has done.
func (s *Service) cancelSetup(ctx context.Context, l checkout.Lease) error {
	attempting, cancel := detached(ctx, waitLimit+s.cfg.ProcessorTimeout)
	defer cancel()
	failure := s.endAtProcessor(attempting, l.Job)
	outcome := checkout.Outcome{State: checkout.JobDone, Attempts: 1}
	if failure != nil {
		outcome.State, outcome.Pause = checkout.JobPending, checkout.CRMPause(l.Attempts+1, false)
		outcome.Failure = checkout.FailureOf(failure, s.now())
		return errors.Join(failure, s.settleAttempt(ctx, l, outcome))
	}
	settling, cancel := detached(ctx, settleLimit)
	defer cancel()
	entry := checkout.JobEntry{Now: s.now()}
	_, err := s.settle(settling, l, outcome, entry, func(c checkout.Checkout, now time.Time) (checkout.Change, error) {
		return c.SetupEnded(l.Job.RequestID, now), nil
	})
	if lost(err) {
		return nil
	}
	return err
}

// endAtProcessor ends the setup of a job, unless that is done or a later try has its own job.
func (s *Service) endAtProcessor(ctx context.Context, j checkout.Job) error {
	c, err := found(s.cfg.Store.Checkout(ctx, j.CheckoutID))
	switch {
	case err != nil:
		return fmt.Errorf("read checkout %s: %w", j.CheckoutID, err)
	case c == nil, !c.ToEnd(), c.Setup.Try != j.Try:
		return nil
	}
	calling, cancel := context.WithTimeout(ctx, s.cfg.ProcessorTimeout)
	defer cancel()
	if err := s.ask(calling, *c, checkout.ForNotification, s.cfg.Processor.Cancel); err != nil {
		return fmt.Errorf("end the setup of %s: %w", c.ID, err)
	}
	fresh, err := s.refresh(ctx, *c, checkout.ForNotification)
	if err == nil && fresh.ToEnd() { // it lives again already, or the processor does not say yet that it has ended
		err = fmt.Errorf("end the setup of %s: the processor still has mandate %s", c.ID, fresh.Setup.Mandate)
	}
	return err
}
