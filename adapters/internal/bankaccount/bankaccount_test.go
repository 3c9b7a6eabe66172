package bankaccount_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/internal/bankaccount"
)

// accountVectors is testdata/accounts.json.
type accountVectors struct {
	Description string `json:"description"`
	Valid       []struct {
		Name      string `json:"name"`
		Text      string `json:"text"`
		Bank      string `json:"bank"`
		Branch    string `json:"branch"`
		Base      string `json:"base"`
		Suffix    string `json:"suffix"`
		Tail      string `json:"tail"`
		BankName  string `json:"bank_name"`
		Algorithm string `json:"algorithm"`
	} `json:"valid"`
	Invalid []struct {
		Name  string `json:"name"`
		Text  string `json:"text"`
		Fault string `json:"fault"`
	} `json:"invalid"`
}

func readAccounts(t testing.TB) accountVectors {
	t.Helper()
	data, err := os.ReadFile("../../../testdata/accounts.json")
	if err != nil {
		t.Fatal(err)
	}
	var v accountVectors
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
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
			if got.Tail() != tt.Tail {
				t.Errorf("Tail of %q = %q, want %q", tt.Text, got.Tail(), tt.Tail)
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

// The banks that are known are those of the published list and no others.
func TestParseKnowsEveryBank(t *testing.T) {
	known := strings.Fields("01 02 03 04 05 06 08 09 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29" +
		" 30 31 33 35 38 88")
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

// A payer's likeliest slip is one wrong digit. The modulus-11 algorithms find every one in
// a digit that they weigh.
func TestParseFindsAnyOneWrongDigit(t *testing.T) {
	tests := []struct {
		algorithm, number string
		weighed           []int // positions in number
	}{
		{"A", "12-3140-0171323-50", []int{3, 4, 5, 6, 9, 10, 11, 12, 13, 14}},
		{"D", "08-6523-1954512-001", []int{8, 9, 10, 11, 12, 13, 14}},
	}
	for _, tt := range tests {
		for _, at := range tt.weighed {
			for digit := byte('0'); digit <= '9'; digit++ {
				wrong := []byte(tt.number)
				wrong[at] = digit
				_, err := bankaccount.Parse(string(wrong))
				if right := tt.number[at] == digit; (err == nil) != right {
					t.Errorf("algorithm %s: Parse(%q): %v; the number is %s", tt.algorithm, wrong, err, tt.number)
				}
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	v := readAccounts(f)
	for _, tt := range v.Valid {
		f.Add(tt.Text)
	}
	for _, tt := range v.Invalid {
		f.Add(tt.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := bankaccount.Parse(text)
		if err != nil {
			if a != (bankaccount.Number{}) {
				t.Errorf("Parse(%q) = %+v with error %v", text, a, err)
			}
			return
		}
		digits := strings.NewReplacer(" ", "", "-", "").Replace(text)
		if got := a.Bank + a.Branch + a.Base + a.Suffix; got != digits {
			t.Errorf("Parse(%q) has the digits %s, want %s", text, got, digits)
		}
		plain := a.Bank + "-" + a.Branch + "-" + a.Base + "-" + a.Suffix
		if again, err := bankaccount.Parse(plain); err != nil || again != a {
			t.Errorf("Parse(%q) = %+v, but of %q = %+v, %v", text, a, plain, again, err)
		}
		if a.BankName() == "" || len(a.Tail()) != 2 {
			t.Errorf("Parse(%q): bank %q, tail %q", text, a.BankName(), a.Tail())
		}
	})
}

func ExampleParse() {
	account, err := bankaccount.Parse("12 3140 0171323 50")
	fmt.Println(account.BankName(), account.Tail(), err)

	_, err = bankaccount.Parse("12-3140-0171332-50") // two digits swapped
	fmt.Println("account_number", err)
	// Output:
	// ASB 23 <nil>
	// account_number has a mistake in it: its check digits do not match
}
