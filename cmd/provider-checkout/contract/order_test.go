package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// The order of checks: each request here fails two neighbouring checks, and is refused by the first.

const confirmPath = "/v1/provider-checkouts/KOWHAI-1-aaaaaaaaaaaaaaaa/confirm"

func TestContract7AnUnknownRouteComesBeforeTheKey(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		refused(t, s.Send(t, http.MethodPost, "/v1/nothing", ""), http.StatusNotFound, "NOT_FOUND")
		refused(t, s.Send(t, http.MethodPut, "/v1/provider-checkouts", ""), http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
	})
}

func TestContract7TheKeyComesBeforeTheRate(t *testing.T) {
	slowly(t, func(t *testing.T, s *suite) {
		refused(t, s.Send(t, http.MethodGet, confirmPath[:len(confirmPath)-len("/confirm")], ""),
			http.StatusUnauthorized, "MISSING_API_KEY")
	})
}

// slowly is contract for a sandbox in which KOWHAI's key is used up.
func slowly(t *testing.T, test func(t *testing.T, s *suite)) {
	contract(t, func(t *testing.T, s *suite) {
		s.Create(t, "ORDER-1")
		test(t, s)
	}, func(_ *service.Config, o *httpapi.Options) { o.RateLimit = 0.01 }) // a burst of one
}

func TestContract7TheRateComesBeforeTheType(t *testing.T) {
	slowly(t, func(t *testing.T, s *suite) {
		got := s.Send(t, http.MethodPost, "/v1/provider-checkouts", "x",
			"Authorization", "Bearer "+s.Keys["KOWHAI"], "Content-Type", "text/plain")
		refused(t, got, http.StatusTooManyRequests, "RATE_LIMITED")
	})
}

func TestContract7TheTypeComesBeforeTheSize(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		got := s.Send(t, http.MethodPost, "/v1/provider-checkouts", strings.Repeat("x", 70<<10),
			"Authorization", "Bearer "+s.Keys["KOWHAI"], "Content-Type", "text/plain")
		refused(t, got, http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
	})
}

func TestContract7TheSizeComesBeforeTheForm(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		got := s.Post(t, "KOWHAI", "/v1/provider-checkouts", strings.Repeat("x", 70<<10))
		refused(t, got, http.StatusRequestEntityTooLarge, "REQUEST_TOO_LARGE")
	})
}

func TestContract7TheFormComesBeforeTheProviderCode(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for _, path := range []string{"/v1/provider-checkouts", confirmPath} {
			got := s.Post(t, "KOWHAI", path, `{"provider": {"provider_code": "TUI"}} trailing`)
			refused(t, got, http.StatusBadRequest, "VALIDATION_ERROR")
			twice := s.Post(t, "KOWHAI", path, `{"provider": {"provider_code": "TUI", "provider_code": "TUI"}}`)
			refused(t, twice, http.StatusBadRequest, "VALIDATION_ERROR", "provider.provider_code")
		}
	})
}

func TestContract7TheProviderCodeComesBeforeTheConfiguration(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for _, file := range []string{disabled, `{"providers": []}`} {
			s.Configure(t, file)
			for _, path := range []string{"/v1/provider-checkouts", confirmPath} {
				got := s.Post(t, "KOWHAI", path, `{"provider": {"provider_code": "TUI"}}`)
				refused(t, got, http.StatusForbidden, "PROVIDER_KEY_MISMATCH", "provider.provider_code")
			}
		}
	})
}

// disabled is a provider file in which KOWHAI may not call.
const disabled = `{"providers": [{"provider_code": "KOWHAI", "name": "K", "account_id": "a",
	"environment": "sandbox", "active": true, "api_enabled": false}]}`

