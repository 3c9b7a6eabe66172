package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// This file has what every call needs: its caller, its limits of time, and the checkout that it is about.

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
	found, err := found(s.keys.get(s.now(), hash, func() (catalogue.Key, error) {
		ctx, cancel := withTimeout(ctx)
		defer cancel()
		return s.cfg.Store.Key(ctx, hash)
	}))
	if err != nil {
		return Caller{}, s.fail(ctx, "read the API key", err)
	}
	if err := checkout.Authenticate(found, s.cfg.Environment); err != nil {
		return Caller{}, err
	}
	return Caller{ProviderCode: found.Provider, KeyID: found.ID}, nil
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
	concerns(ctx, aboutCheckout(*stored))
	return *stored, nil
}

// found returns what was read, or nil for ports.ErrNotFound.
func found[T any](v T, err error) (*T, error) {
	if errors.Is(err, ports.ErrNotFound) {
		return nil, nil
	}
	return &v, err
}

// now is the present in the precision that stores keep.
func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Millisecond) }

// withTimeout is the context of a call that only reads: it ends with the caller, or when waitLimit is over.
func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, waitLimit)
}

// detached is the context of a call that changes something: it continues when the caller hangs up, so
// that what was begun is completed or fails as a whole.
func detached(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}

// retryStep is the growth of the pause before each further attempt of a call.
const retryStep = 10 * time.Millisecond

// attempts counts attempts until ctx ends, with a pause before each after the second.
func attempts(ctx context.Context) iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := 0; sleep(ctx, max(0, time.Duration(n-1)*retryStep)) == nil && yield(n); n++ {
		}
	}
}

// sleep waits, or ends early with ctx.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// About names the checkout that a call, a failure or a moment is about, as far as it is known.
type About struct {
	CheckoutID, OrderID, ProviderCode string
}

func aboutCheckout(c checkout.Checkout) About { return About{c.ID, c.OrderID, c.ProviderCode} }

func aboutJob(j checkout.Job) About { return About{j.CheckoutID, j.OrderID, j.ProviderCode} }

// Subject is the place in a context in which a call notes the checkout that it is about.
type Subject struct {
	about     atomic.Pointer[About]
	requestID string // of the request that a job follows from
}

type subjectKey struct{}

// WithSubject returns a context in which the service's methods note the checkout that they are about: for the log line of a
// request.
func WithSubject(ctx context.Context) (context.Context, *Subject) {
	s := new(Subject)
	return context.WithValue(ctx, subjectKey{}, s), s
}

// withSubject returns a context in which calls note the checkout that they are about.
func withSubject(ctx context.Context) context.Context {
	if subjectOf(ctx) == nil {
		ctx, _ = WithSubject(ctx)
	}
	return ctx
}

// subjectOf returns the subject of a context, or nil.
func subjectOf(ctx context.Context) *Subject {
	s, _ := ctx.Value(subjectKey{}).(*Subject)
	return s
}

// About returns the checkout that was noted last.
func (s *Subject) About() About {
	if s != nil && s.about.Load() != nil {
		return *s.about.Load()
	}
	return About{}
}

// concerns notes the checkout that a call is about.
func concerns(ctx context.Context, a About) {
	if s := subjectOf(ctx); s != nil {
		s.about.Store(&a)
	}
}
