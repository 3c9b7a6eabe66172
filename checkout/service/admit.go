package service

import (
	"context"
	"errors"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Caller is an authenticated provider.
type Caller struct {
	ProviderCode string
	KeyID        string // of its API key; "" without an API key
}

// Authenticate returns the caller to whom the key belongs. It writes nothing. The refusals are
// MISSING_API_KEY for an empty key, and INVALID_API_KEY.
func (s *Service) Authenticate(ctx context.Context, key string) (caller Caller, err error) {
	defer recovered(&err)
	if key == "" {
		return Caller{}, checkout.MissingAPIKey("there is no API key; send it as Authorization: Bearer <API_KEY>")
	}
	hash, ok := catalogue.HashKey(key)
	if !ok {
		return Caller{}, checkout.InvalidAPIKey()
	}
	found, err := found(s.configured.key(ctx, s.now(), hash))
	if err != nil {
		return Caller{}, s.fail(ctx, "read the API key", err)
	}
	if err := checkout.Authenticate(found, s.cfg.Environment); err != nil {
		return Caller{}, err
	}
	return Caller{ProviderCode: found.Provider, KeyID: found.ID}, nil
}

// admit returns the caller's provider if the request names no other provider and the provider's configuration
// allows calls.
func (s *Service) admit(ctx context.Context, caller Caller, named checkout.Optional[string]) (catalogue.Provider, error) {
	p, err := found(s.configured.provider(ctx, s.now(), caller.ProviderCode))
	if err != nil {
		return catalogue.Provider{}, s.fail(ctx, "read provider "+caller.ProviderCode, err)
	}
	if err := checkout.Admit(caller.ProviderCode, named, p, s.cfg.Environment); err != nil {
		return catalogue.Provider{}, err
	}
	return *p, nil
}

// found returns what was read, or nil for ports.ErrNotFound.
func found[T any](v T, err error) (*T, error) {
	if errors.Is(err, ports.ErrNotFound) {
		return nil, nil
	}
	return &v, err
}
