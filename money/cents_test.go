package money_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata"
)

func TestParseAgreesWithVectors(t *testing.T) {
	faults := map[string]error{
		"":           nil,
		"too_long":   money.ErrTooLong,
		"not_number": money.ErrNotNumber,
		"negative":   money.ErrNegative,
		"fraction":   money.ErrFraction,
		"too_large":  money.ErrTooLarge,
	}
	var v amountVectors
	testdata.Read(t, "amounts.json", &v)
	seen := map[string]bool{}
	for _, tt := range v.Cases {
		t.Run(tt.Name, func(t *testing.T) {
			want, ok := faults[tt.Fault]
			if !ok {
				t.Fatalf("amounts.json names an unknown fault %q", tt.Fault)
			}
			got, err := money.Parse(tt.Text)
			if got != tt.Cents || !errors.Is(err, want) {
				t.Errorf("Parse(%q) = %d cents, %v; want %d, %v", tt.Text, got, err, tt.Cents, want)
			}
			if tt.Fault == "" && got.String() != tt.Written {
				t.Errorf("Parse(%q) is written %s, want %s", tt.Text, got, tt.Written)
			}
		})
		seen[tt.Fault] = true
	}
	for fault := range faults {
		if !seen[fault] {
			t.Errorf("amounts.json has no case with fault %q", fault)
		}
	}
}

func TestParseLooksAtTheTextOnly(t *testing.T) {
	long := strings.Repeat("9", 1<<20)
	for _, text := range []string{"1e999999", "1e-999999", "1e99999999999999999999999999999", "0e999999999", long, "1e" + long} {
		allocs := testing.AllocsPerRun(10, func() { _, _ = money.Parse(text) })
		if allocs > 2 { // for the error of an exponent beyond every int
			t.Errorf("Parse of %d bytes beginning %.12q allocates %v times", len(text), text, allocs)
		}
	}
}

// Every text of up to six of these characters is read as exact fractions read it.
func TestParseAgreesWithExactFractionsOnAllShortTexts(t *testing.T) {
	const alphabet = "-+.e0159"
	var texts func(prefix string, more int)
	texts = func(prefix string, more int) {
		compareWithFractions(t, prefix)
		if more == 0 {
			return
		}
		for _, c := range alphabet {
			texts(prefix+string(c), more-1)
		}
	}
	texts("", 6)
}

// Texts about the ends of the range, where six characters do not reach.
func TestParseAgreesWithExactFractionsOnLongerTexts(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 2026))
	digits := func(most int) string {
		b := make([]byte, 1+random.IntN(most))
		for i := range b {
			b[i] = "00001234567899999"[random.IntN(17)]
		}
		return string(b)
	}
	for range 100_000 {
		text := digits(12)
		if random.IntN(4) > 0 {
			text += "." + digits(8)
		}
		if random.IntN(2) > 0 {
			text += []string{"e", "E", "e+", "e-", "E-"}[random.IntN(5)] + digits(2)
		}
		if random.IntN(8) == 0 {
			text = "-" + text
		}
		compareWithFractions(t, text)
	}
}

func compareWithFractions(t *testing.T, text string) {
	t.Helper()
	got, err := money.Parse(text)
	want, wantErr := byFractions(text)
	if got != want || !errors.Is(err, wantErr) {
		t.Errorf("Parse(%q) = %d cents, %v; exact fractions say %d, %v", text, got, err, want, wantErr)
	}
}

// byFractions is Parse by other means: the JSON package's grammar and exact fractions.
func byFractions(text string) (money.Cents, error) {
	if len(text) > 32 {
		return 0, money.ErrTooLong
	}
	if !isJSONNumber(text) {
		return 0, money.ErrNotNumber
	}
	dollars, _ := new(big.Rat).SetString(text)
	cents := dollars.Mul(dollars, big.NewRat(100, 1))
	switch {
	case cents.Sign() < 0:
		return 0, money.ErrNegative
	case !cents.IsInt():
		return 0, money.ErrFraction
	case cents.Cmp(big.NewRat(int64(money.Max), 1)) > 0:
		return 0, money.ErrTooLarge
	}
	return money.Cents(cents.Num().Int64()), nil
}

// isJSONNumber reports whether text is a JSON value of only the characters that numbers have.
func isJSONNumber(text string) bool {
	return strings.Trim(text, "0123456789-+.eE") == "" && json.Valid([]byte(text))
}

func TestStringIsReadBack(t *testing.T) {
	check := func(c money.Cents) {
		if got, err := money.Parse(c.String()); got != c || err != nil {
			t.Errorf("Parse(%q) = %d, %v; want %d", c, got, err, c)
		}
	}
	random := rand.New(rand.NewPCG(1, 2026))
	for c := range money.Cents(100_000) {
		check(c)
		check(money.Max - c)
		check(below(random, money.Max+1))
	}
}

func TestString(t *testing.T) {
	for c, want := range map[money.Cents]string{
		0:             "0.00",
		5:             "0.05",
		-5:            "-0.05",
		1250_00:       "1250.00",
		-1250_50:      "-1250.50",
		money.Max:     "9999999.99",
		math.MaxInt64: "92233720368547758.07",
		math.MinInt64: "-92233720368547758.08",
	} {
		if got := c.String(); got != want {
			t.Errorf("String of %d cents = %q, want %q", int64(c), got, want)
		}
	}
}

func TestDollars(t *testing.T) {
	for c, want := range map[money.Cents]string{
		0:             "$0.00",
		1:             "$0.01",
		-5:            "-$0.05",
		999_99:        "$999.99",
		1000_00:       "$1,000.00",
		-1250_00:      "-$1,250.00",
		999_999_99:    "$999,999.99",
		1_000_000_00:  "$1,000,000.00",
		money.Max:     "$9,999,999.99",
		math.MaxInt64: "$92,233,720,368,547,758.07",
		math.MinInt64: "-$92,233,720,368,547,758.08",
	} {
		if got := c.Dollars(); got != want {
			t.Errorf("Dollars of %d cents = %q, want %q", int64(c), got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	var v amountVectors
	testdata.Read(f, "amounts.json", &v)
	for _, tt := range v.Cases {
		f.Add(tt.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := money.Parse(text)
		switch {
		case len(text) > 32:
			if !errors.Is(err, money.ErrTooLong) {
				t.Errorf("Parse(%q) = %d, %v; want %v", text, c, err, money.ErrTooLong)
			}
			return
		case isJSONNumber(text) == errors.Is(err, money.ErrNotNumber):
			t.Errorf("Parse(%q): %v; it is a JSON number: %v", text, err, isJSONNumber(text))
		case err != nil && c != 0:
			t.Errorf("Parse(%q) = %d with error %v", text, c, err)
		case err == nil:
			if again, err := money.Parse(c.String()); again != c || err != nil {
				t.Errorf("Parse(%q) = %s, which is read back as %s, %v", text, c, again, err)
			}
		}
		// Exact fractions take memory by the exponent, so only ones of three digits.
		if _, power, _ := strings.Cut(strings.ToLower(text), "e"); len(power) <= 4 {
			compareWithFractions(t, text)
		}
	})
}
