package service

import (
	"context"
	"errors"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Events returns a page of the caller's events of the last 400 days, the oldest first. The refusals are PROVIDER_NOT_FOUND,
// PROVIDER_NOT_ENABLED, VALIDATION_ERROR and BUSY.
func (s *Service) Events(ctx context.Context, caller Caller, l checkout.List) (page []checkout.EventRecord, err error) {
	defer recovered(&err)
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	if _, err := s.admit(ctx, caller, checkout.Optional[string]{}); err != nil {
		return nil, err
	}
	limit, err := l.Check()
	if err != nil {
		return nil, err
	}
	f := checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}, ProviderCode: caller.ProviderCode,
		Since: s.now().Add(-checkout.EventsKept), After: &l.After.Value}
	if l.OrderID.Given {
		of, err := found(s.cfg.Store.FindCheckout(ctx, checkout.Reference{ProviderCode: caller.ProviderCode, OrderID: l.OrderID.Value}))
		switch {
		case err != nil:
			return nil, s.fail(ctx, "look up the order of a list", err)
		case of == nil:
			return nil, nil
		}
		f.CheckoutID = of.ID
	}
	jobs, err := s.cfg.Store.Jobs(ctx, f, limit)
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return nil, checkout.RefuseCursor()
	case err != nil:
		return nil, s.fail(ctx, "list the events of provider "+caller.ProviderCode, err)
	}
	for _, j := range jobs {
		page = append(page, j.EventRecord())
	}
	return page, nil
}
