package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// withCourses returns the provider file with more courses of KOWHAI, each "CODE": price, upfront and plans.
func withCourses(courses ...[4]string) string {
	var more strings.Builder
	for _, c := range courses {
		fmt.Fprintf(&more, `{"course_code": %q, "course_name": "Course of the test", "course_price": %s, "upfront_payment": %s,
			"active": true, "environment": "sandbox", "plans": [%s]},`, c[0], c[1], c[2], c[3])
	}
	return strings.Replace(providers, `"courses": [`, `"courses": [`+more.String(), 1)
}

func TestContract21TheCatalogueResolvesPriceAndInstalments(t *testing.T) {
	weekly := func(rule string) string { return `{"payment_frequency": "Weekly", ` + rule + `}` }
	contract(t, func(t *testing.T, s *suite) {
		for _, tt := range []struct {
			name, price, upfront, plan, wantPlan, wantPricing string
		}{
			{"by number, the rest last", "100", "0", weekly(`"number_of_instalments": 3`),
				`"number_of_instalments": 3, "instalment_amount": 33.33, "final_instalment_amount": 33.34`,
				`{"course_price": 100.00, "amount_to_finance": 100.00, "upfront_payment": 0.00}`},
			{"by number, at most n - 1 cents more", "10.09", "0", weekly(`"number_of_instalments": 10`),
				`"number_of_instalments": 10, "instalment_amount": 1.00, "final_instalment_amount": 1.09`,
				`{"course_price": 10.09, "amount_to_finance": 10.09, "upfront_payment": 0.00}`},
			{"by number, even", "100", "10", weekly(`"number_of_instalments": 3`),
				`"number_of_instalments": 3, "instalment_amount": 30.00`,
				`{"course_price": 100.00, "amount_to_finance": 90.00, "upfront_payment": 10.00}`},
			{"by number, one", "100", "0.01", weekly(`"number_of_instalments": 1`),
				`"number_of_instalments": 1, "instalment_amount": 99.99`,
				`{"course_price": 100.00, "amount_to_finance": 99.99, "upfront_payment": 0.01}`},
			{"by number, a cent each", "6", "0", weekly(`"number_of_instalments": 600`),
				`"number_of_instalments": 600, "instalment_amount": 0.01`,
				`{"course_price": 6.00, "amount_to_finance": 6.00, "upfront_payment": 0.00}`},
			{"by amount, the rest last", "2990", "200", weekly(`"instalment_amount": 120`),
				`"number_of_instalments": 24, "instalment_amount": 120.00, "final_instalment_amount": 30.00`,
				`{"course_price": 2990.00, "amount_to_finance": 2790.00, "upfront_payment": 200.00}`},
			{"by amount, even", "240", "0", weekly(`"instalment_amount": 120`),
				`"number_of_instalments": 2, "instalment_amount": 120.00`,
				`{"course_price": 240.00, "amount_to_finance": 240.00, "upfront_payment": 0.00}`},
			{"by amount, a cent last", "240.01", "0", weekly(`"instalment_amount": 120`),
				`"number_of_instalments": 3, "instalment_amount": 120.00, "final_instalment_amount": 0.01`,
				`{"course_price": 240.01, "amount_to_finance": 240.01, "upfront_payment": 0.00}`},
			{"by amount, all at once", "100", "0", weekly(`"instalment_amount": 120`),
				`"number_of_instalments": 1, "instalment_amount": 100.00`,
				`{"course_price": 100.00, "amount_to_finance": 100.00, "upfront_payment": 0.00}`},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s.Configure(t, withCourses([4]string{"TESTED", tt.price, tt.upfront, tt.plan}))
				r := s.Post(t, "KOWHAI", createPath, set(t, order(catalogueCreate, tt.name), "course.course_code", `"TESTED"`))
				exactly(t, r, http.StatusCreated, opened, s.openedNames(r, "KOWHAI", tt.name,
					`"payment_frequency": "Weekly", `+tt.wantPlan, tt.wantPricing)...)
			})
		}
	})
}

func TestContract21EachOfferedFrequencyHasItsOwnPlan(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.Configure(t, withCourses([4]string{"TESTED", "1000", "0", `{"payment_frequency": "Weekly", "number_of_instalments": 40},
			{"payment_frequency": "Fortnightly", "number_of_instalments": 20}, {"payment_frequency": "Monthly", "number_of_instalments": 9}`}))
		for frequency, want := range map[string]string{"Weekly": "40 25.00", "Fortnightly": "20 50.00", "Monthly": "9 111.11"} {
			body := set(t, order(catalogueCreate, frequency), "course.course_code", `"TESTED"`)
			r := s.Post(t, "KOWHAI", createPath, set(t, body, "plan.payment_frequency", `"`+frequency+`"`))
			got := r.String("plan.number_of_instalments") + " " + r.String("plan.instalment_amount")
			if r.Status != http.StatusCreated || r.String("plan.payment_frequency") != frequency || got != want {
				t.Errorf("%s: %d %s, want %s", frequency, r.Status, r.Body, want)
			}
		}
	})
}

