package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/httpapi"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// Section 7: what a message says to the one who reads it.

func TestContract7AFieldThatLooksLikeTheMissingOneIsNamed(t *testing.T) {
	for _, tt := range []struct{ name, old, new, field, want string }{
		{"beside it", `"instalment_amount"`, `"instalment_ammount"`, "plan.instalment_amount",
			`is required; is "instalment_ammount" a misspelling of it?`},
		{"final instalment under another name", `"final_instalment_amount"`, `"final_instalment"`, "plan.instalment_amount",
			`does not fit: 3 × 333.33 is 999.99, not amount_to_finance 1000.00; send final_instalment_amount 333.34`},
		{"final instalment misspelt", `"final_instalment_amount"`, `"final_installment_amount"`, "plan.instalment_amount",
			`send final_instalment_amount 333.34; is "final_installment_amount" a misspelling of it?`},
		{"section under another name", `"pricing"`, `"money"`, "pricing.course_price", `is required`},
		{"section misspelt", `"pricing"`, `"pricings"`, "pricing.course_price",
			`is required; is "pricings" a misspelling of "pricing"?`},
		{"outside of its section", `, "email": "hemi@students.example.ac.nz"}`, `}, "email": "hemi@students.example.ac.nz"`,
			"student.email", `is required; is "email", outside of "student", meant for it?`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			contract(t, func(t *testing.T, s *sandbox) {
				body := strings.Replace(order(legacyCreate, "ORDER-1"), tt.old, tt.new, 1)
				r := s.post(t, "TUI", "/v1/provider-checkouts", body)
				if got := detail(r, tt.field); r.status != http.StatusBadRequest || !strings.Contains(got, tt.want+"; see /docs#field-"+tt.field) {
					t.Errorf("%d, %s %q, want %q", r.status, tt.field, got, tt.want)
				}
			})
		})
	}
}

// detail returns the message of a refusal about a field; "" if it has none.
func detail(r response, field string) string {
	details, _ := r.at("error.details").([]any)
	for _, d := range details {
		if m, _ := d.(members); m["field"] == field {
			return fmt.Sprint(m["message"])
		}
	}
	return ""
}

func TestContract7EveryMessageLeadsToAPlaceWhereMoreIsToBeRead(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		page := s.send(t, http.MethodGet, "/docs", "")
		for name, r := range map[string]response{
			"nothing but the key": s.post(t, "TUI", "/v1/provider-checkouts", "{}", "Idempotency-Key", ""),
			"an empty confirm":    s.post(t, "TUI", "/v1/provider-checkouts/x/confirm", "{}"),
			"no key":              s.send(t, http.MethodGet, "/v1/provider-checkouts/x", ""),
			"no such path":        s.send(t, http.MethodGet, "/docs/x", ""),
			"no such method":      s.send(t, http.MethodDelete, "/v1/openapi.json", ""),
		} {
			messages := []string{r.string("error.message")}
			details, _ := r.at("error.details").([]any)
			for _, d := range details {
				m, _ := d.(members)
				messages = append(messages, fmt.Sprint(m["message"]))
			}
			for _, message := range messages {
				_, anchor, found := strings.Cut(message, "; see /docs#")
				if !found || !strings.Contains(page.text, `id="`+anchor+`"`) {
					t.Errorf("%s: %q leads nowhere", name, message)
				}
			}
		}
	})
}

func TestContract4AConfirmIsRefusedBeforeItIsReadAsAnyRequestIs(t *testing.T) {
	slow := func(_ *service.Config, o *httpapi.Options) { o.RateLimit = 0.1 }
	contract(t, func(t *testing.T, s *sandbox) {
		const path = "/v1/provider-checkouts/x/confirm"
		refused(t, s.post(t, "TUI", "/v1/provider-checkouts/x%2Fy/confirm", "{}"), http.StatusNotFound, "NOT_FOUND")
		refused(t, s.send(t, http.MethodPost, path, "{}", "Authorization", "Bearer "+s.keys["TUI"]),
			http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
		refused(t, s.post(t, "TUI", path, "{}"), http.StatusTooManyRequests, "RATE_LIMITED")
	}, slow)
}

func TestContract4TheDescriptionNeedsNoKey(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		for path, contentType := range map[string]string{"/docs": "text/html; charset=utf-8", "/v1/openapi.json": "application/json"} {
			full, head := s.send(t, http.MethodGet, path, ""), s.send(t, http.MethodHead, path, "")
			if full.status != http.StatusOK || full.header.Get("Content-Type") != contentType || full.text == "" {
				t.Errorf("GET %s: %d, %s", path, full.status, full.header.Get("Content-Type"))
			}
			if head.status != http.StatusOK || head.header.Get("Content-Type") != contentType || head.text != "" {
				t.Errorf("HEAD %s: %d, %s, %q", path, head.status, head.header.Get("Content-Type"), head.text)
			}
			if !strings.HasPrefix(full.header.Get("X-Request-Id"), "req_") {
				t.Errorf("GET %s has no request id", path)
			}
		}
	})
}
