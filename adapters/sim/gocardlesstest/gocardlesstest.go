// Package gocardlesstest is a simulator of GoCardless Pro (API 2015-07-06) for BECS NZ: its API, the hosted page on which
// a payer gives the details of the account, and its signed notifications. It moves no money. Everything is in memory, and
// nothing is shared between two simulators.
//
//	sim := gocardlesstest.New(gocardlesstest.Options{Token: "token", WebhookSecret: "secret"})
//	defer sim.Close()
//	server := httptest.NewServer(sim)
//	sim.SetWebhook(ours.URL+"/processor/gocardless/webhooks", "secret")
//
// # The hosted page
//
// The authorisation_url of a flow shows the payer's details, and POST takes them at its /details: given_name, family_name
// and email. Then come /account: account_holder_name, authority_confirmed, and bank_code, branch_code, account_number and
// account_number_suffix, of which the first may hold the whole number; and /check, whose POST is the confirmation. POST to
// /exit leaves. Complete does all of it at once.
//
// # What becomes of a payer
//
// A mandate stays pending_submission, since BECS NZ submits it with the first payment, unless the account holder's name or
// the payer's family name says otherwise; capitals do not matter:
//
//	MANDATE FAILS      the mandate fails a minute later: NEGATIVE_ACKNOWLEDGEMENT-AC05
//	MANDATE CANCELLED  it is cancelled a minute later: DISHONOUR-AG01
//	MANDATE BLOCKED    it is blocked a minute later
//	MANDATE EXPIRED    it expires a minute later
//	MANDATE ACTIVE     it is submitted after one minute, and active after two
//	MANDATE REPLACED   it is cancelled a minute later, and another stands in its place
//	MANDATE RETURNS    it is cancelled after one minute, and reinstated after two
//	MANDATE LATE       the billing request is fulfilled a minute before there is a mandate
//	SETUP CANCELLED    the billing request is cancelled instead of fulfilled
//	SETUP FAILS        the same, after an event that says that it failed
//	SETUP HANGS        the billing request stays fulfilling
//	SETUP WAITS        the billing request stays ready_to_fulfil
//	GEO BLOCKED        as a family name: the hosted page is refused, as from a country that is not served
//
// So does the suffix of the account 01-0902-0068389:
//
//	01 failed NEGATIVE_ACKNOWLEDGEMENT-AC05   06 cancelled DISHONOUR-AG01
//	02 failed DISHONOUR-AC05                  07 cancelled DISHONOUR-BE05
//	03 failed DISHONOUR-AC03                  08 cancelled DISHONOUR-AM04
//	04 cancelled DISHONOUR-AC04               09 cancelled DISHONOUR-MS01
//	05 cancelled DISHONOUR-AC05               10 blocked, 11 expired, 12 SETUP FAILS
//
// # The control path
//
// With Options.Control everything can be moved over HTTP too. A POST has Content-Type: application/json. The id of a
// mandate is in the service's export, or that of its billing request will do:
//
//	GET    /simulator/clock                              {"now":"2027-02-01T00:00:00.000Z"}
//	POST   /simulator/clock                              {"advance":"1m30s"}
//	GET    /simulator/statistics
//	POST   /simulator/faults                             {"kind":"timeout_after","method":"POST","path":"/billing_requests","times":1}
//	DELETE /simulator/faults
//	POST   /simulator/webhooks                           {"url":"…","secret":"…"}
//	POST   /simulator/webhooks/faults                    {"drop":0.1,"duplicate":0.1,"late":0.1,"shuffle":true,"delay":"1s"}
//	POST   /simulator/mandates/{id}                      {"status":"failed","reason_code":"DISHONOUR-AC04"}
//	GET    /simulator/mandates/{id}                      what the bank gets of it
//	POST   /simulator/billing_requests/{id}/cancel       also /fulfil and /block
//	POST   /simulator/flows/{id}/complete                {"given_name":"Ana",…,"account_number":"01-0902-0068389-00"}
//	POST   /simulator/creditors/{id}                     {"scheme_status":"pending","minimum_advance_notice":10}
//
// # Where it differs
//
// It knows one scheme, becs_nz, and billing requests for a mandate alone, and has only the calls that such a setup needs: it
// lists events and creditors, but neither billing requests nor mandates. Fields that the API does not have are refused.
// An action that is repeated with the same Idempotency-Key is answered as a repeated create is, with the id of what it
// acted on.
package gocardlesstest

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/control"
	"github.com/provider-checkout/provider-checkout/adapters/sim/faults"
)

