package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Cancel cancels the caller's checkout with this id before its confirm. A repeat is answered as the first was, and changes nothing. The
// refusals are PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, VALIDATION_ERROR, CHECKOUT_NOT_FOUND, CONFLICT once it is confirmed,
// CHECKOUT_ERASED and BUSY. Where the command has no RequestID, one is made.
func (s *Service) Cancel(ctx context.Context, caller Caller, id string, cmd checkout.Cancel) (c checkout.Checkout, err error) {
	defer func() { s.Refused(caller, id, cmd.RequestID, err) }()
	defer recovered(&err)
	provider, err := s.admit(ctx, caller, checkout.Optional[string]{})
	if err != nil {
		return c, err
	}
	if cmd.RequestID, err = s.requestID(cmd.RequestID); err != nil {
		return c, err
	}
	if err := cmd.Check(); err != nil {
		return c, err
	}
	ctx, cancel := detached(ctx, waitLimit)
	defer cancel()
	if c, err = s.owned(ctx, caller, id); err != nil {
		return c, err
	}
	cmd.By, cmd.Actor = checkout.PartyProvider, checkout.ProviderActor(caller.KeyID)
	change, err := s.update(ctx, provider, c, direct, func(stored checkout.Checkout) (checkout.Change, error) {
		return cmd.Decide(stored, s.now())
	})
	if errors.Is(err, checkout.ErrEnded) {
		err = nil
	}
	return change.Next, err
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
	_, err = s.update(ctx, p, ended, 0, func(c checkout.Checkout) (checkout.Change, error) {
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
