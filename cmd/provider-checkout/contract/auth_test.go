package contract_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/ports"
)

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
