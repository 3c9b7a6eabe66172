package processortest

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
)

func TestMaskThatShowsTooMuchIsRefused(t *testing.T) {
	for mask, want := range map[agreement.AccountMask]string{
		"01-0902-•••••89-00":  "",
		"08-6523-•••••12-001": "",
		"••••8389":            "",
		"":                    "is empty",
		"89":                  "hides no digit",
		"01-0902-0068389-00":  "hides no digit",
		"010902006838900":     "hides no digit",
		"01-0902-•••8389-00":  "shows more than 11 digits",
		"0902-•068389-0":      "shows more than 4 digits together",
		"••••••••0068389":     "shows more than 4 digits together",
		"01-0902-••••••••••••••••••••89-00": "is longer than 32 characters",
	} {
		if got := maskFault(mask); got != want {
			t.Errorf("%q %s; want %q", mask, got, want)
		}
	}
}
