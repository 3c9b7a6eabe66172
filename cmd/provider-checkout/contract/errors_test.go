package contract_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
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
	want := []string{"error.code", "error.details", "error.doc_url", "error.message", "request_id", "success"}
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

// Section 7: messages help an engineer to correct the request.

func TestContract7AMissingFieldIsReportedWithTheUnknownFields(t *testing.T) {
	for _, tt := range []struct{ name, old, new, field, want string }{
		{"beside it", `"instalment_amount"`, `"instalment_ammount"`, "plan.instalment_amount",
			`is required; unknown fields beside it: "instalment_ammount"`},
		{"final instalment misspelt", `"final_instalment_amount"`, `"final_installment_amount"`, "plan.instalment_amount",
			`send final_instalment_amount 333.34; unknown fields beside it: "final_installment_amount"`},
		{"section misspelt", `"pricing"`, `"pricings"`, "pricing.course_price", `is required; unknown fields beside it: "pricings"`},
		{"outside of its section", `, "email": "hemi@students.example.ac.nz"}`, `}, "email": "hemi@students.example.ac.nz"`,
			"student.email", `is required; unknown fields beside it: "email"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			contract(t, func(t *testing.T, s *suite) {
				body := strings.Replace(order(legacyCreate, "ORDER-1"), tt.old, tt.new, 1)
				r := s.Post(t, "TUI", "/v1/provider-checkouts", body)
				if got := detail(r, tt.field); r.Status != http.StatusBadRequest || !strings.HasSuffix(got, tt.want) {
					t.Errorf("%d, %s %q, want %q", r.Status, tt.field, got, tt.want)
				}
			})
		})
	}
}

// detail returns the message of a refusal about a field; "" without a message.
func detail(r response, field string) string {
	for _, d := range faults(r) {
		if d.field == field {
			return d.message
		}
	}
	return ""
}

func TestContract7EveryErrorLeadsToItsPlaceInTheReference(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		page := s.Send(t, http.MethodGet, "/docs", "")
		for name, r := range map[string]response{
			"nothing but the key": s.Post(t, "TUI", "/v1/provider-checkouts", "{}", "Idempotency-Key", ""),
			"an empty confirm":    s.Post(t, "TUI", "/v1/provider-checkouts/x/confirm", "{}"),
			"no key":              s.Send(t, http.MethodGet, "/v1/provider-checkouts/x", ""),
			"no such path":        s.Send(t, http.MethodGet, "/docs/x", ""),
			"no such method":      s.Send(t, http.MethodDelete, "/v1/openapi.json", ""),
		} {
			anchor, found := strings.CutPrefix(r.String("error.doc_url"), s.URL+"/docs#")
			if !found || !strings.Contains(page.Body, `id="`+anchor+`"`) {
				t.Errorf("%s: %s leads nowhere", name, r.Body)
			}
		}
	})
}

func TestContract4AConfirmIsRefusedBeforeItIsReadAsAnyRequestIs(t *testing.T) {
	slow := func(_ *service.Config, o *httpapi.Options) { o.RateLimit = 0.1 }
	contract(t, func(t *testing.T, s *suite) {
		const path = "/v1/provider-checkouts/x/confirm"
		refused(t, s.Post(t, "TUI", "/v1/provider-checkouts/x%2Fy/confirm", "{}"), http.StatusNotFound, "NOT_FOUND")
		refused(t, s.Send(t, http.MethodPost, path, "{}", "Authorization", "Bearer "+s.Keys["TUI"]),
			http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
		refused(t, s.Post(t, "TUI", path, "{}"), http.StatusTooManyRequests, "RATE_LIMITED")
	}, slow)
}

func TestContract4TheDescriptionNeedsNoKey(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for path, contentType := range map[string]string{"/docs": "text/html; charset=utf-8", "/v1/openapi.json": "application/json"} {
			full, head := s.Send(t, http.MethodGet, path, ""), s.Send(t, http.MethodHead, path, "")
			if full.Status != http.StatusOK || full.Header.Get("Content-Type") != contentType || full.Body == "" {
				t.Errorf("GET %s: %d, %s", path, full.Status, full.Header.Get("Content-Type"))
			}
			if head.Status != http.StatusOK || head.Header.Get("Content-Type") != contentType || head.Body != "" {
				t.Errorf("HEAD %s: %d, %s, %q", path, head.Status, head.Header.Get("Content-Type"), head.Body)
			}
			if !strings.HasPrefix(full.Header.Get("X-Request-Id"), "req_") {
				t.Errorf("GET %s has no request id", path)
			}
		}
	})
}
