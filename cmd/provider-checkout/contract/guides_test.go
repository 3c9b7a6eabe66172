package contract_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// What the document says only in prose is true.

func TestContract21EveryFieldIsRequiredOfWhomTheDocumentSays(t *testing.T) {
	s := newSuite(t, sandbox.Memory)
	// Two equal instalments need no final one: that is required by the figures, not as a field.
	legacy := set(t, set(t, order(legacyCreate, "ORDER-1"), "plan.number_of_instalments", "2"), "plan.instalment_amount", "500")
	legacy = set(t, legacy, "plan.final_instalment_amount", "")
	for _, tt := range []struct{ request, provider, body string }{
		{"CatalogueCreateRequest", "KOWHAI", order(catalogueCreate, "ORDER-1")}, {"LegacyCreateRequest", "TUI", legacy},
	} {
		for name, required := range requiredFields(sandbox.Document().Spec.Components.Schemas[tt.request].Value) {
			r := s.Post(t, tt.provider, "/v1/provider-checkouts", set(t, tt.body, name, ""))
			if got := detail(r, name) != ""; got != required {
				t.Errorf("%s, without %s: %d %s; required by the document: %t", tt.request, name, r.Status, r.Body, required)
			}
		}
	}
}

// requiredFields returns the fields of a request's sections, and whether each must be sent.
func requiredFields(request *openapi3.Schema) map[string]bool {
	fields := map[string]bool{}
	for section, inside := range request.Properties {
		for name := range inside.Value.Properties {
			fields[section+"."+name] = slices.Contains(inside.Value.Required, name)
		}
	}
	return fields
}

func TestContract7WhatComesAloneAndWhatComesTogether(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		faulty := set(t, set(t, order(catalogueCreate, "ORDER-1"), "student.email", `"x"`), "course.course_code", `"NONE"`)
		mismatch := strings.Replace(faulty, `"KOWHAI"`, `"TUI"`, 1)
		const path = "/v1/provider-checkouts"
		twice := strings.Replace(mismatch, `"student":`, `"student": {}, "student":`, 1)
		refused(t, s.Post(t, "KOWHAI", path, twice), http.StatusBadRequest, "VALIDATION_ERROR", "student")
		cased := strings.Replace(mismatch, `"email"`, `"Email"`, 1)
		refused(t, s.Post(t, "KOWHAI", path, cased), http.StatusBadRequest, "VALIDATION_ERROR", "student.email")
		refused(t, s.Post(t, "KOWHAI", path, mismatch+"{}"), http.StatusBadRequest, "VALIDATION_ERROR")
		refused(t, s.Post(t, "KOWHAI", path, mismatch), http.StatusForbidden, "PROVIDER_KEY_MISMATCH", "provider.provider_code")
		both := set(t, faulty, "plan.first_payment_date", "")
		refused(t, s.Post(t, "KOWHAI", path, both), http.StatusBadRequest, "VALIDATION_ERROR", "student.email", "plan.first_payment_date")
		sound := set(t, faulty, "student.email", `"x@example.nz"`)
		refused(t, s.Post(t, "KOWHAI", path, sound), http.StatusBadRequest, "VALIDATION_ERROR", "course.course_code")
	})
}

func TestContract24ARepeatTakesAnyTokenAndAnyDate(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		first := s.Confirm(t, created)
		body := set(t, created.ConfirmBody(), "payment.first_payment_date", `"2020-01-01"`)
		again := s.confirmAs(t, created, set(t, body, "checkout.checkout_token", `"x"`))
		if again.Status != http.StatusOK || again.At("already_confirmed") != true ||
			again.String("agreement.number") != first.String("agreement.number") {
			t.Errorf("a repeat is answered %d %s", again.Status, again.Body)
		}
		if got := s.Records(t)[0].Checkout.Confirmation.FirstPayment.String(); got != "2027-02-01" {
			t.Errorf("the agreed date became %s", got)
		}
		for _, raw := range []string{"", `""`, "null"} {
			got := s.confirmAs(t, created, set(t, created.ConfirmBody(), "checkout.checkout_token", raw))
			refused(t, got, http.StatusBadRequest, "VALIDATION_ERROR", "checkout.checkout_token")
		}
	})
}
