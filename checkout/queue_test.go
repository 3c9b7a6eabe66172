package checkout_test

import (
	"errors"
	"strings"
	"testing"
	"time"

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

// No pause that the package decides is longer than its kind's longest, or the job would be done at once.
func TestNoPauseIsLongerThanTheLongestOfItsKind(t *testing.T) {
	within := func(kind checkout.JobKind, attempts int, pause time.Duration) {
		t.Helper()
		if longest := kind.LongestPause(attempts); pause > longest {
			t.Errorf("after %d attempts a job of kind %s waits for %v, and its longest pause is %v", attempts, kind, pause, longest)
		}
	}
	for attempts := 1; attempts <= 20; attempts++ {
		for _, kind := range []checkout.JobKind{checkout.JobOpen, checkout.JobComplete, checkout.JobAuthority, checkout.JobEnd} {
			within(kind, attempts, checkout.CRMPause(attempts, false))
			within(kind, attempts, checkout.CRMPause(attempts, true))
		}
		within(checkout.JobCancel, attempts, checkout.CRMPause(attempts, false))
		pause, _ := checkout.NoticePause(attempts)
		within(checkout.JobNotify, attempts, pause)
	}
}
