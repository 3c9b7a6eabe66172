package contract_test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// Section 7: every error code, and the error envelope.

// enveloped checks that a refusal has the members of the error envelope and no others, and the
// headers of every answer.
func enveloped(t *testing.T, r response) {
	t.Helper()
	want := []string{"error.code", "error.details", "error.message", "request_id", "success"}
	if got := leaves(members(r.JSON)); !slices.Equal(got, want) {
		t.Errorf("the envelope %s has the members %q", r.Body, got)
	}
	details, ok := r.At("error.details").([]any)
	if !ok {
		t.Errorf("the details of %s are no list", r.Body)
	}
	for _, d := range details {
		if m, ok := d.(members); !ok || !slices.Equal(leaves(m), []string{"field", "message"}) {
			t.Errorf("the detail %v is not a field and a message", d)
		}
	}
	for name, value := range map[string]string{
		"Content-Type": `application/json`, "X-Content-Type-Options": `nosniff`, "Cache-Control": `no-store`,
	} {
		if got := r.Header.Get(name); got != value {
			t.Errorf("the header %s is %q", name, got)
		}
	}
	if got := r.Header.Get("X-Request-Id"); !requestID.MatchString(got) {
		t.Errorf("the request id is %q", got)
	}
}

func TestContract4TheRootLeadsToTheDocumentation(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		r := s.Send(t, http.MethodGet, "/", "")
		if r.Status != http.StatusFound || r.Header.Get("Location") != "/docs" {
			t.Errorf("GET / answers %d, Location %q; want 302 to /docs", r.Status, r.Header.Get("Location"))
		}
		if docs := s.Visit(t, s.URL+"/docs"); docs.Status != http.StatusOK {
			t.Errorf("/docs answers %d", docs.Status)
		}
		refused(t, s.Post(t, "KOWHAI", "/", "{}"), http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
	})
}

func TestContract4HEADIsAGetWithoutItsBody(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for path, want := range map[string]int{
			"/v1": 200, "/v1/environment": 200, s.Create(t, "ORDER-1").CheckoutPath(): 200, "/v1/provider-checkouts/unknown": 404,
		} {
			got := s.Send(t, http.MethodHead, path, "", "Authorization", "Bearer "+s.Keys["KOWHAI"])
			if got.Status != want || got.Body != "" || got.Header.Get("X-Request-Id") == "" {
				t.Errorf("HEAD %s answers %d %q, want %d", path, got.Status, got.Body, want)
			}
		}
	})
}

func TestContract8TooManyRequestsOfOneKeyGetTheTimeToWait(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		path := s.Create(t, "ORDER-1").CheckoutPath()
		got := s.Get(t, "KOWHAI", path)
		refused(t, got, http.StatusTooManyRequests, "RATE_LIMITED")
		enveloped(t, got)
		wait, err := strconv.Atoi(got.Header.Get("Retry-After"))
		if err != nil || wait < 90 || wait > 100 {
			t.Errorf("Retry-After is %q, want some 100 seconds", got.Header.Get("Retry-After"))
		}
		if got := s.Post(t, "TUI", "/v1/provider-checkouts", order(legacyCreate, "ORDER-1")); got.Status != http.StatusCreated {
			t.Errorf("another key is answered %d %s", got.Status, got.Body)
		}
		if got := s.Send(t, http.MethodGet, "/v1/environment", ""); got.Status != http.StatusOK {
			t.Errorf("without a key /v1/environment answers %d %s", got.Status, got.Body)
		}
		s.Clock.Forward(time.Duration(wait) * time.Second)
		if got := s.Get(t, "KOWHAI", path); got.Status != http.StatusOK {
			t.Errorf("after the wait a get answers %d %s", got.Status, got.Body)
		}
	}, func(_ *service.Config, o *httpapi.Options) { o.RateLimit = 0.01 }) // a burst of one
}
