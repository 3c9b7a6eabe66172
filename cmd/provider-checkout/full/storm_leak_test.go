package full_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// hiddenValues are for GoCardless and the payer only, each value as a whole or its most telling part. A payer's name is on the
// payer's pages, too.
var hiddenValues = []string{sandbox.Token, sandbox.WebhookSecret, "hunter2", "0068389", "01-0902", "010902", "payer@example.nz", "parent@example.nz"}

const canaryHolder = "CANARY HOLDER"

// However GoCardless fails, and whatever it is asked for, no secret and nothing of the payer's account is in the log, an
// answer, a page or an event.
func TestNothingLeaksWhileGoCardlessFails(t *testing.T) {
	t.Parallel()
	s := sandbox.NewOverGoCardless(t, memory.New())
	var answers, pages []sandbox.Response
	finished := 0
	kinds := append([]gocardlesstest.FaultKind{""}, gocardlesstest.FaultKinds()...)
	for n, kind := range kinds {
		created := s.Create(t, fmt.Sprint("ORDER-", n))
		token := created.String("direct_debit.token")
		if n%2 > 0 && kind != "" { // in turn at the begin and at what follows
			armBank(s, kind)
		}
		button := s.Submit(t, sandbox.SetupPagePath, []string{"token", token})
		pages = append(pages, s.Visit(t, created.String("direct_debit.setup_url")), button)
		if page := button.Header.Get("Location"); strings.Contains(page, "/flow") {
			if n%2 == 0 && kind != "" {
				armBank(s, kind)
			}
			back, err := s.Bank.Complete(page, gocardlesstest.Payer{GivenName: "A", FamilyName: "Parent", Email: "parent@example.nz",
				Holder: canaryHolder, Account: "01-0902-0068389-00"})
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, s.Visit(t, back))
			finished++
		}
		answers = append(answers, s.Get(t, "KOWHAI", created.CheckoutPath()), s.Confirm(t, created))
		s.Bank.Disarm()
		s.Clock.Forward(5 * time.Second)
		answers = append(answers, s.Confirm(t, created))
	}
	if last := answers[2]; last.Status != http.StatusOK {
		t.Fatalf("void: a confirm without faults answers %d %s", last.Status, last.Body)
	}
	for _, kind := range gocardlesstest.FaultKinds() {
		if s.Bank.Statistics().Faults[kind] == 0 {
			t.Errorf("void: no call suffered %s", kind)
		}
	}
	if finished < len(kinds)/2 {
		t.Errorf("void: %d of %d payers finished", finished, len(kinds))
	}
	for _, r := range answers {
		searchFor(t, "an answer", r.Body+fmt.Sprint(r.Header), append(hiddenValues, canaryHolder)...)
	}
	for _, r := range pages {
		searchFor(t, "a page", r.Body+fmt.Sprint(r.Header), hiddenValues...)
	}
	for _, event := range s.Receiver.Deliveries() {
		searchFor(t, "an event", string(event.Body)+fmt.Sprint(event.Header), append(hiddenValues, canaryHolder)...)
	}
	for line := range strings.Lines(s.Log.String()) {
		searchFor(t, "the log", line, append(hiddenValues, canaryHolder)...)
		if !json.Valid([]byte(line)) {
			t.Errorf("a line of the log is no JSON: %q", line)
		}
	}
}

func armBank(s *sandbox.Sandbox, kind gocardlesstest.FaultKind) {
	s.Bank.Arm(gocardlesstest.Fault{Kind: kind, Probability: 1, Hang: 50 * time.Millisecond})
}

func searchFor(t *testing.T, where, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if strings.Contains(strings.ToLower(text), strings.ToLower(word)) {
			t.Errorf("%s has %q: %.500s", where, word, text)
		}
	}
}
