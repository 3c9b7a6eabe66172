package service

import (
	"context"
	"errors"

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
	change, err := s.update(ctx, provider, c, func(stored checkout.Checkout) (checkout.Change, error) {
		return cmd.Decide(stored, s.now())
	})
	if errors.Is(err, checkout.ErrEnded) {
		err = nil
	}
	return change.Next, err
}
