package contract_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Section 7, last row: the cause of an internal failure is not exposed, and the same request may be sent again.

// faulty is a store whose calls fail as the test sets.
type faulty struct {
	ports.Store
	mu    sync.Mutex
	fails func(call string) error
}

func withFaultyStore(c *service.Config, _ *httpapi.Options) *faulty {
	f := &faulty{Store: c.Store}
	c.Store = f
	return f
}

// fail makes every call return the error of fails; no error if fails is nil.
func (f *faulty) fail(fails func(call string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails = fails
}

func (f *faulty) fault(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails == nil {
		return nil
	}
	return f.fails(call)
}

// unless returns what call returns, unless it is to fail.
func unless[T any](f *faulty, name string, call func() (T, error)) (T, error) {
	if err := f.fault(name); err != nil {
		var none T
		return none, err
	}
	return call()
}

func (f *faulty) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	return unless(f, "Key", func() (catalogue.Key, error) { return f.Store.Key(ctx, hash) })
}

func (f *faulty) Providers(ctx context.Context, codes ...string) ([]catalogue.Provider, error) {
	return unless(f, "Providers", func() ([]catalogue.Provider, error) { return f.Store.Providers(ctx, codes...) })
}

func (f *faulty) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	return unless(f, "Course", func() (catalogue.Course, error) { return f.Store.Course(ctx, provider, code) })
}

func (f *faulty) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	return unless(f, "Checkout", func() (checkout.Checkout, error) { return f.Store.Checkout(ctx, id) })
}

func (f *faulty) FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error) {
	return unless(f, "FindCheckout", func() (checkout.Checkout, error) { return f.Store.FindCheckout(ctx, by) })
}

func (f *faulty) Jobs(ctx context.Context, filter checkout.JobFilter, limit int) ([]checkout.JobRecord, error) {
	return unless(f, "Jobs", func() ([]checkout.JobRecord, error) { return f.Store.Jobs(ctx, filter, limit) })
}

func (f *faulty) InsertCheckout(ctx context.Context, change checkout.Change, hold time.Duration) ([]checkout.Lease, error) {
	return unless(f, "InsertCheckout", func() ([]checkout.Lease, error) { return f.Store.InsertCheckout(ctx, change, hold) })
}

func (f *faulty) UpdateCheckout(ctx context.Context, known checkout.Checkout, hold time.Duration,
	decide ports.Decide) (checkout.Change, []checkout.Lease, error) {
	if err := f.fault("UpdateCheckout"); err != nil {
		return checkout.Change{}, nil, err
	}
	return f.Store.UpdateCheckout(ctx, known, hold, decide)
}

// inside is the text of an internal failure, which no answer may contain.
const inside = "open /var/lib/secret.db as operator:hunter2"

// needs has, for each call of a provider, the calls of the store that it depends on.
var needs = map[string][]string{
	"create":  {"Key", "Providers", "Course", "InsertCheckout"}, // an order that is new is not looked up
	"replay":  {"Key", "Providers", "FindCheckout"},
	"get":     {"Key", "Providers", "Checkout"},
	"confirm": {"Key", "Providers", "Checkout", "UpdateCheckout"},
	"cancel":  {"Key", "Providers", "Checkout", "UpdateCheckout"},
	"list":    {"Key", "Providers", "Jobs"},
}

// providerCalls are the calls of a provider. All but create are about an open checkout, whose setup is complete for a confirm.
var providerCalls = map[string]func(t *testing.T, s *suite, id string, ready response) response{
	"create": func(t *testing.T, s *suite, id string, _ response) response {
		return s.Post(t, "KOWHAI", "/v1/provider-checkouts", order(catalogueCreate, "NEW-"+id), "Idempotency-Key", "key-new-"+id)
	},
	"replay": func(t *testing.T, s *suite, id string, _ response) response {
		return s.Post(t, "KOWHAI", "/v1/provider-checkouts", order(catalogueCreate, id), "Idempotency-Key", "key-"+id)
	},
	"get": func(t *testing.T, s *suite, _ string, ready response) response {
		return s.Get(t, "KOWHAI", ready.CheckoutPath())
	},
	"confirm": func(t *testing.T, s *suite, _ string, ready response) response { return s.Confirm(t, ready) },
	"cancel": func(t *testing.T, s *suite, _ string, ready response) response {
		return s.cancel(t, ready, "wrong course")
	},
	"list": func(t *testing.T, s *suite, _ string, _ response) response { return s.Get(t, "KOWHAI", "/v1/events") },
}

