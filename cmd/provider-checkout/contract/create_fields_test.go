package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// wrong are the JSON values that a field of a kind refuses; "" leaves the field out.
var wrong = map[string][]string{
	"text": {"", `null`, `""`, `7`, `true`, `[]`, `{}`, `"a\u0000b"`, `"a\nb"`, `"\u001b[2J"`, `"a\u007f"`, `"a\u0085b"`,
		`"` + strings.Repeat("a", 256) + `"`, `"` + strings.Repeat("é", 256) + `"`},
	"name": {`" "`, `"\u00a0\u3000"`, `"\tTab first"`, `"a\u202eb"`, `"\u2067a"`, `"a\u200f"`, `"a\u061c"`, `"a\u2028b"`, `"a\u2029b"`,
		`"a\ufffe"`, `"\ufdd0"`, `"a\udbff\udfff"`},
	"email": {`"aroha"`, `"@example.nz"`, `"aroha@"`, `"aroha@example"`, `"a@b@example.nz"`, `"a roha@example.nz"`,
		`" aroha@example.nz"`, `"Aroha <aroha@example.nz>"`, `"a@example.nz,b@example.nz"`, `"aroha@example..nz"`, `"aroha@-example.nz"`},
	"amount": {"", `null`, `"1250.00"`, `true`, `[]`, `{}`, `-0.01`, `-1250`, `0.001`, `1250.005`, `1e-3`,
		`10000000.00`, `1e7`, `1e400`, `1e999999999999`, `1.` + strings.Repeat("0", 40)},
	"date": {"", `null`, `20270201`, `true`, `{}`, `""`, `"2027-02-30"`, `"2027-02-29"`, `"2100-02-29"`, `"2027-13-01"`, `"2027-00-10"`,
		`"2027-2-1"`, `"27-02-01"`, `"01-02-2027"`, `"2027/02/01"`, `"2027-02-01T00:00:00Z"`, `" 2027-02-01"`, `"2027-02-01 "`,
		`"1999-12-31"`, `"2200-01-01"`, `"9999-12-31"`, `"0000-00-00"`, `"２０２７-02-01"`},
	"frequency": {`"weekly"`, `"WEEKLY"`, `"Weekly "`, `"Daily"`, `"Yearly"`, `"Quarterly"`},
	"type":      {`"interest_bearing"`, `"Interest_Free_Payment_Plan"`},
	"number":    {"", `null`, `"3"`, `true`, `{}`, `0`, `-3`, `601`, `2.5`, `3.001`, `1e9`, `1e999`},
	"zero":      {`0`, `0.00`, `-0`},
}

func kinds(names ...string) (all []string) {
	for _, name := range names {
		all = append(all, wrong[name]...)
	}
	return all
}

func TestContract21EveryFieldThatIsWrongOrMissingIsNamedAndNothingIsStored(t *testing.T) {
	given := kinds("amount", "zero")[2:]                                           // a final instalment may be left out
	firstNames := slices.DeleteFunc(kinds("text", "name"), func(raw string) bool { // and so may a first name
		var name *string
		return raw == "" || json.Unmarshal([]byte(raw), &name) == nil && (name == nil || strings.TrimSpace(*name) == "")
	})
	contract(t, func(t *testing.T, s *suite) {
		for _, tt := range []struct {
			provider, body, field string
			raws                  []string
		}{
			{"TUI", legacyCreate, "provider.provider_code", []string{"", `null`, `7`, `true`, `[]`, `{}`}},
			{"TUI", legacyCreate, "provider.provider_order_id", kinds("text")},
			{"TUI", legacyCreate, "student.first_name", firstNames},
			{"TUI", legacyCreate, "student.last_name", kinds("text", "name")},
			{"TUI", legacyCreate, "student.email", kinds("text", "email")},
			{"TUI", legacyCreate, "course.course_code", []string{`"NZDIP"`, `""`, `7`}},
			{"TUI", legacyCreate, "course.course_name", kinds("text", "name")},
			{"TUI", legacyCreate, "pricing.course_price", kinds("amount", "zero")},
			{"TUI", legacyCreate, "pricing.amount_to_finance", kinds("amount", "zero")},
			{"TUI", legacyCreate, "pricing.upfront_payment", kinds("amount")},
			{"TUI", legacyCreate, "plan.payment_type", kinds("text", "type")},
			{"TUI", legacyCreate, "plan.payment_frequency", kinds("text", "frequency")},
			{"TUI", legacyCreate, "plan.number_of_instalments", kinds("number")},
			{"TUI", legacyCreate, "plan.instalment_amount", kinds("amount", "zero")},
			{"TUI", legacyCreate, "plan.final_instalment_amount", append(given[:len(given):len(given)], `333.35`)},
			{"TUI", legacyCreate, "plan.first_payment_date", kinds("date")},

			{"KOWHAI", catalogueCreate, "provider.provider_code", []string{"", `null`, `7`}},
			{"KOWHAI", catalogueCreate, "provider.provider_order_id", kinds("text")},
			{"KOWHAI", catalogueCreate, "student.first_name", firstNames},
			{"KOWHAI", catalogueCreate, "student.last_name", kinds("text", "name")},
			{"KOWHAI", catalogueCreate, "student.email", kinds("text", "email")},
			{"KOWHAI", catalogueCreate, "course.course_code", append(kinds("text"),
				`"UNKNOWN"`, `"RETIRED"`, `"ELSEWHERE"`, `"nzdip"`, `"NZDIP "`)},
			{"KOWHAI", catalogueCreate, "plan.payment_frequency", append(kinds("text", "frequency"), `"Monthly"`)},
			{"KOWHAI", catalogueCreate, "plan.first_payment_date", kinds("date")},
		} {
			for _, raw := range tt.raws {
				t.Run(fmt.Sprintf("%s %s=%.20s", tt.provider, tt.field, raw), func(t *testing.T) {
					r := s.Post(t, tt.provider, createPath, set(t, order(tt.body, "ORDER-1"), tt.field, raw))
					refused(t, r, http.StatusBadRequest, "VALIDATION_ERROR", tt.field)
				})
			}
		}
		nothingStored(t, s)
	})
}

