package desk

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// The two checkouts of every world, one open and one confirmed, their student, and the audience of the desk.
const (
	openID        = "KOWHAI-1-a"
	confirmedID   = "KOWHAI-2-b"
	openPath      = "/checkouts/" + openID
	confirmedPath = "/checkouts/" + confirmedID
	number        = "PPA-2026-000001"
	canaryName    = "Canary Rāpata"
	canaryEmail   = "canary.mail@example.nz"
	audience      = "desk-proxy"
)

// issuer is an OpenID Connect issuer of ID tokens.
type issuer struct {
	*httptest.Server
	mu    sync.Mutex
	oidc  oidctest.Server
	key   *ecdsa.PrivateKey
	kid   string
	away  atomic.Bool
	asked atomic.Int32
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{}
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	i.oidc.SetIssuer(i.URL)
	i.rotate(t)
	return i
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return key
}

// rotate replaces the issuer's key.
func (i *issuer) rotate(t *testing.T) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key, i.kid = newKey(t), rand.Text()
	i.oidc.PublicKeys = []oidctest.PublicKey{{PublicKey: i.key.Public(), KeyID: i.kid, Algorithm: oidc.ES256}}
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.asked.Add(1); i.away.Load() {
		http.Error(w, "out of order", http.StatusBadGateway)
		return
	}
	i.oidc.ServeHTTP(w, r)
}

// claims returns the claims of an ID token, with changes; nil removes a claim.
func (w *world) claims(changes map[string]any) string {
	claims := map[string]any{"iss": w.issuer.URL, "aud": audience, "sub": "u1", "email": "aroha@lender.example", "iat": w.now().Unix(),
		"exp": w.now().Add(time.Hour).Unix(), "groups": []string{"desk-agents", "staff"}}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	text, _ := json.Marshal(claims)
	return string(text)
}

// token returns an ID token of the issuer.
func (w *world) token(changes map[string]any) string {
	return oidctest.SignIDToken(w.issuer.key, w.issuer.kid, oidc.ES256, w.claims(changes))
}

// world is a desk over a store in memory, under https.
type world struct {
	*httptest.Server
	store  *memory.Store
	issuer *issuer

	at  atomic.Int64 // milliseconds
	mu  sync.Mutex
	log bytes.Buffer
}

func (w *world) now() time.Time          { return time.UnixMilli(w.at.Load()).UTC() }
func (w *world) forward(d time.Duration) { w.at.Add(d.Milliseconds()) }

func (w *world) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(line)
}

// logged returns the log since the last call.
func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.log.Reset()
	return w.log.String()
}

func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	w := &world{issuer: newIssuer(t)}
	w.store = memory.New(w.now)
	w.at.Store(time.Date(2026, time.November, 20, 4, 0, 0, 0, time.UTC).UnixMilli())
	w.Server = httptest.NewUnstartedServer(nil)
	w.StartTLS()
	t.Cleanup(w.Close)
	ring, err := checkout.NewKeyring([]byte(strings.Repeat("s", 32)))
	must(t, err)
	o := Options{Settings: Settings{URL: w.URL, Issuer: w.issuer.URL, Audience: audience,
		Roles: Roles{Claim: "groups", Agent: []string{"desk-agents"}, Viewer: []string{"staff"}}},
		Store: w.store, Keyring: ring, Sandbox: true, SetupLifetime: time.Hour, Mails: true, Now: w.now, Rand: rand.Reader,
		Log: slog.New(slog.NewJSONHandler(w, nil))}
	for _, f := range change {
		f(&o)
	}
	w.Config.Handler, err = New(o)
	must(t, err)
	w.fill(t)
	return w
}

