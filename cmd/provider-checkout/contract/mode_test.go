package contract_test

import (
	"net/http"
	"strings"
	"testing"
)

// The parts of the provider file about courses, to move each provider to the other pricing mode.
const (
	tuiLegacy    = `"provider_code": "TUI", "name": "Tūī Trades Academy", "account_id": "acc-tui",`
	tuiCatalogue = tuiLegacy + ` "courses": [{"course_code": "JOINERY", "course_name": "NAME", "course_price": 1250.00,
		"upfront_payment": 250.00, "active": true, "plans": [{"payment_frequency": "Weekly", "number_of_instalments": 3}]}],`
	joinery = `{"provider": {"provider_code": "TUI", "provider_order_id": "ORDER"},
		"student": {"first_name": "Hemi", "last_name": "Tūhoe", "email": "hemi@students.example.ac.nz"},
		"course": {"course_code": "JOINERY"}, "plan": {"payment_frequency": "Weekly", "first_payment_date": "2027-02-01"}}`
)

// withCatalogue returns the provider file in which TUI has a course of this name.
func withCatalogue(t *testing.T, courseName string) string {
	t.Helper()
	changed := strings.Replace(providers, tuiLegacy, strings.Replace(tuiCatalogue, "NAME", courseName, 1), 1)
	if changed == providers {
		t.Fatal("the provider file did not change")
	}
	return changed
}

// withoutCatalogue returns the provider file in which KOWHAI has no courses.
func withoutCatalogue(t *testing.T) string {
	t.Helper()
	from := strings.Index(providers, `,
	"courses": [`)
	to := strings.Index(providers, `]}]},
	{"provider_code": "TUI"`)
	if from < 0 || to < 0 {
		t.Fatal("the provider file has another shape")
	}
	return providers[:from] + providers[to+len("]}]"):]
}

func TestContract4AnOrderReplaysAfterItsProviderGotACatalogue(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		first := s.Post(t, "TUI", createPath, order(legacyCreate, "ORDER-1"))
		before := s.Records(t)
		s.Configure(t, withCatalogue(t, "Certificate in Joinery"))

		exactly(t, s.Post(t, "TUI", createPath, order(legacyCreate, "ORDER-1")), http.StatusOK, replayed(first, "TUI:ORDER-1"))
		refused(t, s.Post(t, "TUI", createPath, set(t, order(legacyCreate, "ORDER-1"), "plan.first_payment_date", `"2027-02-02"`)),
			http.StatusConflict, "IDEMPOTENCY_CONFLICT", "plan.first_payment_date")
		refused(t, s.Post(t, "TUI", createPath, order(legacyCreate, "ORDER-2")),
			http.StatusBadRequest, "VALIDATION_ERROR", "course.course_code")
		// The provider's new requests mean the same enrolment if the catalogue has the same figures.
		if r := s.Post(t, "TUI", createPath, order(joinery, "ORDER-1")); r.Status != http.StatusOK {
			t.Errorf("a request by the catalogue, with the same intent: %d %s", r.Status, r.Body)
		}
		s.Configure(t, withCatalogue(t, "Joinery, Level 3"))
		refused(t, s.Post(t, "TUI", createPath, order(joinery, "ORDER-1")), http.StatusConflict, "IDEMPOTENCY_CONFLICT", "course.course_name")
		unchanged(t, s, before)
		s.SetUp(t, first)
		if r := s.Confirm(t, first); r.Status != http.StatusOK {
			t.Errorf("confirm: %d %s", r.Status, r.Body)
		}
	})
}

func TestContract4AnOrderReplaysAfterItsProviderLostItsCatalogue(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		first := s.Create(t, "ORDER-1")
		before := s.Records(t)
		s.Configure(t, withoutCatalogue(t))

		exactly(t, s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1")), http.StatusOK, replayed(first, "KOWHAI:ORDER-1"))
		refused(t, s.Post(t, "KOWHAI", createPath, set(t, order(catalogueCreate, "ORDER-1"), "plan.first_payment_date", `"2027-02-02"`)),
			http.StatusConflict, "IDEMPOTENCY_CONFLICT", "plan.first_payment_date")
		if r := s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-2")); r.Status != http.StatusBadRequest {
			t.Errorf("a new order that names a course: %d %s, want 400", r.Status, r.Body)
		}
		unchanged(t, s, before)
		s.SetUp(t, first)
		if r := s.Confirm(t, first); r.Status != http.StatusOK {
			t.Errorf("confirm: %d %s", r.Status, r.Body)
		}
	})
}
