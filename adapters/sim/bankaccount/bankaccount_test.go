package bankaccount_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
	"github.com/provider-checkout/provider-checkout/testdata"
)

// accountVectors is testdata/accounts.json.
type accountVectors struct {
	Description string                     `json:"description"`
	Algorithms  map[string]algorithmVector `json:"algorithms"`
	Banks       map[string]struct {
		Name      string `json:"name"`
		Algorithm string `json:"algorithm"`
		From      string `json:"algorithm_from_0990000"` // "" if it is the same
	} `json:"banks"`
	Valid []struct {
		Name      string `json:"name"`
		Text      string `json:"text"`
		Bank      string `json:"bank"`
		Branch    string `json:"branch"`
		Base      string `json:"base"`
		Suffix    string `json:"suffix"`
		Mask      string `json:"mask"`
		BankName  string `json:"bank_name"`
		Algorithm string `json:"algorithm"`
	} `json:"valid"`
	Invalid []struct {
		Name  string `json:"name"`
		Text  string `json:"text"`
		Fault string `json:"fault"`
	} `json:"invalid"`
}

// algorithmVector is one algorithm, with the weights of each digit.
type algorithmVector struct {
	Branch  [4]int `json:"branch"`
	Base    [7]int `json:"base"`
	Suffix  [3]int `json:"suffix"`
	Modulus int    `json:"modulus"`
	Fold    bool   `json:"fold"`
}

// passes reports whether the digits of a number pass the algorithm.
func (a algorithmVector) passes(n bankaccount.Number) bool {
	weights := slices.Concat(a.Branch[:], a.Base[:], a.Suffix[3-len(n.Suffix):])
	sum := 0
	for i, digit := range n.Branch + n.Base + n.Suffix {
		product := int(digit-'0') * weights[i]
		if a.Fold {
			product = product/10 + product%10
			product = product/10 + product%10
		}
		sum += product
	}
	return sum%a.Modulus == 0
}

func readAccounts(t testing.TB) accountVectors {
	t.Helper()
	var v accountVectors
	testdata.Read(t, "accounts.json", &v)
	if len(v.Valid) == 0 || len(v.Invalid) == 0 {
		t.Fatal("accounts.json has no valid or no invalid numbers")
	}
	return v
}

func TestParseAgreesWithVectors(t *testing.T) {
	v := readAccounts(t)
	algorithms := ""
	for _, tt := range v.Valid {
		t.Run(tt.Name, func(t *testing.T) {
			want := bankaccount.Number{Bank: tt.Bank, Branch: tt.Branch, Base: tt.Base, Suffix: tt.Suffix}
			got, err := bankaccount.Parse(tt.Text)
			if err != nil || got != want {
				t.Fatalf("Parse(%q) = %+v, %v; want %+v", tt.Text, got, err, want)
			}
			if got := string(got.Mask()); got != tt.Mask {
				t.Errorf("Mask of %q = %q, want %q", tt.Text, got, tt.Mask)
			}
			if got.BankName() != tt.BankName {
				t.Errorf("BankName of %q = %q, want %q", tt.Text, got.BankName(), tt.BankName)
			}
		})
		algorithms += tt.Algorithm
	}
	for _, letter := range "ABDEFGX" {
		if !strings.ContainsRune(algorithms, letter) {
			t.Errorf("accounts.json has no valid number of algorithm %c", letter)
		}
	}

	faults := map[string]error{
		"format":       bankaccount.ErrFormat,
		"bank":         bankaccount.ErrBank,
		"zero":         bankaccount.ErrZero,
		"check_digits": bankaccount.ErrCheckDigits,
	}
	for _, tt := range v.Invalid {
		t.Run(tt.Name, func(t *testing.T) {
			want, ok := faults[tt.Fault]
			if !ok {
				t.Fatalf("accounts.json names an unknown fault %q", tt.Fault)
			}
			got, err := bankaccount.Parse(tt.Text)
			if !errors.Is(err, want) || got != (bankaccount.Number{}) {
				t.Errorf("Parse(%q) = %+v, %v; want no account, %v", tt.Text, got, err, want)
			}
		})
	}
}

// Parse follows the tables of accounts.json for random numbers of every bank, and for numbers around the border between
// two algorithms.
func TestTheTablesOfTheVectorsAreTheRule(t *testing.T) {
	v := readAccounts(t)
	random := rand.New(rand.NewPCG(11, 2026))
	for bank, of := range v.Banks {
		for i := range 2000 {
			base := random.IntN(10_000_000)
			if i%4 == 0 {
				base = 990_000 - 50 + random.IntN(100)
			}
			n := bankaccount.Number{Bank: bank, Branch: fmt.Sprintf("%04d", random.IntN(10_000)), Base: fmt.Sprintf("%07d", base),
				Suffix: fmt.Sprintf("%0*d", 2+i%2, random.IntN(100))}
			letter := of.Algorithm
			if of.From != "" && n.Base >= "0990000" {
				letter = of.From
			}
			algorithm, ok := v.Algorithms[letter]
			if !ok {
				t.Fatalf("bank %s has the algorithm %q, which has no table", bank, letter)
			}
			text := n.Bank + n.Branch + n.Base + n.Suffix
			_, err := bankaccount.Parse(text)
			if want := algorithm.passes(n) && base != 0; (err == nil) != want {
				t.Fatalf("Parse(%q) = %v; algorithm %s accepts it: %v", text, err, letter, want)
			}
			if n.BankName() != of.Name {
				t.Fatalf("bank %s is %q, want %q", bank, n.BankName(), of.Name)
			}
		}
	}
	for _, tt := range v.Valid {
		of := v.Banks[tt.Bank]
		if tt.Algorithm != of.Algorithm && (tt.Algorithm != of.From || tt.Base < "0990000") {
			t.Errorf("%s has algorithm %s; its bank has %+v", tt.Name, tt.Algorithm, of)
		}
	}
}

// The known banks are the banks of the published list.
func TestParseKnowsEveryBank(t *testing.T) {
	known := strings.Fields("01 02 03 04 05 06 08 09 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29" +
		" 30 31 33 35 38 88")
	if got := slices.Sorted(maps.Keys(readAccounts(t).Banks)); !slices.Equal(got, known) {
		t.Errorf("accounts.json has the banks %q, want %q", got, known)
	}
	for i := range 100 {
		bank := fmt.Sprintf("%02d", i)
		_, err := bankaccount.Parse(bank + "-0001-0000000-00")
		want := bankaccount.ErrBank
		for _, k := range known {
			if k == bank {
				want = bankaccount.ErrZero // the bank was passed
			}
		}
		if !errors.Is(err, want) {
			t.Errorf("Parse of bank %s: %v, want %v", bank, err, want)
		}
	}
}

// A digit is a digit, and a suffix of three digits is one below 100.
func TestDigitsOfAnyScriptAreRead(t *testing.T) {
	for text, want := range map[string]bool{"１２－３１１３－０００３８６９－００": true, "12-3113-000386９-00": true, "١٢-٣١١٣-٠٠٠٣٨٦٩-٠٠": true,
		"𝟏𝟐-3113-0003869-00": true, "12-3113-0003869-900": false, "12-3113-0003869-000": true} {
		n, err := bankaccount.Parse(bankaccount.Tidy(text))
		if (err == nil) != want || want && (n.Bank != "12" || n.Base != "0003869") {
			t.Errorf("%s is %+v, %v", text, n, err)
		}
	}
}
