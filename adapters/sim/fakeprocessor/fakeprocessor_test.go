package fakeprocessor_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/processortest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// The accounts of the payers, by what becomes of their mandates.
const (
	living    = "12-3140-0171323-50"
	failing   = "01-0902-0068389-02"
	cancelled = "01-0902-0068389-04"
)

func TestProcessor(t *testing.T) {
	processortest.Processor(t, func(t *testing.T) processortest.Bench {
		b := newBench(t)
		other := account
		other.ProviderCode, other.ID = "TUI", "acc-tui"
		send := func(account string) func(*testing.T, string) string {
			return func(_ *testing.T, url string) string { return b.send(url, b.filled("account_number", account)) }
		}
		return processortest.Bench{Processor: b.processor, Account: account, Other: other,
			Visit:    func(_ *testing.T, url string) { b.visit(url) },
			Complete: send(living),
			Fail:     send(failing),
			Pass:     func(*testing.T) { b.now = b.now.Add(time.Minute) }}
	})
}

// The page that Begin leads to is known to every process over the store.
func TestAnotherProcessKnowsWhatWasBegunAndCompleted(t *testing.T) {
	b := newBench(t)
	other := *b
	other.processor = fakeprocessor.New(fakeprocessor.Options{Records: b.store, BaseURL: processortest.BaseURL, Now: func() time.Time { return b.now }})
	other.send(b.request.URL, b.filled())
	if got, want := b.observe(), other.observe(); got != want || got.BillingRequest != checkout.BillingFulfilled {
		t.Errorf("one process sees %+v, another %+v; want the same, fulfilled", got, want)
	}
}

func TestObserve(t *testing.T) {
	at := time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)
	seen := func(m checkout.MandateStatus, a checkout.AuthorisationStatus) checkout.Observation {
		return checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: m, Authorisation: a,
			AccountHolder: "Ana Tau", AccountMask: "12-3140-•••••23-50", CompletedAt: at}
	}
	of := func(mask agreement.AccountMask, o checkout.Observation) checkout.Observation {
		o.AccountMask = mask
		return o
	}
	dead := func(m checkout.MandateStatus, reason string) checkout.Observation {
		o := seen(m, checkout.CustomerInProgress)
		o.MandateSince, o.MandateReason = at.Add(time.Minute), reason
		return o
	}
	pending := checkout.Observation{BillingRequest: checkout.BillingPending, Authorisation: checkout.CustomerInProgress}
	const progress = checkout.CustomerInProgress
	for _, tt := range []struct {
		name    string
		account string // "" where the setup is not completed
		after   time.Duration
		want    checkout.Observation
	}{
		{"not completed", "", time.Hour, pending},
		{"at completion", living, 0, seen(checkout.MandatePendingSubmission, progress)},
		{"the clock stepped back", living, -time.Hour, seen(checkout.MandatePendingSubmission, progress)},
		{"before a minute", living, time.Minute - 1, seen(checkout.MandatePendingSubmission, progress)},
		{"after a minute", living, time.Minute, seen(checkout.MandateSubmitted, progress)},
		{"before two minutes", living, 2*time.Minute - 1, seen(checkout.MandateSubmitted, progress)},
		{"after two minutes", living, 2 * time.Minute, seen(checkout.MandateActive, checkout.Authorised)},
		{"years later", living, 9e4 * time.Hour, seen(checkout.MandateActive, checkout.Authorised)},
		{"before it fails", failing, time.Minute - 1, of("01-0902-•••••89-02", seen(checkout.MandatePendingSubmission, progress))},
		{"when it fails", failing, time.Minute, of("01-0902-•••••89-02", dead(checkout.MandateFailed, "DISHONOUR-AC05"))},
		{"before it is cancelled", cancelled, time.Minute - 1, of("01-0902-•••••89-04", seen(checkout.MandatePendingSubmission, progress))},
		{"after it was cancelled", cancelled, time.Hour, of("01-0902-•••••89-04", dead(checkout.MandateCancelled, "DISHONOUR-AC04"))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.now = at
			if tt.account != "" {
				b.send(b.request.URL, b.filled("account_number", tt.account))
			}
			b.now = at.Add(tt.after)
			got := b.observe()
			if tt.account != "" && !regexp.MustCompile(`^MD[A-Z2-7]{24}$`).MatchString(got.MandateID) {
				t.Errorf("MandateID = %q, want MD and 24 characters", got.MandateID)
			}
			if got.MandateID = ""; got != tt.want {
				t.Errorf("Observe = %+v, want %+v", got, tt.want)
			}
		})
	}
}

// broken are records that cannot be read or written.
type broken struct {
	*memory.Store
	err error
}

var errDisk = errors.New("disk of the north rack is on fire")

func (b broken) KeepSandboxRecord(context.Context, string, []byte) error { return b.err }
func (b broken) SandboxRecord(context.Context, string) ([]byte, error)   { return nil, b.err }

func TestRecordsThatFailAreAnErrorAndAPageThatSaysNoMore(t *testing.T) {
	b := newBench(t)
	p := fakeprocessor.New(fakeprocessor.Options{Records: broken{err: errDisk}, BaseURL: processortest.BaseURL})
	if _, err := p.Begin(t.Context(), checkout.SetupStart{Key: "a"}); !errors.Is(err, errDisk) {
		t.Errorf("Begin: %v, want %v", err, errDisk)
	}
	if _, err := p.Observe(t.Context(), checkout.SetupQuery{Account: account, Setup: checkout.Setup{BillingRequestID: b.request.ID}}); !errors.Is(err, errDisk) {
		t.Errorf("Observe: %v, want %v", err, errDisk)
	}
	b.processor = p
	for _, got := range []int{b.do(http.MethodGet, b.request.URL, nil).Code, b.do(http.MethodPost, b.request.URL, b.filled()).Code} {
		if got != http.StatusInternalServerError {
			t.Errorf("the page answers %d, want 500", got)
		}
	}
	if body := b.do(http.MethodGet, b.request.URL, nil).Body.String(); strings.Contains(body, "rack") {
		t.Errorf("the page says why:\n%s", body)
	}
}
