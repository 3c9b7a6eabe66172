package httpapi

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

func TestAMountedHandlerGetsItsPathAndWhatIsBelow(t *testing.T) {
	o := options(io.Discard, 0)
	var got []string
	o.Mount = map[string]http.Handler{"/bank": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.Path+" "+web.RequestID(r.Context())[:4])
	})}
	h := newHandler(&stub{}, o)
	for path, status := range map[string]int{"/bank": 200, "/bank/": 200, "/bank/x": 200, "/bankrupt": 404} {
		if w := do(h, request("GET", path, "")); w.Code != status {
			t.Errorf("GET %s: %d, want %d", path, w.Code, status)
		}
	}
	slices.Sort(got)
	if want := []string{"/bank req_", "/bank/ req_", "/bank/x req_"}; !slices.Equal(got, want) {
		t.Errorf("the mounted handler was called for %q, want %q", got, want)
	}
}

// stub is an application that knows a few keys and returns what its fields hold.
type stub struct {
	rate    int // of every provider
	err     error
	baseURL string
}

func (s *stub) BaseURL() string { return cmp.Or(s.baseURL, "http://pay.example") }

func (s *stub) Environment() catalogue.Environment { return catalogue.Sandbox }

func (s *stub) Authenticate(_ context.Context, key string) (service.Caller, error) {
	switch key {
	case "good":
		return service.Caller{ProviderCode: "KOWHAI", KeyID: "k1"}, nil
	case "second":
		return service.Caller{ProviderCode: "KOWHAI", KeyID: "k3"}, nil
	case "other":
		return service.Caller{ProviderCode: "RATA", KeyID: "k2"}, nil
	case "":
		return service.Caller{}, checkout.MissingAPIKey("an API key is required")
	}
	return service.Caller{}, checkout.InvalidAPIKey()
}

func (s *stub) Create(context.Context, service.Caller, checkout.Create) (service.Opened, error) {
	return service.Opened{}, s.err
}

func (s *stub) Checkout(context.Context, service.Caller, string) (checkout.Checkout, error) {
	return checkout.Checkout{}, s.err
}

func (s *stub) Confirm(context.Context, service.Caller, string, checkout.Confirm) (service.Confirmed, error) {
	return service.Confirmed{}, s.err
}

func (s *stub) Cancel(context.Context, service.Caller, string, checkout.Cancel) (checkout.Checkout, error) {
	return checkout.Checkout{}, s.err
}

func (s *stub) Events(context.Context, service.Caller, checkout.List) ([]checkout.JobRecord, error) {
	return nil, s.err
}

func (s *stub) RateLimit(context.Context, service.Caller) int { return s.rate }

func (s *stub) Refused(service.Caller, string, string, error) {}

func (s *stub) Readiness(context.Context) service.Readiness { return service.Readiness{} }

// handler serves app without limits.
func handler(app application) http.Handler { return newHandler(app, options(io.Discard, 0)) }

func options(log io.Writer, limit float64) Options {
	fixed := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	return Options{
		Log:       slog.New(slog.NewJSONHandler(log, nil)),
		RateLimit: limit,
		Now:       func() time.Time { return fixed },
		Rand:      rand.NewChaCha8([32]byte{1}),
	}
}

// request builds a request as a well-behaved caller sends it; edit may spoil it.
func request(method, path, body string, edit ...func(*http.Request)) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer good")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, f := range edit {
		f(r)
	}
	return r
}

// header sets a header to the values, or removes it where no value is given.
func header(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = values }
}

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// wantRefusal checks status and code of an answer, and that it has the envelope's shape.
func wantRefusal(t *testing.T, w *httptest.ResponseRecorder, status int, code string) envelopeWire {
	t.Helper()
	e := envelope(t, w)
	if w.Code != status || e.Error.Code != code {
		t.Errorf("answer %d %s, want %d %s: %s", w.Code, e.Error.Code, status, code, w.Body)
	}
	return e
}
