// Package processortest tests every direct debit processor against what ports.Processor promises. The names of its cases
// are those promises. A failure that only one processor shows is added here, not to that processor's own tests.
//
//	func TestProcessor(t *testing.T) {
//		processortest.Processor(t, func(t *testing.T) processortest.Bench {
//			p := …
//			return processortest.Bench{Processor: p, Account: …, Visit: …, Complete: …}
//		})
//	}
package processortest

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Bench is a processor under test, with what only its implementer can do: play the payer, and move time on.
type Bench struct {
	Processor ports.Processor
	Account   checkout.Account // that the processor serves
	Other     checkout.Account // another that it serves; where it is zero, the case that needs it is skipped

	// Visit opens the page at the address that Begin returned, as the payer's browser does, and gives nothing yet.
	Visit func(t *testing.T, url string)
	// Complete fulfils the billing request on the page at that address, with bank details whose mandate lives, and
	// returns the address to which the browser is sent then.
	Complete func(t *testing.T, url string) (back string)
	// Fail is Complete with bank details whose mandate dies, at once or as time passes. Where it is nil, the case that
	// needs it is skipped.
	Fail func(t *testing.T, url string) (back string)
	// Refuse keeps the payer of that page out for the place where the payer is. Where it is nil, the case that needs it is
	// skipped: the processor serves every place, or cannot tell.
	Refuse func(t *testing.T, url string)
	// Pass lets time pass until the processor may say something new of the setups that are completed. Nil for a processor that
	// says all it will ever say at once.
	Pass func(t *testing.T)

	salt string // new in every case, for a processor that remembers the runs before
}

// Open returns a bench, which is closed by t.Cleanup. Each case has one of its own, which may know the setups of others.
type Open = func(t *testing.T) Bench

// Processor runs the whole suite.
func Processor(t *testing.T, open Open) {
	run(t, open, []promise{
		{"its description is complete and never changes", infoIsConstant},
		{"a start leads to a page of the service or of a declared origin", startLeadsToAPage},
		{"the same key finds the billing request again", sameKey},
		{"another key makes another billing request", otherKey},
		{"many starts at once under one key make one billing request", concurrentStarts},
		{"a start takes whatever a checkout may hold", anyText},
		{"each page leads back to the return URL of its own start", leadsBack},
		{"before the payer is done a setup is pending and says nothing of the account", pendingBefore},
		{"once fulfilled it says who gave the authority, over which account and when", fulfilledIsComplete},
		{"nothing goes backwards", nothingGoesBack},
		{"a mandate that died stays dead", deadStaysDead},
		{"a payer who is refused for the place may go on with the same billing request", refusedGoesOn},
		{"a key whose setup is completed makes no second billing request", completedKey},
		{"setups know nothing of each other", func(t *testing.T, b Bench) { apart(t, b, b.Account) }},
		{"each account's setups are its own", accountsApart},
		{"a setup that is cancelled before the payer is done makes no mandate, and a repeat is no error", cancelledBefore},
		{"a completed setup that is cancelled has no mandate that lives, also of many cancels at once", cancelledAfter},
		{"a setup that the payer has just completed can be cancelled in the end", cancelledMeanwhile},
		{"a cancel ends no other setup, and no setup that was never made", cancelOfAnother},
		{"a billing request that it never made is an error", unknownBillingRequest},
		{"a call whose context has ended is an error that says so", endedContext},
		{"many may ask at once", concurrentObservations},
		{"one that knows its creditors names who debits in words that documents can print", creditorIsPrintable},
	})
}

// promise is one case of the suite.
type promise struct {
	name  string
	check func(t *testing.T, b Bench)
}

func run(t *testing.T, open Open, promises []promise) {
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) {
			b := open(t)
			b.salt = rand.Text()
			if b.Processor == nil || b.Account == (checkout.Account{}) || b.Visit == nil || b.Complete == nil {
				t.Fatalf("bench %+v lacks its Processor, Account, Visit or Complete", b)
			}
			p.check(t, b)
		})
	}
}

// BaseURL is that of the service that the suite plays. A processor whose pages are the service's own has them under it.
const BaseURL = "https://pay.example/enrol"

// start returns a start of its own for a case: each name gives another key, as each enrolment and try does, and no run
// gives the keys of another.
func (b Bench) start(t *testing.T, name string) checkout.SetupStart {
	key := checkout.NaturalKey(b.Account.Environment, b.Account.ProviderCode, t.Name()+" "+name+" "+b.salt, "billing request 1")
	first := money.Date{Year: 2027, Month: time.February, Day: 1}
	return checkout.SetupStart{
		Key:          key,
		Account:      b.Account,
		ProviderName: "Kōwhai Institute",
		CheckoutID:   b.Account.ProviderCode + "-1800000000000-" + key[:16],
		ReturnURL:    BaseURL + "/api/dd-setup?token=" + key + ".1",
		Student:      checkout.Student{FirstName: "Māia", LastName: "O'Brien", Email: "maia@students.example.ac.nz"},
		Description:  "Diploma in Business",
		Terms: agreement.DebitTerms{Provider: "Kōwhai Institute", Lender: agreement.Lender{Name: "Pūtea Limited"},
			Authority: agreement.Authority{AuthorisationCode: "0123456", Statement: "particulars KOWHAI"}},
		First: money.Payment{Charge: money.Charge{Sequence: 1, Type: money.InitialPayment, Due: first, Amount: 200_00}, Taken: first},
	}
}

// begin begins a setup, or ends the test.
func (b Bench) begin(t *testing.T, start checkout.SetupStart) checkout.BillingRequest {
	t.Helper()
	request, err := b.Processor.Begin(t.Context(), start)
	if err != nil {
		t.Fatalf("Begin(%+v): %v", start, err)
	}
	if request.ID == "" || request.URL == "" {
		t.Fatalf("Begin(%+v) = %+v, want an id and an address", start, request)
	}
	return request
}

// observe asks about a billing request as the service does: the record of it is the last observation.
func (b Bench) observe(t *testing.T, account checkout.Account, id string, last checkout.Observation) checkout.Observation {
	t.Helper()
	seen, err := b.ask(t, account, checkout.Setup{Try: 1, BillingRequestID: id, Observation: last})
	if err != nil {
		t.Fatalf("Observe of billing request %q: %v", id, err)
	}
	return seen
}

func (b Bench) ask(t *testing.T, account checkout.Account, setup checkout.Setup) (checkout.Observation, error) {
	return b.Processor.Observe(t.Context(), checkout.SetupQuery{Account: account, Setup: setup})
}

// steps is the number of times that the suite lets time pass before it takes an observation as final.
const steps = 12

// pass lets time pass; ok is false for a processor that says all at once.
func (b Bench) pass(t *testing.T) (ok bool) {
	if b.Pass != nil {
		b.Pass(t)
	}
	return b.Pass != nil
}

// fulfilled observes a setup that the payer completed, until the billing request is fulfilled.
func (b Bench) fulfilled(t *testing.T, account checkout.Account, id string) checkout.Observation {
	t.Helper()
	last := notBegun
	for range steps {
		seen := b.observe(t, account, id, last)
		if seen.BillingRequest == checkout.BillingFulfilled {
			return seen
		}
		last = seen
		if !b.pass(t) {
			break
		}
	}
	t.Fatalf("billing request %q is %+v after the payer's part, want it fulfilled in the end", id, last)
	return last
}

// notBegun is on record of a setup of which nothing was observed.
var notBegun = checkout.Observation{BillingRequest: checkout.BillingPending, Authorisation: checkout.CustomerInProgress}
