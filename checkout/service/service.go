// Package service is the application: it loads state through the ports, asks package
// checkout what to do, stores the outcome and then tells the world. Embedders call it
// from their own program; adapters/httpapi and adapters/hostedpages call it for theirs.
//
// Every method that refuses returns a *checkout.Error; any other error is a failure.
package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	defaultLifetime = 7 * 24 * time.Hour
	// waitLimit is how long a call waits for the store and for others before it says that it
	// is too busy.
	waitLimit = 10 * time.Second
)

// Config is all that a Service needs. Every field is required unless it says otherwise.
type Config struct {
	Environment   catalogue.Environment
	BaseURL       string        // scheme and host under which the pages are reached, without a slash at the end
	SetupLifetime time.Duration // how long a setup page opens; 7 days if 0
	Keyring       checkout.Keyring
	Terms         agreement.Terms // the operator's, for every agreement; none if zero

	Store     ports.Store
	Processor ports.Processor
	Printer   ports.Printer
	Sender    ports.Sender

	Now    func() time.Time
	Rand   io.Reader
	Report func(context.Context, error) // told of failures that no caller is told of
	Count  func(Occurrence)             // told of what happens, by many at once; it must not block. It may be nil
}

// Service runs checkouts. It is safe for concurrent use.
type Service struct {
	cfg        Config
	configured configured
	observed   *cache[string, checkout.Observation] // by billing request
	zone       *time.Location                       // of due dates and agreement numbers
	orders     recent                               // that a create named
	confirming locks                                // one confirm of a checkout draws its agreement at a time
	stopping   atomic.Bool                          // Run has been told to end

	writable, reachable, readable probe       // of the store, the processor and the configuration
	destinations                  atomic.Bool // a provider that may be used has one
}

// New checks c and returns a service. It starts nothing: see Run.
func New(c Config) (*Service, error) {
	if c.SetupLifetime == 0 {
		c.SetupLifetime = defaultLifetime
	}
	switch {
	case !c.Environment.Valid():
		return nil, fmt.Errorf("service: environment %q is neither sandbox nor production", c.Environment)
	case c.BaseURL == "" || strings.HasSuffix(c.BaseURL, "/"):
		return nil, fmt.Errorf("service: base URL %q must not be empty or end in a slash", c.BaseURL)
	case c.SetupLifetime < 0:
		return nil, fmt.Errorf("service: setup lifetime %s is negative", c.SetupLifetime)
	case !c.Keyring.Valid():
		return nil, errors.New("service: Keyring is missing")
	case c.Store == nil, c.Processor == nil, c.Printer == nil, c.Sender == nil:
		return nil, errors.New("service: Store, Processor, Printer or Sender is missing")
	case c.Now == nil, c.Rand == nil, c.Report == nil:
		return nil, errors.New("service: Now, Rand or Report is missing")
	}
	if err := c.Terms.Check(); err != nil {
		return nil, fmt.Errorf("service: Terms: %w", err)
	}
	if c.Count == nil {
		c.Count = func(Occurrence) {}
	}
	zone, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		return nil, fmt.Errorf("service: New Zealand time is unknown; import time/tzdata: %w", err)
	}
	return &Service{cfg: c, configured: newConfigured(c.Store),
		observed: newCache[string, checkout.Observation](observeLife), zone: zone}, nil
}

// now is the present in the precision that stores keep.
func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Millisecond) }

// requestID returns the id of a request, made here if the caller gave it none.
func (s *Service) requestID(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	id, err := uuid.NewRandomFromReader(s.cfg.Rand)
	if err != nil {
		return "", fmt.Errorf("draw a request id: %w", err)
	}
	return "req_" + id.String(), nil
}

// Caller is an authenticated provider.
type Caller struct {
	ProviderCode string
	KeyID        string
}

// Authenticate returns whose key this is. It writes nothing. The refusals are
// CodeKeyMissing for an empty key, and CodeKeyInvalid.
func (s *Service) Authenticate(ctx context.Context, key string) (Caller, error) {
	if key == "" {
		return Caller{}, checkout.Refuse(checkout.CodeKeyMissing,
			"there is no API key; send it as Authorization: Bearer <API_KEY>")
	}
	invalid := checkout.Refuse(checkout.CodeKeyInvalid,
		"the API key is not recognised; it must be a key of this environment that is not revoked")
	hash, ok := catalogue.HashKey(key)
	if !ok {
		return Caller{}, invalid
	}
	found, err := s.configured.key(ctx, s.now(), hash)
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return Caller{}, invalid
	case err != nil:
		return Caller{}, s.fail(ctx, "read the API key", err)
	case !found.RevokedAt.IsZero(), found.Environment != s.cfg.Environment:
		return Caller{}, invalid
	}
	return Caller{ProviderCode: found.Provider, KeyID: found.ID}, nil
}

// admit returns the caller's provider, if the provider that the request names is the caller
// and its configuration allows calls.
func (s *Service) admit(ctx context.Context, caller Caller, named checkout.Given[string]) (catalogue.Provider, error) {
	if err := checkout.Admit(caller.ProviderCode, named); err != nil {
		return catalogue.Provider{}, err
	}
	p, err := s.configured.provider(ctx, s.now(), caller.ProviderCode)
	if errors.Is(err, ports.ErrNotFound) {
		return p, checkout.Refuse(checkout.CodeProviderUnknown, "this provider has no configuration; ask the operator")
	}
	if err != nil {
		return p, s.fail(ctx, "read provider "+caller.ProviderCode, err)
	}
	if unusable := p.Usable(s.cfg.Environment); unusable != nil {
		return p, checkout.Refuse(checkout.CodeProviderNotEnabled, unusable.Error()+"; ask the operator")
	}
	return p, nil
}

// bounded is the context of a call that only reads: it ends with the caller, or when waitLimit is over.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, waitLimit)
}

// lasting is the context of a call that changes something: it goes on when the caller hangs up, for
// what was begun is to end one way or the other.
func lasting(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}

// fail names what failed. What failed only because there was no time for it becomes the refusal
// that says so, and its cause is reported.
func (s *Service) fail(ctx context.Context, doing string, err error) error {
	err = fmt.Errorf("%s: %w", doing, err)
	if errors.Is(err, ports.ErrBusy) || errors.Is(err, context.DeadlineExceeded) {
		s.cfg.Report(ctx, err)
		return busy()
	}
	return err
}

func busy() error {
	return checkout.Refuse(checkout.CodeBusy,
		"the service is busy; wait as long as Retry-After says and send the same request again")
}
