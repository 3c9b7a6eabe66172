package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

const confirmPath = "/v1/provider-checkouts/KOWHAI-1-aaaaaaaaaaaaaaaa/confirm"

// disabled is a provider file in which KOWHAI may not call.
const disabled = `{"providers": [{"provider_code": "KOWHAI", "name": "K", "account_id": "a",
	"environment": "sandbox", "active": true, "api_enabled": false}]}`

// The order of checks: each request here fails two neighbouring checks, and is refused by the first.
func TestContract7TheOrderOfChecks(t *testing.T) {
	unknown := strings.TrimSuffix(confirmPath, "/confirm")
	both := []string{createPath, confirmPath}
	usedUp := func(_ *service.Config, o *httpapi.Options) { o.RateLimit = 0.01 } // a burst of one
	typed := func(s *suite) []string {
		return []string{"Authorization", "Bearer " + s.Keys["KOWHAI"], "Content-Type", "text/plain"}
	}
	// another returns the confirm of a checkout with other values in fields.
	another := func(t *testing.T, s *suite, created response, fields ...string) response {
		body := created.ConfirmBody()
		for _, field := range fields {
			body = set(t, body, field, `"another"`)
		}
		return s.confirmAs(t, created, body)
	}
	for _, tt := range []struct {
		name  string
		check func(t *testing.T, s *suite)
		limit bool // KOWHAI's key is used up by one request
	}{
		{"an unknown route before the key", func(t *testing.T, s *suite) {
			refused(t, s.Send(t, http.MethodPost, "/v1/nothing", ""), http.StatusNotFound, "NOT_FOUND")
			refused(t, s.Send(t, http.MethodPut, createPath, ""), http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
		}, false},
		{"the key before the rate", func(t *testing.T, s *suite) {
			s.Create(t, "ORDER-1")
			refused(t, s.Send(t, http.MethodGet, unknown, ""), http.StatusUnauthorized, "MISSING_API_KEY")
		}, true},
		{"the rate before the type", func(t *testing.T, s *suite) {
			s.Create(t, "ORDER-1")
			refused(t, s.Send(t, http.MethodPost, createPath, "x", typed(s)...), http.StatusTooManyRequests, "RATE_LIMITED")
		}, true},
		{"the type before the size", func(t *testing.T, s *suite) {
			refused(t, s.Send(t, http.MethodPost, createPath, strings.Repeat("x", 70<<10), typed(s)...),
				http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
		}, false},
		{"the size before the form", func(t *testing.T, s *suite) {
			refused(t, s.Post(t, "KOWHAI", createPath, strings.Repeat("x", 70<<10)), http.StatusRequestEntityTooLarge, "REQUEST_TOO_LARGE")
		}, false},
		{"the form before the provider code", func(t *testing.T, s *suite) {
			for _, path := range both {
				refused(t, s.Post(t, "KOWHAI", path, `{"provider": {"provider_code": "TUI"}} trailing`), http.StatusBadRequest, "VALIDATION_ERROR")
				refused(t, s.Post(t, "KOWHAI", path, `{"provider": {"provider_code": "TUI", "provider_code": "TUI"}}`),
					http.StatusBadRequest, "VALIDATION_ERROR", "provider.provider_code")
			}
		}, false},
		{"the provider code before the configuration, and that before the fields and the checkout", func(t *testing.T, s *suite) {
			for file, code := range map[string]string{disabled: "PROVIDER_NOT_ENABLED", `{"providers": []}`: "PROVIDER_NOT_FOUND"} {
				status := map[string]int{"PROVIDER_NOT_ENABLED": http.StatusForbidden, "PROVIDER_NOT_FOUND": http.StatusNotFound}[code]
				s.Configure(t, file)
				for _, path := range both {
					refused(t, s.Post(t, "KOWHAI", path, `{"provider": {"provider_code": "TUI"}}`),
						http.StatusForbidden, "PROVIDER_KEY_MISMATCH", "provider.provider_code")
					refused(t, s.Post(t, "KOWHAI", path, `{}`), status, code)
				}
				refused(t, s.Get(t, "KOWHAI", unknown), status, code)
			}
		}, false},
		{"the fields together with the idempotency key", func(t *testing.T, s *suite) {
			body := set(t, set(t, order(catalogueCreate, "ORDER-1"), "student.email", `"nobody"`), "provider.provider_code", "")
			refused(t, s.Post(t, "KOWHAI", createPath, body, "Idempotency-Key", strings.Repeat("k", 256)),
				http.StatusBadRequest, "VALIDATION_ERROR", "Idempotency-Key", "provider.provider_code", "student.email")
		}, false},
		{"the fields before the checkout", func(t *testing.T, s *suite) {
			body := set(t, s.Create(t, "ORDER-1").ConfirmBody(), "declarations.privacy_consent_accepted", "false")
			refused(t, s.Post(t, "KOWHAI", confirmPath, body),
				http.StatusBadRequest, "VALIDATION_ERROR", "declarations.privacy_consent_accepted")
		}, false},
		{"the fields before the conflict of intents", func(t *testing.T, s *suite) {
			s.Create(t, "ORDER-1")
			refused(t, s.Post(t, "KOWHAI", createPath, set(t, otherIntent("ORDER-1"), "student.email", `"nobody"`)),
				http.StatusBadRequest, "VALIDATION_ERROR", "student.email")
		}, false},
		{"the checkout before its identifiers", func(t *testing.T, s *suite) {
			refused(t, s.Post(t, "KOWHAI", confirmPath, s.Ready(t, "ORDER-1").ConfirmBody()), http.StatusNotFound, "CHECKOUT_NOT_FOUND")
		}, false},
		{"the identifiers before already confirmed", func(t *testing.T, s *suite) {
			created := s.Ready(t, "ORDER-1")
			s.Confirm(t, created)
			for _, field := range []string{"checkout.checkout_id", "provider.provider_order_id", "checkout.opportunity_id", "checkout.dda_id"} {
				refused(t, another(t, s, created, field), http.StatusConflict, "CONFLICT", field)
			}
		}, false},
		{"the identifiers before the token", func(t *testing.T, s *suite) {
			refused(t, another(t, s, s.Ready(t, "ORDER-1"), "checkout.checkout_token", "checkout.dda_id"),
				http.StatusConflict, "CONFLICT", "checkout.dda_id")
		}, false},
		{"the token before the setup", func(t *testing.T, s *suite) {
			refused(t, another(t, s, s.Create(t, "ORDER-1"), "checkout.checkout_token"), http.StatusConflict, "CONFLICT", "checkout.checkout_token")
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.limit {
				contract(t, tt.check, usedUp)
			} else {
				contract(t, tt.check)
			}
		})
	}
}