func TestContract21AllFaultsOfARequestStandInOneAnswer(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		both := []string{"provider.provider_code", "provider.provider_order_id",
			"student.last_name", "student.email"}
		legacy := append(both[:4:4], "course.course_name", "pricing.course_price", "pricing.amount_to_finance",
			"pricing.upfront_payment", "plan.payment_type", "plan.number_of_instalments", "plan.instalment_amount",
			"plan.payment_frequency", "plan.first_payment_date")
		catalogue := append(both[:4:4], "course.course_code", "plan.payment_frequency", "plan.first_payment_date")
		empty := `{}`
		nulls := `{"provider": null, "student": null, "course": null, "pricing": null, "plan": null}`
		nested := `{"provider": {"provider_code": null}, "student": {"email": null}, "pricing": {}, "plan": {"payment_type": null}}`
		for _, body := range []string{empty, nulls, nested} {
			refused(t, s.Post(t, "TUI", createPath, body), http.StatusBadRequest, "VALIDATION_ERROR", legacy...)
			refused(t, s.Post(t, "KOWHAI", createPath, body), http.StatusBadRequest, "VALIDATION_ERROR", catalogue...)
		}
		sections := `{"provider": 1, "student": "a", "course": [], "pricing": true, "plan": 0.5}`
		refused(t, s.Post(t, "TUI", createPath, sections), http.StatusBadRequest, "VALIDATION_ERROR",
			"provider", "student", "course", "pricing", "plan")
		refused(t, s.Post(t, "KOWHAI", createPath, `{}`, "Idempotency-Key", ""), http.StatusBadRequest, "VALIDATION_ERROR",
			append([]string{"Idempotency-Key"}, catalogue...)...)
		nothingStored(t, s)
	})
}

func TestContract21ANullIsAnAbsentField(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		body := order(catalogueCreate, "ORDER-1")
		for _, path := range []string{"course.course_name", "pricing.course_price", "pricing.amount_to_finance", "pricing.upfront_payment",
			"plan.payment_type", "plan.number_of_instalments", "plan.instalment_amount", "plan.final_instalment_amount"} {
			body = set(t, body, path, "null")
		}
		r := s.Post(t, "KOWHAI", createPath, body)
		exactly(t, r, http.StatusCreated, opened, s.openedNames(r, "KOWHAI", "ORDER-1", cataloguePlan, cataloguePricing)...)

		body = set(t, order(legacyCreate, "ORDER-2"), "course.course_code", "null")
		r = s.Post(t, "TUI", createPath, body)
		exactly(t, r, http.StatusCreated, opened, s.openedNames(r, "TUI", "ORDER-2", legacyPlan, legacyPricing)...)
	})
}

func TestContract21AStudentMayHaveOneName(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for i, raw := range []string{"", `null`, `""`, `" "`, `"\u00a0\u3000"`} {
			body := set(t, order(catalogueCreate, fmt.Sprint("ORDER-", i)), "student.last_name", `"Sukarno"`)
			created := s.Post(t, "KOWHAI", createPath, set(t, body, "student.first_name", raw))
			if created.Status != http.StatusCreated {
				t.Fatalf("with the first name %s: %d %s", raw, created.Status, created.Body)
			}
			s.SetUp(t, created)
			number := s.Confirm(t, created).String("agreement.number")
			if text := sandbox.DocumentText(t, s.Store, number); !strings.Contains(text, "Sukarno") {
				t.Errorf("the agreement lacks the student's name: %s", text)
			}
		}
	})
}

func TestContract21AFirstPaymentDateIsAnyRealDayFrom2000To2199(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for _, day := range []string{"2000-01-01", "2000-02-29", "2024-02-29", "2026-01-01", "2096-02-29", "2199-12-31"} {
			r := s.Post(t, "KOWHAI", createPath, set(t, order(catalogueCreate, day), "plan.first_payment_date", `"`+day+`"`))
			if r.Status != http.StatusCreated || r.String("plan.first_payment_date") != day {
				t.Errorf("%s: %d %s", day, r.Status, r.Body)
			}
		}
	})
}

func TestContract21AddressesThatPeopleHaveAreTaken(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for i, email := range []string{"a@b.nz", "mere.o'brien+enrol@students.kowhai.ac.nz", "AROHA@EXAMPLE.NZ", "tūī@kōwhai.nz",
			"x_y%z=1@sub-domain.example.co.nz", strings.Repeat("l", 64) + "@example.nz"} {
			r := s.Post(t, "KOWHAI", createPath, set(t, order(catalogueCreate, fmt.Sprint("ORDER-", i)), "student.email", `"`+email+`"`))
			if r.Status != http.StatusCreated {
				t.Errorf("%s: %d %s", email, r.Status, r.Body)
			}
		}
	})
}
