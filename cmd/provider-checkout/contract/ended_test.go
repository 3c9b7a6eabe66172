package contract_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// Beyond section 6: mandate.changed, for a provider whose configuration lists it.

// listing returns the provider file in which a provider lists events.
func listing(provider, events string) string {
	url := `"url": "HOOKS/` + provider + `"`
	return strings.Replace(sandbox.Providers, url, url+`, "events": [`+events+`]`, 1)
}

func TestAMandateThatEndsAfterTheConfirmIsToldToTheProviderThatListsIt(t *testing.T) {
	contractWith(t, withBank, func(t *testing.T, s *suite, b *bank) {
		s.Configure(t, listing("KOWHAI", `"checkout.confirmed", "mandate.changed"`))
		created, confirmed := s.enrolled(t, "ORDER-1")
		s.emitted(t, "checkout.confirmed") // what is not listed does not exist
		b.sayMandate(checkout.MandateCancelled)
		for range 2 {
			s.Clock.Forward(2 * time.Second) // until the processor is asked again
			polled := s.Get(t, "KOWHAI", created.CheckoutPath())
			if got := brief(polled, "checkout.status", "direct_debit.setup_complete", "direct_debit.mandate_status"); got != "200 confirmed true cancelled" {
				t.Errorf("a poll answers %s", got)
			}
		}
		s.restart(t, 1)
		s.restart(t, 0)
		s.emitted(t, "checkout.confirmed", "mandate.changed")
		got := s.Receiver.Deliveries()[1]
		for field, want := range map[string]string{"data.provider_code": "KOWHAI", "data.provider_order_id": "ORDER-1",
			"data.checkout_id": created.String("checkout.checkout_id"), "data.opportunity_id": created.String("records.opportunity_id"),
			"data.dda_id": created.String("records.dda_id"), "data.mandate_status": "cancelled", "request_id": confirmed.Header.Get("X-Request-Id")} {
			if got.JSON.Text(field) != want {
				t.Errorf("%s has %s %q, want %q", got.Body, field, got.JSON.Text(field), want)
			}
		}
		if !signedBy(kowhaiSecret, got) {
			t.Errorf("%s is not signed: %v", got.Body, got.Header)
		}
		sameList(t, "on record", s.outcomes(t, "ORDER-1"), "checkout.confirmed delivered 1", "mandate.changed delivered 1")
	})
}

// A provider that does not list the event gets the contract's three and no others, and has no others on record.
func TestContract6AMandateThatEndsAfterTheConfirmIsNotToldToAProviderThatDoesNotListIt(t *testing.T) {
	for name, file := range map[string]string{"without a list": sandbox.Providers, "another provider lists it": listing("TUI", `"mandate.changed"`),
		"with the contract's three": listing("KOWHAI", `"checkout.created", "checkout.confirmed", "agreement.generated"`)} {
		t.Run(name, func(t *testing.T) {
			contractWith(t, withBank, func(t *testing.T, s *suite, b *bank) {
				s.Configure(t, file)
				created, _ := s.enrolled(t, "ORDER-1")
				for _, m := range []checkout.MandateStatus{checkout.MandateActive, checkout.MandateFailed} {
					b.sayMandate(m)
					s.Clock.Forward(2 * time.Second) // until the processor is asked again
					s.Get(t, "KOWHAI", created.CheckoutPath())
				}
				if m := s.record(t, "ORDER-1").Checkout.Setup.Mandate; m != checkout.MandateFailed {
					t.Fatalf("on record the mandate is %s", m)
				}
				s.restart(t, 0)
				s.emitted(t, "checkout.created", "checkout.confirmed", "agreement.generated")
				if got := s.outcomes(t, "ORDER-1"); slices.ContainsFunc(got, func(e string) bool { return strings.HasPrefix(e, "mandate.") }) {
					t.Errorf("on record are %q", got)
				}
			})
		})
	}
}