// fill stores a provider with a key, and two checkouts without a trouble.
func (w *world) fill(t *testing.T) {
	t.Helper()
	p := catalogue.Provider{Code: "KOWHAI", Name: "Kōwhai", AccountID: "acc_1", Environment: catalogue.Sandbox, Active: true, APIEnabled: true,
		Mode: catalogue.Legacy, Destination: catalogue.Destination{URL: "https://hooks.example", Secret: "whsec_canary_0123456789abcdef"}}
	must(t, w.store.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error) {
		return []catalogue.Configuration{{Provider: p}}, nil, nil
	}))
	for id, of := range map[string]string{"key1": "KOWHAI", "key2": "TUI"} {
		key := catalogue.Key{ID: id, Provider: of, Hash: [32]byte{id[3]}, CreatedAt: w.now(), LastUsed: w.now()}
		must(t, w.store.AddKey(t.Context(), key, checkout.Act{ID: "act_" + id, At: w.now(), Name: "keys issue"}))
	}
	w.insert(t, w.open(openID, "ORDER-1"))
	c := w.open(confirmedID, "ORDER-2")
	c.Next.Status = checkout.Confirmed
	c.Next.Setup = checkout.Setup{Try: 1, BillingRequestID: "BRQ1", Observation: checkout.Observation{
		BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandatePendingSubmission, MandateID: "MD1",
		AccountHolder: "Canary Holder", AccountMask: "01-0902-•••••89-00", CompletedAt: w.now()}}
	c.Next.Confirmation = checkout.Confirmation{At: w.now(), AgreementNumber: number, FirstPayment: money.DateOf(w.now())}
	c.Agreement = &agreement.Agreement{Number: number, CheckoutID: confirmedID, OrderID: "ORDER-2", AcceptedAt: w.now(),
		Provider: agreement.Party{Code: "KOWHAI"}, Pricing: c.Next.Intent.Pricing, Schedule: c.Next.Schedule()}
	w.insert(t, c)
}

// open returns a checkout that waits for its payer.
func (w *world) open(id, order string) checkout.Change {
	cmd := checkout.Create{RequestID: "req_1", Actor: checkout.ProviderActor("k1"), ProviderCode: checkout.Some("KOWHAI"),
		OrderID: checkout.Some(order), FirstName: checkout.Some("Canary"), LastName: checkout.Some("Rāpata"), Email: checkout.Some(canaryEmail)}
	instalments, _ := money.ByNumber(2_790_00, 52)
	change := cmd.Open(checkout.Intent{CourseName: "Diploma", Pricing: money.Pricing{Price: 2_990_00, Upfront: 200_00, Principal: 2_790_00},
		Plan: money.Plan{Frequency: money.Weekly, Instalments: instalments, First: money.DateOf(w.now())}},
		checkout.Opening{ID: id, Now: w.now(), Environment: catalogue.Sandbox,
			Token: checkout.Token{Epoch: 1, KID: "k1", Expires: w.now().Add(time.Hour)}})
	change.Jobs = nil
	return change
}

func (w *world) insert(t *testing.T, change checkout.Change) {
	t.Helper()
	_, err := w.store.InsertCheckout(t.Context(), change, 0)
	must(t, err)
}

// change changes a checkout, and returns the leases of its jobs.
func (w *world) change(t *testing.T, id string, decide func(checkout.Checkout) checkout.Change) []checkout.Lease {
	t.Helper()
	c, err := w.store.Checkout(t.Context(), id)
	must(t, err)
	_, leases, err := w.store.UpdateCheckout(t.Context(), c, time.Second, func(c checkout.Checkout) (checkout.Change, error) {
		return decide(c), nil
	})
	must(t, err)
	return leases
}

// fails enters a job of a checkout, and has its attempt fail.
func (w *world) fails(t *testing.T, job checkout.Job, state checkout.JobState, reason string, moments ...checkout.Moment) {
	t.Helper()
	leases := w.change(t, job.CheckoutID, func(c checkout.Checkout) checkout.Change {
		return checkout.Change{At: w.now(), Next: c, Jobs: []checkout.Job{job}}
	})
	if len(leases) != 1 {
		t.Fatalf("leased are %+v, want %s", leases, job.ID)
	}
	must(t, w.store.Settle(t.Context(), leases[0], checkout.Outcome{State: state, Attempts: 3, Pause: 10 * time.Minute, Moments: moments,
		Failure: checkout.Failure{At: w.now(), Reason: reason}}))
}

