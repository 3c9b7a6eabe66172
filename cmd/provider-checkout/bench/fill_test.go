package bench_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// benchProvider has neither a catalogue nor a destination: what is measured is the service, not a receiver.
const benchProvider = `{"providers": [{"provider_code": "TUI", "name": "Tūī Trades Academy", "account_id": "acc-tui",
	"environment": "sandbox", "active": true, "api_enabled": true}]}`

// benchCreate is a create whose order's id takes the place of ORDER.
const benchCreate = `{"provider":{"provider_code":"TUI","provider_order_id":"ORDER"},` +
	`"student":{"first_name":"Māia","last_name":"Tūhoe-Wāhanga","email":"maia.tuhoe@students.example.ac.nz"},` +
	`"course":{"course_name":"New Zealand Certificate in Joinery (Level 4)"},` +
	`"pricing":{"course_price":2990.02,"amount_to_finance":2790.02,"upfront_payment":200.00},` +
	`"plan":{"payment_type":"interest_free_payment_plan","payment_frequency":"Weekly","number_of_instalments":52,` +
	`"instalment_amount":53.65,"final_instalment_amount":53.87,"first_payment_date":"2027-02-01"}}`

// benchCommand is benchCreate as the service reads it.
func benchCommand(order string) checkout.Create {
	return checkout.Create{
		RequestID:    "req_00000000-0000-4000-8000-000000000000",
		ProviderCode: checkout.Some("TUI"), OrderID: checkout.Some(order),
		FirstName: checkout.Some("Māia"), LastName: checkout.Some("Tūhoe-Wāhanga"),
		Email:      checkout.Some("maia.tuhoe@students.example.ac.nz"),
		CourseName: checkout.Some("New Zealand Certificate in Joinery (Level 4)"),
		Price:      checkout.Some(money.Cents(2990_02)), Principal: checkout.Some(money.Cents(2790_02)),
		Upfront:     checkout.Some(money.Cents(200_00)),
		PaymentType: checkout.Some(checkout.PaymentType), Frequency: checkout.Some(string(money.Weekly)),
		Number: checkout.Some(52), Regular: checkout.Some(money.Cents(53_65)), Final: checkout.Some(money.Cents(53_87)),
		First: checkout.Some(money.Date{Year: 2027, Month: time.February, Day: 1}),
	}
}

// benchOrder names the nth order. The names are not in sequence, as a real provider's may not be, so that they
// are spread over an index. Numbers below 2^32 have different names.
func benchOrder(n uint64) string { return fmt.Sprintf("%016x", n*2654435761%(1<<32)) }

// Orders that a benchmark makes have numbers from newOrders on; what a store is filled with has those below.
const newOrders = 1 << 31

// benchStore is a filled store that is not served yet.
type benchStore struct {
	program proc.Binary
	spec    string // as --store takes it
	key     string
	keyring checkout.Keyring
	open    []checkout.Checkout // which wait for their setup
	ready   []checkout.Checkout // which may be confirmed
}

// records is an open store.
type records interface {
	ports.Admin
	Secrets() [][]byte
	Close() error
}

// openStore opens the store that --store names.
func openStore(b *testing.B, spec string) (db records) {
	b.Helper()
	path, isFile := strings.CutPrefix(spec, "sqlite:")
	var err error
	if isFile {
		db, err = sqlite.Open(b.Context(), path, sqlite.Options{Environment: catalogue.Sandbox, Rand: rand.Reader})
	} else {
		db, err = postgres.Open(b.Context(), spec, postgres.Options{Environment: catalogue.Sandbox, Rand: rand.Reader})
	}
	if err != nil {
		b.Fatal(err)
	}
	return db
}

// fill makes a store with open checkouts, which wait for their setup, and ready checkouts, which may be confirmed.
func fill(b *testing.B, spec string, open, ready int) *benchStore {
	b.Helper()
	ctx := b.Context()
	db := openStore(b, spec)
	defer db.Close()
	s := &benchStore{program: proc.Build(b), spec: spec}
	all, err := providerfile.Parse([]byte(benchProvider))
	if err != nil {
		b.Fatal(err)
	}
	if err := db.ReplaceProviders(ctx,
		func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
			return all, nil, nil
		}); err != nil {
		b.Fatal(err)
	}
	s.key = sandbox.IssueKey(b, db, "TUI", catalogue.Sandbox)
	if s.keyring, err = checkout.NewKeyring(db.Secrets()...); err != nil {
		b.Fatal(err)
	}
	s.open, s.ready = make([]checkout.Checkout, open), make([]checkout.Checkout, ready)
	s.insertMany(b, db, 0, open, false, func(i int, c *checkout.Checkout) { s.open[i] = *c })
	s.insertMany(b, db, open, ready, false, func(i int, c *checkout.Checkout) {
		setUpByNow(c)
		s.ready[i] = *c
	})
	return s
}

// setUpByNow completes the payer's bank setup, long enough ago that its state is final.
func setUpByNow(c *checkout.Checkout) {
	c.Setup = checkout.Setup{Try: 1, BillingRequestID: billingRequestOf(c.OrderID), Observation: checkout.Observation{
		BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandateActive, Authorisation: checkout.Authorised,
		AccountHolder: "M Tūhoe-Wāhanga", AccountMask: "12-3140-•••••67-00", CompletedAt: c.CreatedAt.Add(-time.Hour),
	}}
}

// insertMany stores n checkouts, with orders from first on, as creates would. change is called with each before it is stored. Their
// events are pending, as a crash leaves them, or have no destination.
func (s *benchStore) insertMany(b *testing.B, db ports.Checkouts, first, n int, pending bool, change func(i int, c *checkout.Checkout)) {
	b.Helper()
	ctx, now := context.WithoutCancel(b.Context()), time.Now().UTC().Truncate(time.Millisecond)
	var next atomic.Int64
	var together sync.WaitGroup
	for range 128 { // the store batches concurrent commits
		together.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				made := opening(s.keyring, benchOrder(uint64(first)+uint64(i)), now)
				change(int(i), &made.Next)
				if err := db.InsertCheckout(ctx, made, checkout.JobEntry{Now: now, Unsent: !pending}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	together.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// opening returns the change that a create of the order stores.
func opening(ring checkout.Keyring, order string, now time.Time) checkout.Change {
	var entropy [10]byte
	rand.Read(entropy[:])
	cmd := benchCommand(order)
	decision, err := cmd.Decide(checkout.Facts{Mode: catalogue.Legacy})
	if err != nil {
		panic(err) // cannot be: the command is the same but for its order
	}
	reserved := cmd.Reserve(decision.Intent, checkout.NewID("TUI", now, entropy), now)
	opened, err := reserved.Next.Opened(checkout.RecordIDs(catalogue.Sandbox, "TUI", order),
		checkout.Opening{Now: now, Environment: catalogue.Sandbox, Token: ring.Issue(1, now.Add(7*24*time.Hour))})
	if err != nil {
		panic(err) // cannot be: it is reserved
	}
	return reserved.Answered(opened)
}

// billingRequestOf returns the id of a billing request as the fake processor makes them.
func billingRequestOf(order string) string {
	sum := sha256.Sum256([]byte(order))
	return "BR" + base32.StdEncoding.EncodeToString(sum[:15])
}
