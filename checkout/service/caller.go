package service

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
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
	onRecord, err := found(s.keys.get(s.now(), hash, func() (catalogue.Key, error) {
		ctx, cancel := withTimeout(ctx)
		defer cancel()
		return s.cfg.Store.Key(ctx, hash)
	}))
	if err != nil {
		return Caller{}, s.fail(ctx, "read the API key", err)
	}
	if err := checkout.Authenticate(onRecord, s.cfg.Environment); err != nil {
		return Caller{}, err
	}
	return Caller{ProviderCode: onRecord.Provider, KeyID: onRecord.ID}, nil
}

// admit returns the caller's provider if the request names no other provider and the provider's configuration
// allows calls. A request without an id gets one, where requestID is not nil.
func (s *Service) admit(ctx context.Context, caller Caller, named checkout.Optional[string],
	requestID *string) (catalogue.Provider, error) {
	p, err := s.provider(ctx, caller.ProviderCode)
	if err != nil {
		return catalogue.Provider{}, s.fail(ctx, "admit a request", err)
	}
	if err := checkout.Admit(caller.ProviderCode, named, p, s.cfg.Environment); err != nil {
		return catalogue.Provider{}, err
	}
	if requestID != nil && *requestID == "" {
		id, err := uuid.NewRandomFromReader(s.cfg.Rand)
		if err != nil {
			return catalogue.Provider{}, fmt.Errorf("generate a request id: %w", err)
		}
		*requestID = "req_" + id.String()
	}
	return *p, nil
}

// provider returns a provider as it was within configurationLife, or nil.
func (s *Service) provider(ctx context.Context, code string) (*catalogue.Provider, error) {
	p, err := found(s.providers.get(s.now(), code, func() (catalogue.Provider, error) { return s.cfg.Store.Provider(ctx, code) }))
	if err != nil {
		return nil, fmt.Errorf("read provider %s: %w", code, err)
	}
	return p, nil
}

// providerOf returns a provider: only its code, also as its name, if the operator removed it.
func (s *Service) providerOf(ctx context.Context, code string) (catalogue.Provider, error) {
	p, err := s.provider(ctx, code)
	return *cmp.Or(p, &catalogue.Provider{Code: code, Name: code}), err
}

// owned returns the caller's checkout. Another provider's does not exist, and neither does a checkout that is only reserved.
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
	concerns(ctx, stored.About())
	return *stored, nil
}
