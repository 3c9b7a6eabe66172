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
	// observeLimit is how long a request waits for the processor.
	observeLimit = time.Second
	// observeLife is how long what it said is believed: however many poll a checkout, the processor
	// is asked no more often.
	observeLife = 2 * time.Second
)

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
	fresh, err := s.refresh(ctx, stored, s.askSeldom)
	if err != nil {
		s.cfg.Report(ctx, err) // a stale answer is better than none
		return stored, nil
	}
	return fresh, nil
}

// owned returns the caller's checkout. Another provider's does not exist.
func (s *Service) owned(ctx context.Context, caller Caller, id string) (checkout.Checkout, error) {
	unknown := checkout.Refuse(checkout.CodeCheckoutUnknown,
		"there is no checkout with this id; send the checkout.checkout_id that your create answered")
	if !checkout.MayBeID(id) {
		return checkout.Checkout{}, unknown
	}
	stored, err := s.cfg.Store.Checkout(ctx, id)
	if errors.Is(err, ports.ErrNotFound) || err == nil && stored.ProviderCode != caller.ProviderCode {
		return checkout.Checkout{}, unknown
	}
	if err != nil {
		return checkout.Checkout{}, s.fail(ctx, "read checkout", err)
	}
	return stored, nil
}

// ask asks the processor about a setup.
func (s *Service) ask(ctx context.Context, setup checkout.Setup) (checkout.Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, observeLimit)
	defer cancel()
	return s.cfg.Processor.Observe(ctx, setup, s.now())
}

// askSeldom returns what the processor said of a setup just now, or asks.
func (s *Service) askSeldom(ctx context.Context, setup checkout.Setup) (checkout.Observation, error) {
	return s.observed.get(s.now(), setup.BillingRequestID, func() (checkout.Observation, error) {
		return s.ask(ctx, setup)
	})
}

// refresh returns the checkout with what ask learns of its setup, and stores what is new.
func (s *Service) refresh(ctx context.Context, stored checkout.Checkout,
	ask func(context.Context, checkout.Setup) (checkout.Observation, error)) (checkout.Checkout, error) {
	if stored.Setup.BillingRequestID == "" {
		return stored, nil
	}
	seen, err := ask(ctx, stored.Setup)
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
