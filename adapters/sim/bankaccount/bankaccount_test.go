package bankaccount_test

import (
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestParse(t *testing.T) {
	const format, bank, digits = "15 or 16 digits", "a New Zealand bank", "one of its digits is wrong"
	for _, tt := range []struct{ name, text, mask, fault string }{
		{"a published example", bankaccount.Example, "01-0902-•••••89-00", ""},
		{"spaces", "12 3140 0171323 50", "12-3140-•••••23-50", ""},
		{"in one piece, with a long suffix", "123140 0171323 050", "12-3140-•••••23-050", ""},
		{"spaces around a hyphen", " 12 - 3140 - 0171323 - 50 ", "12-3140-•••••23-50", ""},
		{"a base whose branch does not count", "12-0001-0990008-00", "12-0001-•••••08-00", ""},
		{"a bank with a rule of its own", "08-6523-1954512-001", "08-6523-•••••12-001", ""},
		{"two digits swapped", "01-0902-0068398-00", "", digits},
		{"the wrong branch", "01-0903-0068389-00", "", digits},
		{"zeros", "01-0000-0000000-00", "", digits},
		{"no such bank", "99-0902-0068389-00", "", bank},
		{"nothing", "", "", format},
		{"a suffix of one digit", "01-0902-0068389-0", "", format},
		{"a suffix above 99", "12-3140-0171323-950", "", format},
		{"two hyphens", "01--0902-0068389-00", "", format},
		{"a separator within a part", "01-0902-006 8389-00", "", format},
		{"digits of another script", "٠١-0902-0068389-00", "", format},
		{"a word before it", "NZ 01-0902-0068389-00", "", format},
	} {
		n, fault := bankaccount.Parse(tt.text)
		if (fault == "") != (tt.fault == "") || !strings.Contains(fault, tt.fault) || fault == "" && string(n.Mask()) != tt.mask {
			t.Errorf("%s: Parse(%q) = %+v, %q; want the mask %q, %q", tt.name, tt.text, n, fault, tt.mask, tt.fault)
		}
	}
}

func TestFateIsThatOfASuffixOfTheExample(t *testing.T) {
	for text, want := range map[string]checkout.MandateStatus{bankaccount.Example: "", "01-0902-0068389-03": checkout.MandateFailed,
		"01-0902-0068389-011": checkout.MandateExpired, "12-3140-0171323-03": ""} {
		if n, fault := bankaccount.Parse(text); fault != "" || n.Fate().Mandate != want {
			t.Errorf("the fate of %s is %+v, %s; want %q", text, n.Fate(), fault, want)
		}
	}
}
