package main

import (
	"net/http"
	"testing"
	"time"
)

// The recommended flow of section 4, from create to a repeated confirm.
func TestContractFlow(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		created := s.create(t, "ORDER-1")
		if created.at("direct_debit.setup_complete") != false {
			t.Errorf("create answers %s", created.text)
		}
		refused(t, s.confirm(t, created), http.StatusConflict, "DIRECT_DEBIT_SETUP_INCOMPLETE")

		s.setUp(t, created)
		polled := s.get(t, "KOWHAI", checkoutPath(created))
		if polled.at("direct_debit.setup_complete") != true ||
			polled.string("checkout.status") != "direct_debit_setup_required" ||
			polled.string("direct_debit.mandate_status") != "pending_submission" {
			t.Errorf("after the setup a poll answers %s", polled.text)
		}

		confirmed := s.confirm(t, created)
		if confirmed.status != http.StatusOK || confirmed.at("already_confirmed") != false ||
			confirmed.string("checkout.status") != "confirmed" || confirmed.string("enrolment.status") != "complete" ||
			confirmed.at("agreement.pdf_generated") != true {
			t.Errorf("confirm answers %d %s", confirmed.status, confirmed.text)
		}
		repeated := s.confirm(t, created)
		if repeated.status != http.StatusOK || repeated.at("already_confirmed") != true ||
			repeated.string("agreement.id") != confirmed.string("agreement.id") {
			t.Errorf("a repeated confirm answers %d %s", repeated.status, repeated.text)
		}

		s.clock.forward(2 * time.Minute)
		polled = s.get(t, "KOWHAI", checkoutPath(created))
		if polled.string("direct_debit.mandate_status") != "active" || polled.at("direct_debit.authorised") != true {
			t.Errorf("two minutes later a poll answers %s", polled.text)
		}
	})
}
