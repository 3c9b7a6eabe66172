package full_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

const badSignatures = 10_000

// forgeries are notifications as a stranger would send them, whose signature is not GoCardless'.
func forgeries(request string) (all []*http.Request) {
	event := `{"id":"EV1","resource_type":"billing_requests","action":"cancelled","links":{"billing_request":"` + request + `"}}`
	for _, body := range []string{"", "{", "\xff\x00", `{"events":[` + event + `]}`, `{"events":[` + strings.Repeat(event+",", 249) + event + `]}`,
		strings.Repeat(`{"events":[`, 2_000), `{"events":[],"x":"` + strings.Repeat("x", 64<<10) + `"}`} {
		for _, signature := range []string{"", "x", strings.Repeat("0", 64), gocardlesstest.Sign([]byte(body), "another secret"),
			gocardlesstest.Sign([]byte(body+" "), sandbox.WebhookSecret)} {
			r, err := http.NewRequest(http.MethodPost, gocardless.WebhookPath, strings.NewReader(body))
			if err != nil {
				panic(err)
			}
			r.Header.Set("Webhook-Signature", signature)
			all = append(all, r)
		}
	}
	return all
}

// While strangers send thousands of notifications with bad signatures, GoCardless' own arrive, and providers and payers are
// served as ever.
func TestBadSignaturesHurtNoOne(t *testing.T) {
	t.Parallel()
	s := sandbox.NewOver(t, sandbox.Outside{GoCardless: true}, memory.New())
	victim := s.Ready(t, "VICTIM")
	records := s.Records(t)
	forged := forgeries(records[0].Checkout.Setup.BillingRequestID)

	var strangers sync.WaitGroup
	work := make(chan *http.Request)
	for range 16 {
		strangers.Go(func() {
			for r := range work {
				status, err := sendForged(s, r)
				if err != nil || status != 498 {
					t.Errorf("a stranger's notification is answered %d, %v; want 498", status, err)
				}
			}
		})
	}
	strangers.Go(func() {
		defer close(work)
		for n := range badSignatures {
			work <- forged[n%len(forged)]
		}
	})
	served := 0
	done := make(chan struct{})
	go func() { strangers.Wait(); close(done) }()
	for attacked := true; attacked; served++ {
		select {
		case <-done:
			attacked = false
		default:
		}
		created := s.Ready(t, fmt.Sprint("ORDER-", served))
		if got := s.Get(t, "KOWHAI", created.CheckoutPath()); got.At("direct_debit.setup_complete") != true {
			t.Fatalf("the payer's setup is not seen: %d %s", got.Status, got.Body)
		}
		if got := s.Confirm(t, created); got.Status != http.StatusOK {
			t.Fatalf("confirm: %d %s", got.Status, got.Body)
		}
	}
	t.Logf("%d payers went from the create to the confirm under %d bad signatures", served, badSignatures)
	if served < 3 {
		t.Errorf("void: %d payers were on their way meanwhile", served)
	}
	if got := s.Get(t, "KOWHAI", victim.CheckoutPath()); got.At("direct_debit.setup_complete") != true {
		t.Errorf("a forged notification was believed: %s", got.Body)
	}
	if got := s.Bank.Statistics().Webhooks; got.Accepted != got.Sent {
		t.Errorf("notifications of GoCardless are not all taken: %+v", got)
	}
}

// sendForged sends a copy of a request to the service.
func sendForged(s *sandbox.Sandbox, r *http.Request) (status int, err error) {
	body, err := r.GetBody()
	if err != nil {
		return 0, err
	}
	copied, err := http.NewRequest(r.Method, s.URL+r.URL.Path, body)
	if err != nil {
		return 0, err
	}
	copied.Header = r.Header
	resp, err := http.DefaultClient.Do(copied)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// hiddenValues are for GoCardless and the payer only, each value as a whole or its most telling part. A payer's name is on the
// payer's pages, too.
var hiddenValues = []string{sandbox.Token, sandbox.WebhookSecret, "hunter2", "0068389", "01-0902", "010902", "payer@example.nz", "parent@example.nz"}

const canaryHolder = "CANARY HOLDER"

// However GoCardless fails, and whatever it is asked for, no secret and nothing of the payer's account is in the log, an
// answer, a page or an event.
func TestNothingLeaksWhileGoCardlessFails(t *testing.T) {
	t.Parallel()
	s := sandbox.NewOver(t, sandbox.Outside{GoCardless: true}, memory.New())
	var answers, pages []sandbox.Response
	finished := 0
	kinds := append([]gocardlesstest.FaultKind{""}, gocardlesstest.FaultKinds()...)
	for n, kind := range kinds {
		created := s.Create(t, fmt.Sprint("ORDER-", n))
		if n%2 > 0 && kind != "" { // in turn at the begin and at what follows
			armBank(s, kind)
		}
		button := s.Press(t, created)
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
