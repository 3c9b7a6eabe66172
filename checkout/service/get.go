package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// observeLimit is how long a request waits for the processor.
const observeLimit = time.Second

// Checkout returns the caller's checkout, its setup as fresh as the processor tells within a second.
// The refusals are CodeProviderUnknown, CodeProviderNotEnabled, CodeCheckoutUnknown and CodeBusy.
func (s *Service) Checkout(ctx context.Context, caller Caller, id string) (checkout.Checkout, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if _, err := s.admit(ctx, caller, checkout.Given[string]{}); err != nil {
		return checkout.Checkout{}, err
	}
	stored, err := s.owned(ctx, caller, id)
	if err != nil {
		return stored, err
	}
	fresh, err := s.refresh(ctx, stored)
	if err != nil {
		s.cfg.Report(ctx, err) // a stale answer is better than none
		return stored, nil
	}
	return fresh, nil
}

// owned returns the caller's checkout. Another provider's does not exist.
func (s *Service) owned(ctx context.Context, caller Caller, id string) (checkout.Checkout, error) {
	stored, err := s.cfg.Store.Checkout(ctx, id)
	if errors.Is(err, ports.ErrNotFound) || err == nil && stored.ProviderCode != caller.ProviderCode {
		return checkout.Checkout{}, checkout.Refuse(checkout.CodeCheckoutUnknown, "there is no checkout with this id")
	}
	if err != nil {
		return checkout.Checkout{}, s.fail(ctx, "read checkout", err)
	}
	return stored, nil
}

// refresh asks the processor about a begun setup, and stores what is new.
func (s *Service) refresh(ctx context.Context, stored checkout.Checkout) (checkout.Checkout, error) {
	if stored.Setup.BillingRequestID == "" {
		return stored, nil
	}
	asking, cancel := context.WithTimeout(ctx, observeLimit)
	defer cancel()
	seen, err := s.cfg.Processor.Observe(asking, stored.Setup, s.now())
	if err != nil {
		return stored, fmt.Errorf("observe the setup of %s: %w", stored.ID, err)
	}
	if stored.Observe(seen).Next.Setup == stored.Setup {
		return stored, nil
	}
	return s.update(ctx, stored.ID, ports.Queued{}, func(c checkout.Checkout) (checkout.Change, error) {
		if c.Setup.BillingRequestID != stored.Setup.BillingRequestID {
			return checkout.Change{Next: c}, nil // the payer began anew meanwhile
		}
		return c.Observe(seen), nil
	})
}