// failEvent has an event of the open checkout fail.
func (w *world) failEvent(t *testing.T) {
	t.Helper()
	w.fails(t, checkout.DeliveryOf(events.Event{ID: "evt_1", Name: events.CheckoutCreated, CheckoutID: openID, ProviderCode: "KOWHAI",
		OrderID: "ORDER-1", Body: []byte(`{}`), CreatedAt: w.now()}), checkout.JobFailed, "status 500")
}

// refuseSync has the CRM refuse a checkout.
func (w *world) refuseSync(t *testing.T, id, reason string) {
	t.Helper()
	c, err := w.store.Checkout(t.Context(), id)
	must(t, err)
	w.fails(t, c.Job(checkout.JobSync, "req_1", w.now(), 0), checkout.JobPending, reason,
		checkout.Moment{At: w.now(), Kind: checkout.MomentCRMRefused, Actor: checkout.ActorCRM, Detail: "INVALID last_name"})
}

// did checks the acts on record, the oldest first: "operator: act subject: reason".
func (w *world) did(t *testing.T, want ...string) {
	t.Helper()
	acts, err := w.store.Acts(t.Context(), checkout.ActFilter{}, 100)
	must(t, err)
	acts = slices.DeleteFunc(acts, func(a checkout.Act) bool { return a.Operator == "" }) // of the world itself
	var got []string
	for _, a := range slices.Backward(acts) {
		got = append(got, fmt.Sprintf("%s: %s %s: %s", a.Operator, a.Name, a.Subject, a.Reason))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the acts on record are %q, want %q", got, want)
	}
}

// browser sends an ID token, as the proxy in front of the desk does, and follows no redirect.
type browser struct {
	*http.Client
	base, token string
}

// with returns a browser whose proxy passes this token.
func (w *world) with(token string) browser {
	client := *w.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return browser{&client, w.URL, token}
}

func (w *world) agent() browser { return w.with(w.token(nil)) }

func (w *world) viewer() browser {
	return w.with(w.token(map[string]any{"email": "ben@lender.example", "groups": "staff"}))
}

func (b browser) request(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.base+path, strings.NewReader(body))
	must(t, err)
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return r
}

func (b browser) get(t *testing.T, path string) answer {
	t.Helper()
	return b.do(t, b.request(t, http.MethodGet, path, ""))
}

// form returns the request of a form of the desk, of names and values in turn.
func (b browser) form(t *testing.T, path string, fields ...string) *http.Request {
	t.Helper()
	values := url.Values{}
	for pair := range slices.Chunk(fields, 2) {
		values.Add(pair[0], pair[1])
	}
	r := b.request(t, http.MethodPost, path, values.Encode())
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

func (b browser) post(t *testing.T, path string, fields ...string) answer {
	t.Helper()
	return b.do(t, b.form(t, path, fields...))
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

type answer struct {
	status int
	header http.Header
	body   string
}

// is checks the status.
func (a answer) is(t *testing.T, status int) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("the answer is %d %s, want %d:\n%s", a.status, a.header.Get("Location"), status, a.body)
	}
	return a
}

// leads checks that the answer leads to a path.
func (a answer) leads(t *testing.T, to string) {
	t.Helper()
	if got := a.is(t, http.StatusSeeOther).header.Get("Location"); got != to {
		t.Errorf("the answer leads to %q, want %q", got, to)
	}
}

// has checks that the page has all of the texts, and lacks that it has none of them.
func (a answer) has(t *testing.T, texts ...string) answer { t.Helper(); return a.check(t, true, texts) }
func (a answer) lacks(t *testing.T, texts ...string) answer {
	t.Helper()
	return a.check(t, false, texts)
}

func (a answer) check(t *testing.T, want bool, texts []string) answer {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) != want {
			t.Errorf("the page has %q: %t, want %t:\n%s", text, !want, want, a.body)
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
