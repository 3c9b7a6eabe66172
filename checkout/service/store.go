package service

import (
	"context"
	"errors"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// update stores what decide makes of a checkout, without notices where the payer is not notified, and returns the change. An error of decide is returned unchanged.
func (s *Service) update(ctx context.Context, id string, q ports.Enqueue,
	decide func(checkout.Checkout) (checkout.Change, error)) (checkout.Change, error) {
	var change checkout.Change
	var decided error
	err := s.cfg.Store.UpdateCheckout(ctx, id, q, func(c checkout.Checkout) (checkout.Change, error) {
		change, decided = decide(c)
		if s.cfg.Notifier == nil {
			change.Notices = nil
		}
		return change, decided
	})
	switch {
	case err == nil:
		return change, nil
	case decided != nil && errors.Is(err, decided):
		return change, decided
	}
	return change, s.fail(ctx, "update checkout "+id, err)
}

// owned returns the caller's checkout. Another provider's does not exist, and neither does one that is only reserved.
func (s *Service) owned(ctx context.Context, caller Caller, id string) (checkout.Checkout, error) {
	if !checkout.PlausibleID(id) {
		return checkout.Checkout{}, checkout.CheckoutNotFound()
	}
	stored, err := found(s.cfg.Store.Checkout(ctx, id))
	switch {
	case err != nil:
		return checkout.Checkout{}, s.fail(ctx, "read checkout", err)
	case stored == nil, stored.ProviderCode != caller.ProviderCode, stored.Status == checkout.Reserved:
		return checkout.Checkout{}, checkout.CheckoutNotFound()
	}
	return *stored, nil
}

// enqueue says how the events of a change of this provider's checkout enter the outbox: leased to the caller for a time.
func enqueue(provider catalogue.Provider, now time.Time, lease time.Duration) ports.Enqueue {
	if !provider.Destination.Configured() {
		return ports.Enqueue{Status: events.NotConfigured}
	}
	return ports.Enqueue{Status: events.Pending, Until: now.Add(lease)}
}

// pageURL returns the address of the setup page.
func (s *Service) pageURL(token string) string { return s.cfg.BaseURL + SetupPath + "?token=" + token }
