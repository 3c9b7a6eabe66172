package checkout_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestReasonsAndAnswersAreStoredAsEveryStoreTakesThem(t *testing.T) {
	for text, want := range map[string]string{"": "", "answered 500": "answered 500", "a\x00b": "ab", "\xff": "",
		strings.Repeat("a", 301): strings.Repeat("a", 300), strings.Repeat("a", 299) + "ā": strings.Repeat("a", 299)} {
		if got := checkout.FailureOf(errors.New(text), noon); got != (checkout.Failure{At: noon, Reason: want}) {
			t.Errorf("FailureOf(%q) = %q, want %q", text, got.Reason, want)
		}
		if got := (checkout.Receipt{Reference: text, Answer: text}).Storable(); got != (checkout.Receipt{Reference: want, Answer: want}) {
			t.Errorf("the receipt %q is stored as %q, want %q", text, got, want)
		}
	}
}
