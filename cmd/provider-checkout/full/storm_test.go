package full_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// The tests of the files storm_… have many payers set up their direct debits at GoCardless while its API and its notifications fail in
// every way, and then look whether anything was lost, made twice or mixed up.

const (
	faultShare = 0.05 // of the calls that suffer each fault
	mostTries  = 60   // tries of a payer who is shown that something went wrong
)

// payersAtOnce returns how many of all payers are on their way at a time.
func payersAtOnce(all int) int { return all/100 + 27 }

// stormPayers is the number of payers, if a long run does not say more:
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=10000 go test -timeout 2h -v ./cmd/provider-checkout/full
const stormPayers = 500

// stormPayer is one payer, and what became of the setup.
type stormPayer struct {
	created sandbox.Response
	holder  string // of the account; another for each payer
	tries   int
	done    bool // the payer has finished at GoCardless
}

func TestStormAtGoCardlessLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.Options{Environment: catalogue.Sandbox, Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := sandbox.NewOver(t, sandbox.Outside{GoCardless: true}, store)
	all := make([]*stormPayer, testlevel.Runs(t, stormPayers))
	for i := range all {
		all[i] = &stormPayer{created: s.Create(t, fmt.Sprint("ORDER-", i)), holder: fmt.Sprintf("PAYER NUMBER %d", i)}
	}
	for _, kind := range []gocardlesstest.FaultKind{gocardlesstest.FaultTimeoutAfter, gocardlesstest.FaultTimeout,
		gocardlesstest.FaultRateLimit, gocardlesstest.FaultError, gocardlesstest.FaultStringError,
		gocardlesstest.FaultTornBody, gocardlesstest.FaultReset} {
		s.Bank.Arm(gocardlesstest.Fault{Kind: kind, Probability: faultShare, Hang: 300 * time.Millisecond})
	}
	s.Bank.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultConflict, Probability: faultShare, Method: http.MethodPost}) // no other call has a key
	s.Bank.SetWebhookFaults(gocardlesstest.WebhookFaults{Drop: faultShare, Duplicate: faultShare, Late: faultShare, Shuffle: true})

	began := time.Now()
	together(all, payersAtOnce(len(all)), func(p *stormPayer) { p.setUp(t, s) })
	took := time.Since(began)
	s.Bank.Disarm()
	s.Bank.SetWebhookFaults(gocardlesstest.WebhookFaults{})
	ended := time.Now()
	s.Reconcile(t) // of some payers every notification was lost

	slowest := time.Duration(0)
	var mu sync.Mutex
	together(all, payersAtOnce(len(all)), func(p *stormPayer) {
		for !p.seen(t, s) {
			if testlevel.Elapsed(ended) > patience {
				t.Errorf("%s is not seen as it is %v after the faults: done %v", p.holder, patience, p.done)
				return
			}
			<-time.After(time.Second) // a provider polls no more often
		}
		mu.Lock()
		defer mu.Unlock()
		slowest = max(slowest, time.Since(ended))
	})
	finished := 0
	for _, p := range all {
		if p.done {
			finished++
		}
	}
	reportPayers(t, s, all)
	t.Logf("%d payers in %v, of whom %d finished; %d faults; every checkout right %v after the faults",
		len(all), took.Round(time.Second), finished, suffered(s), slowest.Round(time.Millisecond))
	if finished < len(all)*9/10 || suffered(s) < len(all)/2 {
		t.Errorf("void: %d of %d payers finished, under %d faults", finished, len(all), suffered(s))
	}
}

// setUp is the payer's way: the button of the setup page, again and again where it does not work, and GoCardless' page.
func (p *stormPayer) setUp(t *testing.T, s *sandbox.Sandbox) {
	var page string
	for page == "" && p.tries < mostTries {
		p.tries++
		r := s.Press(t, p.created)
		if at := r.Header.Get("Location"); r.Status == http.StatusSeeOther && !strings.HasPrefix(at, s.URL) {
			page = at
		} else {
			<-time.After(50 * time.Millisecond)
		}
	}
	if page == "" {
		return
	}
	back, err := s.Bank.Complete(page, gocardlesstest.Payer{GivenName: "A", FamilyName: "Payer", Email: "payer@example.nz",
		Holder: p.holder, Account: "01-0902-0068389-00"})
	if err != nil {
		t.Errorf("%s at %s: %v", p.holder, page, err)
		return
	}
	p.done = true
	s.Visit(t, back)
}

// seen reports whether a poll answers what is so.
func (p *stormPayer) seen(t *testing.T, s *sandbox.Sandbox) bool {
	r := s.Get(t, "KOWHAI", p.created.CheckoutPath())
	return r.Status == http.StatusOK && r.At("direct_debit.setup_complete") == p.done
}

// reportPayers checks what is on record here and at GoCardless, and that every payer who finished can be confirmed.
func reportPayers(t *testing.T, s *sandbox.Sandbox, all []*stormPayer) {
	t.Helper()
	stats := s.Bank.Statistics()
	mandates := make(map[string]string) // by their id, the holder
	records := make(map[string]checkout.Checkout)
	for _, r := range s.Records(t) {
		records[r.Checkout.ID] = r.Checkout
	}
	for _, p := range all {
		id := p.created.String("checkout.checkout_id")
		made, setup := stats.RequestsByMetadata["checkout_id="+id], records[id].Setup
		switch {
		case made > 1:
			t.Errorf("%s has %d billing requests for one try", p.holder, made)
		case stats.MandatesByMetadata["checkout_id="+id] > 1:
			t.Errorf("%s has %d mandates", p.holder, stats.MandatesByMetadata["checkout_id="+id])
		case !p.done:
			continue
		case setup.AccountHolder != p.holder:
			t.Errorf("%s has the mandate of %q", p.holder, setup.AccountHolder)
		case mandates[setup.MandateID] != "":
			t.Errorf("%s has the mandate of %s", p.holder, mandates[setup.MandateID])
		}
		mandates[setup.MandateID] = p.holder
		if r := s.Confirm(t, p.created); r.Status != http.StatusOK || r.At("already_confirmed") != false {
			t.Errorf("%s: confirm answers %d %s", p.holder, r.Status, r.Body)
		}
	}
	if stats.WithoutKey > 0 {
		t.Errorf("%d calls came without an idempotency key", stats.WithoutKey)
	}
}

func suffered(s *sandbox.Sandbox) (n int) {
	for _, count := range s.Bank.Statistics().Faults {
		n += count
	}
	return n
}
