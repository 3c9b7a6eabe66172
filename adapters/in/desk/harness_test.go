package desk

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// secret is the operator's secret in tests.
var secret = []byte(strings.Repeat("s", 32))

// checkoutID is the checkout that every world has.
const checkoutID = "KOWHAI-1-a"

// The student of that checkout.
const (
	canaryName  = "Canary Rāpata"
	canaryEmail = "canary.mail@example.nz"
)

// world is a desk over a store in memory, under https, and its browsers' clock.
type world struct {
	*httptest.Server
	store *memory.Store

	mu  sync.Mutex
	at  time.Time
	log bytes.Buffer
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *world) forward(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(d)
}

func (w *world) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(line)
}

func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// sender takes every event.
type sender struct{}

func (sender) Send(context.Context, catalogue.Destination, events.Delivery, int) (checkout.Answer, error) {
	return checkout.Answer{}, nil
}

func (sender) EraseSetups(context.Context, []string) error { return nil }

// agreements has the PDFs of a store, and proofs of what is sealed there.
type agreements struct{ store *memory.Store }

func (a agreements) Document(ctx context.Context, of agreement.Agreement) (*agreement.Document, error) {
	d, err := a.store.Document(ctx, of.Number)
	return &d, err
}

func (a agreements) Proof(ctx context.Context, of agreement.Agreement) (*evidence.Proof, error) {
	e, position, err := a.store.EvidenceEntry(ctx, evidence.AgreementID(of.Number))
	if err != nil || position == evidence.Unsealed {
		return nil, nil
	}
	return &evidence.Proof{Leaf: e.Leaf, Position: position}, nil
}

// newWorld serves a desk in the sandbox, whose operators sign in by a click unless change names an issuer.
func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	w := &world{store: memory.New(), at: time.Now().Truncate(time.Second)}
	w.Server = httptest.NewUnstartedServer(nil)
	w.StartTLS()
	t.Cleanup(w.Close)
	o := Options{Settings: Settings{URL: w.URL, Idle: 30 * time.Minute, Session: 8 * time.Hour}, Store: w.store, Secrets: [][]byte{secret},
		Sandbox: true, Sender: func(catalogue.Environment) ports.Sender { return sender{} }, Setups: sender{}, Now: w.now, Rand: rand.Reader,
		Export: func(out io.Writer, s operate.Student) error {
			_, err := fmt.Fprintln(out, s.Email, len(s.Records))
			return err
		},
		Agreements: agreements{w.store},
		GoLive: func(_ context.Context, provider string) ([]Step, error) {
			return []Step{{Name: "create", Words: "Create a checkout of " + provider + ".", At: w.now(), RequestID: "req_1"},
				{Name: "setup", Words: "Have a payer set up.", Help: "https://pay.example/docs#setup"}}, nil
		},
		Log: slog.New(slog.NewJSONHandler(w, nil))}
	for _, f := range change {
		f(&o)
	}
	handler, err := New(o)
	must(t, err)
	w.Config.Handler = handler
	w.fill(t)
	return w
}

// fill stores a provider, and a checkout with an event that was given up.
func (w *world) fill(t *testing.T) {
	t.Helper()
	c := catalogue.Configuration{Provider: catalogue.Provider{Code: "KOWHAI", Name: "Kōwhai", Environment: catalogue.Sandbox, Mode: catalogue.Legacy,
		Destination: catalogue.Destination{URL: "https://hooks.example", Secret: "whsec_canary_0123456789abcdef"}}}
	must(t, w.store.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
		return []catalogue.Configuration{c}, nil, nil
	}))
	cmd := checkout.Create{RequestID: "req_1", Actor: checkout.ProviderActor("k1"), ProviderCode: checkout.Some("KOWHAI"),
		OrderID: checkout.Some("ORDER-1"), FirstName: checkout.Some("Canary"), LastName: checkout.Some("Rāpata"), Email: checkout.Some(canaryEmail)}
	instalments, err := money.ByNumber(2_790_00, 52)
	must(t, err)
	intent := checkout.Intent{CourseName: "Diploma", Pricing: money.Pricing{Price: 2_990_00, Upfront: 200_00, Principal: 2_790_00},
		Plan: money.Plan{Frequency: money.Weekly, Instalments: instalments, First: money.DateOf(w.now())}}
	change := cmd.Reserve(intent, checkoutID, w.now())
	change.Jobs[0].Due = w.now().Add(time.Hour)
	must(t, w.store.InsertCheckout(t.Context(), change, checkout.JobEntry{Now: w.now()}))
	failed := checkout.DeliveryOf(events.Event{ID: "evt_1", Name: events.CheckoutCreated, CheckoutID: checkoutID, ProviderCode: "KOWHAI",
		OrderID: "ORDER-1", Body: []byte(`{}`), CreatedAt: w.now()})
	_, err = w.store.Enqueue(t.Context(), []checkout.Job{failed}, nil)
	must(t, err)
	leases, err := w.store.Lease(t.Context(), checkout.JobQuery{Now: w.now(), For: time.Second, Kinds: []checkout.JobKind{checkout.JobDeliver}, Limit: 1})
	if err != nil || len(leases) != 1 {
		t.Fatalf("leased are %+v, %v", leases, err)
	}
	must(t, w.store.Settle(t.Context(), leases[0], checkout.Outcome{State: checkout.JobDead, Attempts: 3,
		Log:     []checkout.Attempt{{At: w.now(), Number: 1, Took: 20 * time.Millisecond, Status: 500, Answer: "<b>out of order</b>", Failure: "status 500"}},
		Failure: checkout.Failure{At: w.now(), Reason: "status 500"}}, checkout.JobEntry{Now: w.now()}, nil))
}

