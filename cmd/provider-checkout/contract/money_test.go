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