// Options is the configuration of a simulator. Token is required.
type Options struct {
	Token     string     // of the API
	PublicURL string     // origin of the hosted page, such as https://pay.example; that of each request if empty
	Creditors []Creditor // of the account; one if empty
	Pace      Pace
	RateLimit int  // requests of one token in a minute; 1000 if 0, no limit if negative
	Control   bool // serve the paths under /simulator/, by which everything can be moved

	WebhookURL     string // where notifications go; nowhere if empty (see SetWebhook)
	WebhookSecret  string
	WebhookBatch   int           // most events in one notification; 250 if 0
	WebhookRetry   time.Duration // wait before the first retry, doubled for each further one; 50 ms if 0
	WebhookTimeout time.Duration // for an answer; 10 s if 0

	Now  func() time.Time // time.Now if nil; what Advance adds comes on top
	Rand io.Reader        // crypto/rand.Reader if nil; must not fail
	Log  *slog.Logger     // discards if nil
}

func (o Options) complete() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.RateLimit = cmp.Or(o.RateLimit, 1000)
	o.WebhookBatch = cmp.Or(o.WebhookBatch, maxBatch)
	o.WebhookRetry = cmp.Or(o.WebhookRetry, 50*time.Millisecond)
	o.WebhookTimeout = cmp.Or(o.WebhookTimeout, 10*time.Second)
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	return o
}

// Simulator is one account at GoCardless, and the handler of its API and pages. It is safe for concurrent use.
type Simulator struct {
	options Options
	handler http.Handler

	mu       sync.Mutex
	clock    control.Shifted
	state    *state
	faults   *faults.Armed
	minute   time.Time  // in which
	spent    int        // so many requests came
	counts   Statistics // that are counted at once
	webhooks webhooks

	wake    chan struct{} // makes the goroutine look again
	closing context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

// New returns a simulator. Close must be called when it is done with. It panics without a token.
func New(o Options) *Simulator {
	if o.Token == "" {
		panic("gocardlesstest: Options.Token is empty")
	}
	o = o.complete()
	s := &Simulator{options: o, wake: make(chan struct{}, 1),
		counts: Statistics{Calls: map[string]int{}, Answers: map[string]int{}}}
	s.clock.Base, s.faults = s.options.Now, faults.New(&s.mu)
	s.closing, s.stop = context.WithCancel(context.Background())
	s.state = newState(s.clock.Now(), o)
	s.handler = s.newHandler()
	s.SetWebhook(o.WebhookURL, o.WebhookSecret)
	s.running.Go(s.run)
	return s
}

// Close stops the deliveries and ends the requests that hang, and waits until both are over. What was not delivered is
// lost.
func (s *Simulator) Close() {
	s.stop()
	s.running.Wait()
}

// The paths that are not the API's.
const (
	controlPath = "/simulator/"
	flowPath    = "/flow/"
	assetsPath  = "/assets/"
)

// ServeHTTP implements http.Handler.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Advance(0)
	s.handler.ServeHTTP(w, r)
}

// Now returns the time of the simulator's clock.
func (s *Simulator) Now() time.Time { return s.clock.Now() }

// Advance moves the clock on, and lets everything happen that is due then.
func (s *Simulator) Advance(by time.Duration) {
	s.mu.Lock()
	s.clock.Advance(by)
	s.settle(s.clock.Now())
	s.mu.Unlock()
}

// settle lets happen what is due, and wakes the goroutine where there is something to send. The lock is held.
func (s *Simulator) settle(now time.Time) {
	s.state.settle(now)
	if len(s.state.unsent) > 0 {
		s.wakeUp()
	}
}

// wakeUp makes the goroutine look for work.
func (s *Simulator) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// do runs a change of the state at the clock's time, and what is due then.
func (s *Simulator) do(change func(state *state, now time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	s.state.settle(now)
	change(s.state, now)
	s.settle(now)
}