// sendsAgain takes the one redelivery that waits, as a server does, and checks which event it sends, and who asked for it.
func (w *world) sendsAgain(t *testing.T, id string, by checkout.Actor) {
	t.Helper()
	leases, err := w.store.Lease(t.Context(), checkout.JobQuery{Now: w.now(), For: time.Second, Kinds: []checkout.JobKind{checkout.JobRedeliver}, Limit: 2})
	if err != nil || len(leases) != 1 || leases[0].Job.EventID() != id || leases[0].Job.AskedBy() != by {
		t.Fatalf("redeliveries that wait are %+v, %v; want one of %s by %s", leases, err, id, by)
	}
	taken := checkout.Attempt{At: w.now(), Number: 1, Took: 30 * time.Millisecond, Status: 204, AskedBy: by}
	must(t, w.store.Settle(t.Context(), leases[0], checkout.Outcome{State: checkout.JobDone, Attempts: 1, Log: []checkout.Attempt{taken}},
		checkout.JobEntry{Now: w.now()}, nil))
}

// recorded returns the leaves of the evidence log.
func (w *world) recorded(t *testing.T) (leaves []string) {
	t.Helper()
	entries, err := w.store.UnsealedEvidence(t.Context(), 1000)
	must(t, err)
	for _, e := range entries {
		leaves = append(leaves, string(e.Leaf))
	}
	return leaves
}

// browser keeps cookies and follows no redirect.
type browser struct {
	*http.Client
	base string
}

func (w *world) browser(t *testing.T) browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	client := *w.Client()
	client.Jar, client.CheckRedirect = jar, func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return browser{&client, w.URL}
}

// as returns the browser of somebody who is signed in by a click.
func (w *world) as(t *testing.T, name string, role operate.Role) browser {
	t.Helper()
	b := w.browser(t)
	if a := b.post(t, "/sign-in", "name", name, "role", string(role)); a.status != http.StatusSeeOther {
		t.Fatalf("signing in as %s answers %d", role, a.status)
	}
	return b
}

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   string
}

func (b browser) get(t *testing.T, path string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base+path, nil)
	must(t, err)
	return b.do(t, r)
}

// post sends a form, of names and values in turn, as a browser does from a page of the desk.
func (b browser) post(t *testing.T, path string, fields ...string) answer {
	t.Helper()
	return b.do(t, b.form(t, path, fields...))
}

func (b browser) form(t *testing.T, path string, fields ...string) *http.Request {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Add(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.base+path, strings.NewReader(values.Encode()))
	must(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

func (b browser) do(t *testing.T, r *http.Request) answer {
	t.Helper()
	resp, err := b.Do(r)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// is checks the status, and returns the answer.
func (a answer) is(t *testing.T, status int) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("the answer is %d %s, want %d:\n%s", a.status, a.header.Get("Location"), status, a.body)
	}
	return a
}

// has checks that the body has all of the texts, and lacks whether it has one.
func (a answer) has(t *testing.T, texts ...string) answer {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			t.Errorf("the page lacks %q:\n%s", text, a.body)
		}
	}
	return a
}

func (a answer) lacks(t *testing.T, texts ...string) answer {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			t.Errorf("the page has %q:\n%s", text, a.body)
		}
	}
	return a
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
