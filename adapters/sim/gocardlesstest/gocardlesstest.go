// Package gocardlesstest is a simulator of GoCardless Pro (API 2015-07-06) for BECS NZ, for tests: the calls of its API that a
// mandate needs, the hosted page on which a payer gives the account, and its signed notifications. Everything is in memory.
//
//	sim := gocardlesstest.New(gocardlesstest.Options{Token: "token"})
//	defer sim.Close()
//	server := httptest.NewServer(sim)
//	sim.SetWebhook(ours.URL+"/processor/gocardless/webhooks", "secret")
//
// The authorisation_url of a flow shows a form; POST there gives the authority, and POST to its /exit leaves. Complete gives the
// authority without the form.
//
// A mandate stays pending_submission, since BECS NZ submits it with the first payment, unless the name of the account holder has
// another fate:
//
//	MANDATE FAILS      the mandate fails a minute later: NEGATIVE_ACKNOWLEDGEMENT-AC05
//	MANDATE CANCELLED  it is cancelled a minute later: DISHONOUR-AG01
//	MANDATE BLOCKED    it is blocked a minute later
//	MANDATE EXPIRED    it expires a minute later
//	MANDATE ACTIVE     it is submitted after one minute, and active after two
//	MANDATE LATE       the billing request is fulfilled a minute before there is a mandate
//	SETUP CANCELLED    the billing request is cancelled instead of fulfilled
//	SETUP FAILS        the same, after an event that says that it failed
//	SETUP HANGS        the billing request stays fulfilling
//	SETUP WAITS        the billing request stays ready_to_fulfil
//
// A payer with the family name GEO BLOCKED is refused for a day, as from a country that is not served.
package gocardlesstest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Options is the configuration of a simulator. Token is required.
type Options struct {
	Token     string     // of the API
	PublicURL string     // origin of the hosted page, such as https://pay.example; that of each request if empty
	Creditors []Creditor // of the account; one if empty
	Pace      Pace

	WebhookURL    string // receiver of notifications; they are not sent if empty (see SetWebhook)
	WebhookSecret string

	Now  func() time.Time // time.Now if nil; Advance adds to it
	Rand io.Reader        // crypto/rand.Reader if nil; must not fail
}

// Pace is the time that a billing request takes for its way, on the simulator's clock. The zero Pace takes no time.
type Pace struct {
	Ready      time.Duration // from the payer's confirmation on the hosted page to fulfilling
	Fulfilling time.Duration // from there to fulfilled
}

// Statistics counts the work of a simulator so far.
type Statistics struct {
	Calls           map[string]int // by route: "POST /billing_requests", "GET /mandates/{id}", or "other"
	Answers         map[string]int // by route and status: "POST /billing_requests 201"; without calls that hung or were reset
	WithoutKey      int            // calls that changed something and came without an Idempotency-Key
	BillingRequests int
}

// Simulator is one account at GoCardless, and the handler of its API and pages. It is safe for concurrent use.
type Simulator struct {
	options Options
	handler http.Handler

	mu        sync.Mutex // of everything below
	ahead     time.Duration
	steps     []step // the next step first
	creditors []Creditor
	requests  map[string]*billingRequest
	flows     map[string]*flow
	mandates  map[string]*mandate
	keys      map[string]string // idempotency keys, with their path, to the resource that they led to
	events    []*event          // the oldest first
	faults    []*Fault
	counts    Statistics
	webhook   webhook

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
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if len(o.Creditors) == 0 {
		o.Creditors = []Creditor{{}}
	}
	s := &Simulator{options: o, requests: map[string]*billingRequest{}, flows: map[string]*flow{}, mandates: map[string]*mandate{},
		keys: map[string]string{}, wake: make(chan struct{}, 1),
		counts: Statistics{Calls: map[string]int{}, Answers: map[string]int{}}}
	for _, c := range o.Creditors {
		s.creditors = append(s.creditors, c.complete())
	}
	s.closing, s.stop = context.WithCancel(context.Background())
	s.handler = s.newHandler()
	s.SetWebhook(o.WebhookURL, o.WebhookSecret)
	s.running.Go(s.run)
	return s
}

// Close stops the notifications and ends the requests that hang.
func (s *Simulator) Close() {
	s.stop()
	s.running.Wait()
}

func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Statistics returns the work so far.
func (s *Simulator) Statistics() Statistics {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.counts
	all.Calls, all.Answers = maps.Clone(all.Calls), maps.Clone(all.Answers)
	all.BillingRequests = len(s.requests)
	return all
}