// The values of the catalogue that a create of the course NZDIP with weekly payments may repeat,
// and values that it may not send.
var repeated = []struct{ field, same, also, other string }{
	{"course.course_name", `"Diploma in Business"`, `"  Diploma in Business "`, `"diploma in business"`},
	{"pricing.course_price", `2990.00`, `2.99e3`, `2989.99`},
	{"pricing.amount_to_finance", `2790.00`, `2790`, `2990.00`},
	{"pricing.upfront_payment", `200.00`, `2e2`, `0`},
	{"plan.payment_type", `"interest_free_payment_plan"`, `null`, `"interest_bearing_payment_plan"`},
	{"plan.number_of_instalments", `52`, `null`, `51`},
	{"plan.instalment_amount", `53.65`, `53.650`, `53.66`},
	{"plan.final_instalment_amount", `53.85`, `5385e-2`, `53.65`},
}

func TestContract21ACatalogueValueThatIsSentMustEqualTheResolvedOne(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		all := order(catalogueCreate, "EVERY")
		var fields []string
		wrong := all
		for i, tt := range repeated {
			refused(t, s.Post(t, "KOWHAI", createPath, set(t, order(catalogueCreate, "REFUSED"), tt.field, tt.other)),
				http.StatusBadRequest, "VALIDATION_ERROR", tt.field)
			for j, raw := range []string{tt.same, tt.also} {
				id := fmt.Sprintf("ORDER-%d-%d", i, j)
				r := s.Post(t, "KOWHAI", createPath, set(t, order(catalogueCreate, id), tt.field, raw))
				exactly(t, r, http.StatusCreated, opened, s.openedNames(r, "KOWHAI", id, cataloguePlan, cataloguePricing)...)
			}
			all, wrong = set(t, all, tt.field, tt.same), set(t, wrong, tt.field, tt.other)
			if tt.field != "plan.payment_type" { // refused before the catalogue is read
				fields = append(fields, tt.field)
			}
		}
		r := s.Post(t, "KOWHAI", createPath, all)
		exactly(t, r, http.StatusCreated, opened, s.openedNames(r, "KOWHAI", "EVERY", cataloguePlan, cataloguePricing)...)
		refused(t, s.Post(t, "KOWHAI", createPath, set(t, wrong, "plan.payment_type", "")),
			http.StatusBadRequest, "VALIDATION_ERROR", fields...)
		for _, d := range s.Records(t) {
			if d.Checkout.OrderID == "REFUSED" {
				t.Error("a refused create is on record")
			}
		}
	})
}

func TestContract21ACourseThatCannotBeSoldIsRefusedInTheSameWordsWhateverTheReason(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.Configure(t, strings.Replace(providers, `"account_id": "acc-tui",`, `"account_id": "acc-tui", "courses": [
			{"course_code": "THEIRS", "course_name": "Theirs", "course_price": 100, "upfront_payment": 0, "active": true,
			 "environment": "sandbox", "plans": [{"payment_frequency": "Weekly", "number_of_instalments": 10}]}],`, 1))
		said := map[string]bool{}
		for _, code := range []string{"UNKNOWN", "RETIRED", "ELSEWHERE", "THEIRS", "nzdip"} {
			r := s.Post(t, "KOWHAI", createPath, set(t, order(catalogueCreate, "ORDER-1"), "course.course_code", `"`+code+`"`))
			refused(t, r, http.StatusBadRequest, "VALIDATION_ERROR", "course.course_code")
			said[strings.Replace(r.Body, r.String("request_id"), "", 1)] = true
		}
		if len(said) != 1 {
			t.Errorf("the answers show the reasons: %v", said)
		}
		nothingStored(t, s)
	})
}

