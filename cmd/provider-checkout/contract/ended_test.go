package contract_test

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// A mandate that ends after the confirm is the poll's alone: section 6 has no event for it.
func TestContract6AMandateThatEndsAfterTheConfirmIsShownByThePollAndIsNoEvent(t *testing.T) {
	contractWith(t, withBank, func(t *testing.T, s *suite, b *bank) {
		created, _ := s.enrolled(t, "ORDER-1")
		for _, m := range []checkout.MandateStatus{checkout.MandateActive, checkout.MandateFailed} {
			b.sayMandate(m)
			s.Clock.Forward(2 * time.Second) // until the processor is asked again
			polled := s.Get(t, "KOWHAI", created.CheckoutPath())
			if got := brief(polled, "checkout.status", "direct_debit.setup_complete", "direct_debit.mandate_status"); got != "200 confirmed true "+string(m) {
				t.Errorf("a poll answers %s", got)
			}
		}
		if m := s.record(t, "ORDER-1").Checkout.Setup.Mandate; m != checkout.MandateFailed {
			t.Fatalf("on record the mandate is %s", m)
		}
		s.restart(t, 0)
		s.emitted(t, "checkout.created", "checkout.confirmed", "agreement.generated")
		sameList(t, "on record", s.outcomes(t, "ORDER-1"), "checkout.created delivered 1", "checkout.confirmed delivered 1",
			"agreement.generated delivered 1")
	})
}
