package service

import (
	"context"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Events returns a page of the caller's events of the last checkout.EventsKept days, the oldest first. The refusals are
// PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, VALIDATION_ERROR and BUSY.
func (s *Service) Events(ctx context.Context, caller Caller, l checkout.List) (page []checkout.ListedEvent, err error) {
	defer recovered(&err)
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	if _, err := s.admit(ctx, caller, checkout.Optional[string]{}); err != nil {
		return nil, err
	}
	query, err := l.Query(caller.ProviderCode, s.now())
	if err != nil {
		return nil, err
	}
	if page, err = s.cfg.Store.Events(ctx, query); err != nil {
		return nil, s.fail(ctx, "list the events of provider "+caller.ProviderCode, err)
	}
	return page, nil
}
