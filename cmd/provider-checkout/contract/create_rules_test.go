package contract_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
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

// moneyTexts returns texts to send in place of a number of dollars.
func moneyTexts() []string {
	texts := []string{
		"0", "0.0", "0.00", "0.000", "-0", "-0.00", "0e0", "0e999999", "0e-999999", "-0e5", "0.000000000000000000000000000001",
		"1", "1.0", "1.00", "1.000", "1.001", "1.005", "1.009", "1.010", "1.10", "0.01", "0.1", "0.10", "0.001", "0.009999999999999999",
		"10", "100", "1250", "1250.00", "1.25e3", "1.25E3", "1.25e+3", "1.25e03", "12500e-1", "125000e-2", "1250000e-3", "1250001e-3",
		"1.25e2", "1.2345e2", "1.23456e2", "123.45e0", "12345e-2", "12345e-3", "0.12345e3", "0.000125e7", "1e-2", "1e-3", "10e-3", "1e-1",
		"9999999.99", "9999999.990", "10000000", "10000000.00", "9999999.991", "9999999.999", "9999999.995", "999999999e-2", "1000000000e-2",
		"1e6", "1e7", "9.99999999e6", "99999999.99", "99999999999999999999", "9223372036854775807", "9223372036854775808",
		"92233720368547758.07", "18446744073709551616", "184467440737095516.17", "1e18", "1e19", "1e20", "1e308", "1e309", "1e400", "1e999999",
		"1e-308", "1e-324", "1e-400", "1e-999999", "1e99999999999999999999999", "1e-99999999999999999999999", "0e99999999999999999999999",
		"-1", "-0.01", "-1250.00", "-1e-2", "-1e999999", "-9999999.99", "-0.001", "-1e-999999",
		"0.07", "0.29", "0.57", "0.58", "1.1", "1.15", "2.675", "4.35", "8.41", "16.40", "19.99", "33.33", "33.34", "64.10", "79.99", "1.13",
		"1001.01", "1234567.89", "8388608.01", "9007199.25", "4503599.63", "2147483.64", "2147483.65", "42949672.96", "655.36", "0.30000000000000004",
		"123456789012345678901234567890.0", "1.000000000000000000000000000000", "1.0000000000000000000000000000000", "00000000000000000000000000000001",
		strings.Repeat("9", 32), strings.Repeat("9", 33), strings.Repeat("9", 10_000), "0." + strings.Repeat("0", 10_000) + "1",
		"1." + strings.Repeat("0", 29), "1." + strings.Repeat("0", 30), "1." + strings.Repeat("0", 31), "1e" + strings.Repeat("0", 30), "1e" + strings.Repeat("9", 10_000),

		"", "+1", ".5", "1.", "1.e2", "01", "-01", "00", "0x10", "0b1", "1_000", "1,000.00", "1 000", "1'000", "$1.00", "1.00 NZD", "NaN", "nan",
		"Infinity", "-Infinity", "inf", "1e", "1e+", "1e1.5", "1ee2", "--1", "-", "1.2.3", "１", "١", "1\u00a0", "½", "1e２",
		`"1250.00"`, `"1"`, `""`, `" 1"`, `"1,000.00"`, `"NaN"`, `"1e3"`, "true", "false", "[]", "[1]", "{}", `{"amount":1}`,
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		whole, places := random.Int64N(20_000_000), random.IntN(5)
		text := fmt.Sprintf("%d.%0*d", whole, places, random.Int64N([]int64{1, 10, 100, 1000, 10_000}[places]))
		if places == 0 {
			text = strconv.FormatInt(whole, 10)
		}
		if random.IntN(2) == 0 {
			text += fmt.Sprintf("e%d", random.IntN(9)-5)
		}
		texts = append(texts, text)
	}
	return texts
}

// dollarsOf parses a text by rational arithmetic and returns the amount with two decimals; ok is false
// if the contract does not allow it. number reports whether the text is a JSON number of any size.
func dollarsOf(text string) (amount string, ok, number bool) {
	parts := regexp.MustCompile(`^(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?)(?:[eE]([+-]?[0-9]+))?$`).FindStringSubmatch(text)
	if parts == nil {
		return "", false, false
	}
	value, good := new(big.Rat).SetString(parts[1])
	if !good || len(text) > 32 {
		return "", false, true
	}
	if parts[2] != "" && value.Sign() != 0 {
		exponent, err := strconv.Atoi(parts[2])
		if err != nil || exponent < -100 || exponent > 100 { // no 32 characters make up for that
			return "", false, true
		}
		power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil))
		if exponent < 0 {
			power.Inv(power)
		}
		value.Mul(value, power)
	}
	cents := new(big.Rat).Mul(value, big.NewRat(100, 1))
	if value.Sign() < 0 || !cents.IsInt() || cents.Cmp(big.NewRat(9_999_999_99, 1)) > 0 {
		return "", false, true
	}
	return value.FloatString(2), true, true
}

// The text is sent as the principal and as its only instalment; the price is the same amount in plain notation.
func TestContract8AmountsAreExactCentsHoweverTheyAreWritten(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		taken, refusals := 0, 0
		for i, text := range moneyTexts() {
			amount, ok, number := dollarsOf(text)
			price := "1.00"
			if ok {
				price = amount
			}
			body := order(legacyCreate, fmt.Sprintf("ORDER-%d", i))
			for from, to := range map[string]string{
				`"course_price": 1250.00`: `"course_price": ` + price, `"amount_to_finance": 1000.00`: `"amount_to_finance": ` + text,
				`"upfront_payment": 250.00`: `"upfront_payment": ` + []string{"0", "-0", "0e9", "0.00"}[i%4], `"number_of_instalments": 3`: `"number_of_instalments": 1`,
				`"instalment_amount": 333.33, "final_instalment_amount": 333.34`: `"instalment_amount": ` + text,
			} {
				body = strings.Replace(body, from, to, 1)
			}
			r := s.Post(t, "TUI", "/v1/provider-checkouts", body)
			switch {
			case ok && amount != "0.00":
				taken++
				if r.Status != http.StatusCreated || r.String("pricing.course_price") != amount ||
					r.String("pricing.amount_to_finance") != amount || r.String("plan.instalment_amount") != amount {
					t.Errorf("%.60s is %s: answered %d %s", text, amount, r.Status, r.Body)
				}
			case number || len(text) > 0 && strings.ContainsRune(`"tf[{`, rune(text[0])):
				refusals++
				refused(t, r, http.StatusBadRequest, "VALIDATION_ERROR", "pricing.amount_to_finance", "plan.instalment_amount")
			default: // not JSON: the fault's place is reported as far as it is known
				refusals++
				refused(t, r, http.StatusBadRequest, "VALIDATION_ERROR", fieldsNamed(r, "pricing", "pricing.amount_to_finance")...)
			}
		}
		if stored := s.Records(t); len(stored) != taken || taken < 60 || refusals < 120 {
			t.Errorf("%d checkouts are on record after %d good and %d bad amounts", len(stored), taken, refusals)
		}
		calm(t, s)
	})
}

// fieldsNamed returns the field that a refusal names, if it is one of these.
func fieldsNamed(r response, possible ...string) []string {
	for _, d := range faults(r) {
		if slices.Contains(possible, d.field) {
			return []string{d.field}
		}
	}
	return nil
}