// Now returns the time of the simulator's clock.
func (s *Simulator) Now() (now time.Time) {
	s.do(func(at time.Time) { now = at })
	return now
}

func (s *Simulator) now() time.Time { return s.options.Now().Add(s.ahead) }

// Advance moves the clock on, and lets everything happen that is due then.
func (s *Simulator) Advance(by time.Duration) {
	s.do(func(time.Time) { s.ahead += by })
}

// do runs a change at the clock's time, and the steps that are due before and after it.
func (s *Simulator) do(change func(now time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	change(s.now())
	s.settle()
}

// step is something that happens at a time.
type step struct {
	at time.Time
	do func(now time.Time)
}

// later lets something happen when the clock has reached a time, after earlier steps of that time.
func (s *Simulator) later(at time.Time, do func(now time.Time)) {
	s.steps = append(s.steps, step{at, do})
	slices.SortStableFunc(s.steps, func(a, b step) int { return a.at.Compare(b.at) })
}

// settle lets everything happen whose time has come, each at its own time. The lock is held.
func (s *Simulator) settle() {
	for len(s.steps) > 0 && !s.steps[0].at.After(s.now()) {
		next := s.steps[0]
		s.steps = s.steps[1:]
		next.do(next.at)
	}
	if len(s.webhook.unsent) > 0 {
		select {
		case s.wake <- struct{}{}:
		default: // it will look anyway
		}
	}
}

// newID returns an id that begins with the prefix.
func (s *Simulator) newID(prefix string) string {
	var entropy [10]byte
	if _, err := io.ReadFull(s.options.Rand, entropy[:]); err != nil {
		panic("gocardlesstest: Options.Rand: " + err.Error())
	}
	return prefix + base32.StdEncoding.EncodeToString(entropy[:])[:14]
}

const (
	maxBatch       = 250 // events in one notification
	maxAttempts    = 9   // the first and eight retries
	firstRetry     = 50 * time.Millisecond
	webhookTimeout = 10 * time.Second
)

// webhook has the notifications to deliver, and their receiver.
type webhook struct {
	url, secret string
	unsent      []*event // that no notification has yet
	sending     []*event // of the notification that is under way
	attempts    int      // of it
}

// SetWebhook changes the receiver of notifications and the secret that signs them. An empty address ends them, and events that
// happen without an address are not sent.
func (s *Simulator) SetWebhook(url, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.webhook.url, s.webhook.secret = url, secret
	if url == "" {
		s.webhook = webhook{}
	}
}

// Flush waits until all notifications are accepted or given up.
func (s *Simulator) Flush(ctx context.Context) error {
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for {
		idle := false
		s.do(func(time.Time) { idle = len(s.webhook.unsent) == 0 && len(s.webhook.sending) == 0 })
		if idle {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Sign returns the value of Webhook-Signature for a body.
func Sign(body []byte, secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// run sends notifications and lets steps happen until the simulator is closed.
func (s *Simulator) run() {
	for s.closing.Err() == nil {
		wait, retry := s.deliver()
		wake := s.wake
		if retry {
			wake = nil
		}
		select {
		case <-s.closing.Done():
		case <-wake:
		case <-time.After(wait):
		}
	}
}

// deliver makes the next attempt of a notification, and returns the time until the one after it, which may be a retry.
func (s *Simulator) deliver() (wait time.Duration, retry bool) {
	const lookAgain = 200 * time.Millisecond // the clock may be moved without a word
	w := &s.webhook
	var batch []*event
	var body []byte
	var url, secret string
	wait = time.Hour
	s.do(func(time.Time) {
		if len(w.sending) == 0 {
			n := min(len(w.unsent), maxBatch)
			w.sending, w.unsent, w.attempts = w.unsent[:n:n], w.unsent[n:], 0
		}
		if len(s.steps) > 0 {
			wait = lookAgain
		}
		if batch, url, secret = w.sending, w.url, w.secret; len(batch) > 0 {
			body = encode(object{"events": batch, "meta": object{"webhook_id": s.newID("WB")}})
		}
	})
	if len(batch) == 0 {
		return wait, false
	}
	accepted := s.post(url, Sign(body, secret), body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.attempts++; accepted || w.attempts >= maxAttempts {
		w.sending = nil
		return 0, false
	}
	return firstRetry << (w.attempts - 1), true
}

// post sends a notification, and reports whether it was accepted.
func (s *Simulator) post(url, signature string, body []byte) (accepted bool) {
	ctx, cancel := context.WithTimeout(s.closing, webhookTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Webhook-Signature", signature)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // only the status counts
	return resp.StatusCode >= 200 && resp.StatusCode < 300
}