func TestContract7TheConfigurationComesBeforeTheFields(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for _, path := range []string{"/v1/provider-checkouts", confirmPath} {
			s.Configure(t, disabled)
			refused(t, s.Post(t, "KOWHAI", path, `{}`), http.StatusForbidden, "PROVIDER_NOT_ENABLED")
			s.Configure(t, `{"providers": []}`)
			refused(t, s.Post(t, "KOWHAI", path, `{}`), http.StatusNotFound, "PROVIDER_NOT_FOUND")
		}
	})
}

func TestContract7TheConfigurationComesBeforeTheCheckout(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		path := strings.TrimSuffix(confirmPath, "/confirm")
		s.Configure(t, disabled)
		refused(t, s.Get(t, "KOWHAI", path), http.StatusForbidden, "PROVIDER_NOT_ENABLED")
		s.Configure(t, `{"providers": []}`)
		refused(t, s.Get(t, "KOWHAI", path), http.StatusNotFound, "PROVIDER_NOT_FOUND")
	})
}

func TestContract7TheFieldsAreReportedTogetherWithTheIdempotencyKey(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		body := set(t, set(t, order(catalogueCreate, "ORDER-1"), "student.email", `"nobody"`), "provider.provider_code", "")
		got := s.Post(t, "KOWHAI", "/v1/provider-checkouts", body, "Idempotency-Key", strings.Repeat("k", 256))
		refused(t, got, http.StatusBadRequest, "VALIDATION_ERROR", "Idempotency-Key", "provider.provider_code", "student.email")
	})
}

func TestContract7TheFieldsComeBeforeTheCheckout(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		body := set(t, s.Create(t, "ORDER-1").ConfirmBody(), "declarations.privacy_consent_accepted", "false")
		refused(t, s.Post(t, "KOWHAI", confirmPath, body),
			http.StatusBadRequest, "VALIDATION_ERROR", "declarations.privacy_consent_accepted")
	})
}

func TestContract7TheFieldsComeBeforeTheConflictOfIntents(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.Create(t, "ORDER-1")
		got := s.Post(t, "KOWHAI", "/v1/provider-checkouts", set(t, otherIntent("ORDER-1"), "student.email", `"nobody"`))
		refused(t, got, http.StatusBadRequest, "VALIDATION_ERROR", "student.email")
	})
}

func TestContract7TheCheckoutComesBeforeItsIdentifiers(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		got := s.Post(t, "KOWHAI", confirmPath, s.Ready(t, "ORDER-1").ConfirmBody())
		refused(t, got, http.StatusNotFound, "CHECKOUT_NOT_FOUND")
	})
}

func TestContract7TheIdentifiersComeBeforeAlreadyConfirmed(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		s.Confirm(t, created)
		for _, field := range []string{"checkout.checkout_id", "provider.provider_order_id",
			"checkout.opportunity_id", "checkout.dda_id"} {
			refused(t, s.confirmAs(t, created, set(t, created.ConfirmBody(), field, `"another"`)),
				http.StatusConflict, "CONFLICT", field)
		}
	})
}

func TestContract7AlreadyConfirmedComesBeforeTheToken(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		s.Confirm(t, created)
		got := s.confirmAs(t, created, set(t, created.ConfirmBody(), "checkout.checkout_token", `"another"`))
		if got.Status != http.StatusOK || got.At("already_confirmed") != true {
			t.Errorf("confirm answers %d %s", got.Status, got.Body)
		}
	})
}

func TestContract7TheTokenComesBeforeTheSetup(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		got := s.confirmAs(t, created, set(t, created.ConfirmBody(), "checkout.checkout_token", `"another"`))
		refused(t, got, http.StatusConflict, "CONFLICT", "checkout.checkout_token")
	})
}

func TestContract7TheIdentifiersComeBeforeTheToken(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		body := set(t, created.ConfirmBody(), "checkout.checkout_token", `"another"`)
		got := s.confirmAs(t, created, set(t, body, "checkout.dda_id", `"another"`))
		refused(t, got, http.StatusConflict, "CONFLICT", "checkout.dda_id")
	})
}
