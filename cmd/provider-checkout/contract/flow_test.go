package contract_test

import (
	"net/http"
	"testing"
)

// The recommended flow of section 4, from create to a repeated confirm.
func TestContractFlow(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		if created.At("direct_debit.setup_complete") != false {
			t.Errorf("create answers %s", created.Body)
		}
		refused(t, s.Confirm(t, created), http.StatusConflict, "DIRECT_DEBIT_SETUP_INCOMPLETE")

		s.SetUp(t, created)
		polled := s.Get(t, "KOWHAI", created.CheckoutPath())
		if polled.At("direct_debit.setup_complete") != true ||
			polled.String("checkout.status") != "direct_debit_setup_required" ||
			polled.String("direct_debit.mandate_status") != "pending_submission" {
			t.Errorf("after the setup a poll answers %s", polled.Body)
		}

		confirmed := s.Confirm(t, created)
		if confirmed.Status != http.StatusOK || confirmed.At("already_confirmed") != false ||
			confirmed.String("checkout.status") != "confirmed" || confirmed.String("enrolment.status") != "complete" ||
			confirmed.At("agreement.pdf_generated") != true {
			t.Errorf("confirm answers %d %s", confirmed.Status, confirmed.Body)
		}
		repeated := s.Confirm(t, created)
		if repeated.Status != http.StatusOK || repeated.At("already_confirmed") != true ||
			repeated.String("agreement.id") != confirmed.String("agreement.id") {
			t.Errorf("a repeated confirm answers %d %s", repeated.Status, repeated.Body)
		}

		s.MoveMandate(t, created, "submitted")
		s.MoveMandate(t, created, "active")
		polled = s.Get(t, "KOWHAI", created.CheckoutPath())
		if polled.String("direct_debit.mandate_status") != "active" || polled.At("direct_debit.authorised") != true {
			t.Errorf("once the mandate is active a poll answers %s", polled.Body)
		}
	})
}
