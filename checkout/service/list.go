package service

import (
	"context"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Events returns a page of the caller's events of the last checkout.EventsKept days, the oldest first. The refusals are
// PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, VALIDATION_ERROR and BUSY.
func (s *Service) Events(ctx context.Context, caller Caller, l checkout.List) ([]checkout.ListedEvent, error) {
	return list(ctx, s, caller, l, func(ctx context.Context, q checkout.ListQuery) ([]checkout.ListedEvent, error) {
		q.Since = checkout.EventsSince(s.now())
		return s.cfg.Store.Events(ctx, q)
	})
}

// Enrolments returns a page of the caller's checkouts, the oldest change first. The refusals are the same as of Events.
func (s *Service) Enrolments(ctx context.Context, caller Caller, l checkout.List) ([]checkout.ListedEnrolment, error) {
	return list(ctx, s, caller, l, s.cfg.Store.Enrolments)
}

func list[T any](ctx context.Context, s *Service, caller Caller, l checkout.List,
	read func(context.Context, checkout.ListQuery) ([]T, error)) (page []T, err error) {
	defer recovered(&err)
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	if _, err := s.admit(ctx, caller, checkout.Optional[string]{}); err != nil {
		return nil, err
	}
	query, err := l.Query(caller.ProviderCode)
	if err != nil {
		return nil, err
	}
	if s.cfg.Ahead != nil {
		query.Now = s.now()
	}
	if page, err = read(ctx, query); err != nil {
		return nil, s.fail(ctx, "read a list", err)
	}
	return page, nil
}