func TestContract21LegacyInstalmentsSumToThePrincipalToTheCent(t *testing.T) {
	const price, principal, number, regular, final = "pricing.course_price", "pricing.amount_to_finance",
		"plan.number_of_instalments", "plan.instalment_amount", "plan.final_instalment_amount"
	contract(t, func(t *testing.T, s *suite) {
		for i, tt := range []struct {
			name                     string
			finance, n, amount, last string
			fault, final             string // what is refused, or else the final instalment that is answered
		}{
			{"even", "1000", "4", "250", "", "", ""},
			{"a final equal to the regular is echoed as it was sent", "1000", "4", "250", "250", "", "250.00"},
			{"residual above the regular", "1000", "3", "333.33", "333.34", "", "333.34"},
			{"residual below the regular", "1000", "3", "333.34", "333.32", "", "333.32"},
			{"residual far above", "1000", "3", "0.01", "999.98", "", "999.98"},
			{"residual of a cent", "1000.01", "3", "500", "0.01", "", "0.01"},
			{"one", "1000", "1", "1000", "", "", ""},
			{"one, whose final is the whole", "1000", "1", "1000", "1000", "", "1000.00"},
			{"one, whose regular is another amount", "1000", "1", "500", "1000", regular, ""},
			{"one of the largest amount there is", "1000", "1", "9999999.99", "1000", regular, ""},
			{"one of a cent", "1000", "1", "0.01", "1000", regular, ""},
			{"one, whose final is another amount", "1000", "1", "1000", "999.99", final, ""},
			{"600 of a cent", "6", "600", "0.01", "", "", ""},
			{"600 of the largest principal", "9999999.99", "600", "16666.66", "16670.65", "", "16670.65"},
			{"52 weeks", "2790.00", "52", "53.65", "53.85", "", "53.85"},
			{"two of three cents", "0.03", "2", "0.01", "0.02", "", "0.02"},
			{"eleven of ten cents, which no float sums to", "1.10", "11", "0.10", "", "", ""},
			{"a cent too little", "1000", "3", "333.33", "333.33", final, ""},
			{"a cent too much", "1000", "3", "333.33", "333.35", final, ""},
			{"no final where there must be one", "1000", "3", "333.33", "", regular, ""},
			{"n regular instalments and a final", "1000", "4", "250", "0.01", final, ""},
			{"regular too large for any final", "1000", "3", "500", "0.01", regular, ""},
			{"regular above the principal", "1000", "3", "1000.01", "1", regular, ""},
			{"number off by one", "1000", "5", "250", "", regular, ""},
			{"sums that only a float would take", "0.30", "3", "0.10", "0.1000000000001", final, ""},
			{"more instalments than 600", "6.01", "601", "0.01", "", number, ""},
		} {
			t.Run(tt.name, func(t *testing.T) {
				body := set(t, order(legacyCreate, fmt.Sprint("ORDER-", i)), "pricing.upfront_payment", "0")
				for path, raw := range map[string]string{price: tt.finance, principal: tt.finance,
					number: tt.n, regular: tt.amount, final: tt.last} {
					body = set(t, body, path, raw)
				}
				before := len(s.Records(t))
				r := s.Post(t, "TUI", createPath, body)
				if tt.fault != "" {
					refused(t, r, http.StatusBadRequest, "VALIDATION_ERROR", tt.fault)
					if after := len(s.Records(t)); after != before {
						t.Errorf("%d more checkouts on record", after-before)
					}
				} else if r.Status != http.StatusCreated || r.String(final) != tt.final || r.String(number) != tt.n {
					t.Errorf("answer %d %s, want the final instalment %q", r.Status, r.Body, tt.final)
				}
			})
		}
	})
}

func TestContract21ThePriceIsTheUpfrontPaymentAndThePrincipal(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for _, tt := range []struct{ price, upfront string }{
			{"1250.01", "250.00"}, {"1249.99", "250.00"}, {"1000.00", "250.00"}, {"1250.00", "0"}, {"1250.00", "250.01"}, {"9999999.99", "9999999.99"},
		} {
			body := set(t, order(legacyCreate, "ORDER-1"), "pricing.course_price", tt.price)
			refused(t, s.Post(t, "TUI", createPath, set(t, body, "pricing.upfront_payment", tt.upfront)),
				http.StatusBadRequest, "VALIDATION_ERROR", "pricing.course_price")
		}
		nothingStored(t, s)
	})
}

func TestContract21ALegacyProviderPaysByTheWeekFortnightOrMonth(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for _, frequency := range []string{"Weekly", "Fortnightly", "Monthly"} {
			r := s.Post(t, "TUI", createPath, set(t, order(legacyCreate, frequency), "plan.payment_frequency", `"`+frequency+`"`))
			exactly(t, r, http.StatusCreated, opened, s.openedNames(r, "TUI", frequency,
				strings.Replace(legacyPlan, "Weekly", frequency, 1), legacyPricing)...)
		}
	})
}
