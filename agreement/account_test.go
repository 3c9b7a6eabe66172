package agreement_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
)

func TestAccountIsShownAsItsMaskOrAsTheEndingThatIsKept(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kept   agreement.AccountMask
		words  string
		ending string
	}{
		{"a mask in the style of a bank", "01-0902-•••••89-00", "01-0902-•••••89-00", ""},
		{"a mask of a suffix of three digits", "08-6523-•••••12-001", "08-6523-•••••12-001", ""},
		{"a mask with four digits", "••••8389", "••••8389", ""},
		{"two digits of an earlier version", "89", "ending in 89 before the suffix", "89"},
		{"four digits of an earlier version", "8389", "ending in 8389 before the suffix", "8389"},
		{"digits that are zeros", "00", "ending in 00 before the suffix", "00"},
		{"no account", "", "", ""},
	} {
		if got := tt.kept.Words(); got != tt.words {
			t.Errorf("%s: Words() = %q, want %q", tt.name, got, tt.words)
		}
		if got := tt.kept.Ending(); got != tt.ending {
			t.Errorf("%s: Ending() = %q, want %q", tt.name, got, tt.ending)
		}
	}
}