func TestContract7AnUnexpectedFailureIsAnInternalErrorWithoutSecrets(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fault  func() error
		status int
	}{
		{"the store fails", func() error { return errors.New(inside) }, http.StatusInternalServerError},
		{"the store panics", func() error { panic(inside) }, http.StatusInternalServerError},
		{"the store is busy", func() error { return fmt.Errorf("%s: %w", inside, ports.ErrBusy) }, http.StatusServiceUnavailable},
		{"the store takes too long", func() error { return fmt.Errorf("%s: %w", inside, context.DeadlineExceeded) },
			http.StatusServiceUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			contractWith(t, withFaultyStore, func(t *testing.T, s *suite, store *faulty) {
				for name, call := range providerCalls {
					for _, need := range needs[name] {
						id := name + "-" + need
						ready := s.Create(t, id)
						if name == "confirm" {
							s.SetUp(t, ready)
						}
						s.Clock.Forward(time.Minute) // what the operator configured is read again, and every look is due
						store.fail(func(call string) error {
							if call == need {
								return tt.fault()
							}
							return nil
						})
						got := call(t, s, id, ready)
						store.fail(nil)
						refused(t, got, tt.status, "INTERNAL_ERROR")
						if leaks(got, "secret.db", "hunter2", "goroutine", ".go:") {
							t.Errorf("%s without %s exposes internals: %s", name, need, got.Body)
						}
						if got, want := got.Header.Get("Retry-After") != "", tt.status == http.StatusServiceUnavailable; got != want {
							t.Errorf("%s without %s has a Retry-After: %t, want %t", name, need, got, want)
						}
						if again := call(t, s, id, ready); again.Status > 201 {
							t.Errorf("%s without %s, sent again, is answered %d %s", name, need, again.Status, again.Body)
						}
					}
				}
			})
		})
	}
}

// leaks reports whether an answer holds one of the texts, in its body or its headers.
func leaks(r response, texts ...string) bool {
	whole := r.Body + fmt.Sprint(r.Header)
	for _, text := range texts {
		if strings.Contains(whole, text) {
			return true
		}
	}
	return false
}

// press is a printer whose results the test sets.
type press struct {
	ports.Printer
	mu    sync.Mutex
	tries int
	does  func(try int) error
}

func withPress(c *service.Config, _ *httpapi.Options) *press {
	p := &press{Printer: c.Printer, does: func(int) error { return nil }}
	c.Printer = p
	return p
}

// breakDown makes every printing fail, or makes the printer work again.
func (p *press) breakDown(broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.does = func(int) error {
		if broken {
			return errors.New(inside)
		}
		return nil
	}
}

func (p *press) Print(ctx context.Context, a agreement.Agreement) ([]byte, error) {
	p.mu.Lock()
	p.tries++
	try, does := p.tries, p.does
	p.mu.Unlock()
	if err := does(try); err != nil {
		return nil, err
	}
	return p.Printer.Print(ctx, a)
}

// Section 5: authentication and authorization.

func TestContract5AKeyOfOneEnvironmentIsNotValidInTheOther(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		refused(t, s.Get(t, "KOWHAI", "/v1/provider-checkouts/x"), http.StatusForbidden, "INVALID_API_KEY")
		s.Keys["KOWHAI"] = sandbox.IssueKey(t, s.Store, "KOWHAI", catalogue.Production)
		// The key is valid now, but the configuration is still the sandbox's.
		refused(t, s.Get(t, "KOWHAI", "/v1/provider-checkouts/x"), http.StatusForbidden, "PROVIDER_NOT_ENABLED")
	}, func(c *service.Config, _ *httpapi.Options) {
		c.Environment, c.BaseURL, c.Processor = catalogue.Production, "https://pay.example", movesMoney{c.Processor}
	})
}

// movesMoney is a processor that is allowed in production.
type movesMoney struct{ ports.Processor }

func (p movesMoney) Info() checkout.ProcessorInfo {
	return checkout.ProcessorInfo{Name: "test", Environment: catalogue.Production}
}

func TestContract5CheckingAKeyWritesNothing(t *testing.T) {
	contractWith(t, withFaultyStore, func(t *testing.T, s *suite, store *faulty) {
		created := s.Create(t, "ORDER-1")
		store.fail(func(call string) error {
			switch call {
			case "InsertCheckout", "UpdateCheckout":
				return errors.New("attempt to write a readonly database")
			}
			return nil
		})
		if got := s.Get(t, "KOWHAI", created.CheckoutPath()); got.Status != http.StatusOK {
			t.Errorf("on a store that cannot be written a get answers %d %s", got.Status, got.Body)
		}
		if got := s.Post(t, "KOWHAI", "/v1/provider-checkouts", order(catalogueCreate, "ORDER-1")); got.Status != http.StatusOK {
			t.Errorf("on a store that cannot be written a replay answers %d %s", got.Status, got.Body)
		}
	})
}
