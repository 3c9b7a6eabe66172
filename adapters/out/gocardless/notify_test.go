package gocardless_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const secret, oldSecret = "a webhook secret", "the webhook secret before"

// receiving is a receiver, and the resources that it has had looked at.
type receiving struct {
	*gocardless.Receiver
	store *memory.Store

	mu     sync.Mutex
	looked []string
	failed []error // reports
	err    error   // of each look
	seen   checkout.Checkout
}

func newReceiving(t *testing.T, b *bench) *receiving {
	t.Helper()
	r := &receiving{store: memory.New()}
	look := func(_ context.Context, id string) (checkout.Checkout, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.err == nil {
			r.looked = append(r.looked, id)
		}
		return r.seen, r.err
	}
	receiver, err := gocardless.NewReceiver(gocardless.ReceiverOptions{Processor: b.Processor,
		Secrets: [][]byte{[]byte(secret), []byte(oldSecret)}, Records: r.store, RefreshBillingRequest: look, RefreshMandate: look,
		Report: func(_ context.Context, err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.failed = append(r.failed, err)
		}, Now: b.sim.Now})
	if err != nil {
		t.Fatal(err)
	}
	r.Receiver = receiver
	return r
}

func (r *receiving) post(body, signature string) int {
	w := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, gocardless.WebhookPath, bytes.NewReader([]byte(body)))
	req.Header.Set("Webhook-Signature", signature)
	r.ServeHTTP(w, req)
	return w.Code
}

func (r *receiving) kept(t *testing.T) int {
	t.Helper()
	all, err := r.store.PendingNotifications(t.Context(), time.Now().Add(1000*time.Hour), 1000)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func fulfilled(ids ...string) string {
	var events []string
	for _, id := range ids {
		events = append(events, fmt.Sprintf(`{"id":%q,"resource_type":"billing_requests","action":"fulfilled","links":{"billing_request":"BRQ1"}}`, id))
	}
	return `{"events":[` + strings.Join(events, ",") + `],"meta":{"webhook_id":"WB1"}}`
}

func TestNotificationIsTakenWithASignatureOfOneOfTheSecretsOnly(t *testing.T) {
	r := newReceiving(t, newBench(t))
	body := fulfilled("EV1")
	for _, tt := range []struct {
		name, body, signature string
		status                int
	}{
		{"the present secret", body, gocardlesstest.Sign([]byte(body), secret), http.StatusNoContent},
		{"the secret before", body, gocardlesstest.Sign([]byte(body), oldSecret), http.StatusNoContent},
		{"another secret", body, gocardlesstest.Sign([]byte(body), "another webhook secret"), 498},
		{"the signature of another body", body + " ", gocardlesstest.Sign([]byte(body), secret), 498},
		{"none", body, "", 498},
		{"no hex", body, strings.Repeat("x", 64), 498},
		{"a part of it", body, gocardlesstest.Sign([]byte(body), secret)[:62], 498},
	} {
		if got := r.post(tt.body, tt.signature); got != tt.status {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.status)
		}
	}
	if got := r.kept(t); got != 1 {
		t.Errorf("%d notifications are kept, want the one event that came twice", got)
	}
	if len(r.failed) != 1 || !strings.Contains(r.failed[0].Error(), "compare the webhook secret") {
		t.Errorf("reported %v, want the bad signatures once", r.failed)
	}
}

func TestHostileNotificationsAreRefused(t *testing.T) {
	r := newReceiving(t, newBench(t))
	for name, tt := range map[string]struct {
		body   string
		status int
	}{
		"empty":               {"", http.StatusBadRequest},
		"no JSON":             {"<xml>", http.StatusBadRequest},
		"an array":            {"[]", http.StatusBadRequest},
		"events of no shape":  {`{"events":[1]}`, http.StatusBadRequest},
		"an event without id": {`{"events":[{"action":"fulfilled"}]}`, http.StatusBadRequest},
		"an id of no kind":    {`{"events":[{"id":"EV\u0000"}]}`, http.StatusBadRequest},
		"deep":                {strings.Repeat(`{"events":`, 20_000), http.StatusBadRequest},
		"too large":           {`{"events":[],"x":"` + strings.Repeat("x", 2<<20) + `"}`, http.StatusRequestEntityTooLarge},
		"too many":            {fulfilled(strings.Split(strings.Repeat("EV,", 1001)+"EV", ",")...), http.StatusBadRequest},
		"no events":           {`{"events":[]}`, http.StatusNoContent},
		"unknown resources":   {`{"events":[{"id":"EV9","resource_type":"payouts","action":"paid","links":{"payout":"PO1"}}]}`, http.StatusNoContent},
	} {
		if got := r.post(tt.body, gocardlesstest.Sign([]byte(tt.body), secret)); got != tt.status {
			t.Errorf("%s: %d, want %d", name, got, tt.status)
		}
	}
	if got := r.kept(t); got != 1 {
		t.Errorf("%d notifications are kept, want that of unknown kind alone", got)
	}
}

// run has the receiver work in the background until the test ends.
func (r *receiving) run(t *testing.T) {
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
}

func (r *receiving) looks() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.looked, " ")
}

func awaitLooks(t *testing.T, r *receiving, want string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); r.looks() != want; <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("looked at %q, want %q", r.looks(), want)
		}
	}
}

// Many events about one resource lead to one look, and a repeated event leads to no further look.
func TestNotificationLeadsToOneLook(t *testing.T) {
	r := newReceiving(t, newBench(t))
	body := fulfilled("EV1", "EV2", "EV3")
	for range 3 {
		if got := r.post(body, gocardlesstest.Sign([]byte(body), secret)); got != http.StatusNoContent {
			t.Fatalf("answered %d", got)
		}
	}
	r.run(t)
	awaitLooks(t, r, "BRQ1")
	for end := time.Now().Add(5 * time.Second); r.kept(t) > 0 && time.Now().Before(end); {
		<-time.After(5 * time.Millisecond)
	}
	if got := r.kept(t); got != 0 || r.looks() != "BRQ1" {
		t.Errorf("%d notifications are pending after %q", got, r.looks())
	}
}

// A look that fails leaves the notification pending, and a later reconciliation makes it good.
func TestNotificationWhoseLookFailsIsMadeGood(t *testing.T) {
	b := newBench(t)
	r := newReceiving(t, b)
	r.err = errors.New("the store is out")
	body := fulfilled("EV1")
	if got := r.post(body, gocardlesstest.Sign([]byte(body), secret)); got != http.StatusNoContent {
		t.Fatalf("answered %d", got)
	}
	r.run(t)
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); <-time.After(5 * time.Millisecond) {
		r.mu.Lock()
		failed := len(r.failed)
		r.mu.Unlock()
		if failed > 0 {
			break
		}
	}
	if got := r.kept(t); got != 1 {
		t.Fatalf("%d notifications are pending, want 1", got)
	}
	r.mu.Lock()
	r.err = nil
	r.mu.Unlock()
	b.sim.Advance(time.Minute)
	if err := r.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.kept(t); got != 0 || r.looks() != "BRQ1" {
		t.Errorf("%d notifications are pending after looks at %q", got, r.looks())
	}
}

// Steps on the payer's way, and what is created with the setup, change nothing that is on record here.
func TestNotificationThatChangesNothingIsKeptAndIgnored(t *testing.T) {
	r := newReceiving(t, newBench(t))
	var events []string
	for n, e := range []string{
		`"resource_type":"billing_requests","action":"created","links":{"billing_request":"BRQ1"}`,
		`"resource_type":"billing_requests","action":"flow_visited","links":{"billing_request":"BRQ1"}`,
		`"resource_type":"mandates","action":"created","links":{"mandate":"MD1"}`,
		`"resource_type":"payments","action":"failed","links":{"payment":"PM1","mandate":"MD1"}`,
		`"resource_type":"mandates","action":"cancelled","links":{"mandate":"MD2"}`,
		`"resource_type":"billing_requests","action":"failed","links":{"billing_request":"BRQ2"}`,
		`"resource_type":"billing_requests","action":"payer_details_confirmed","links":{"billing_request":"BRQ3"}`,
	} {
		events = append(events, fmt.Sprintf(`{"id":"EV%d",%s}`, n, e))
	}
	body := `{"events":[` + strings.Join(events, ",") + `]}`
	if got := r.post(body, gocardlesstest.Sign([]byte(body), secret)); got != http.StatusNoContent {
		t.Fatalf("answered %d", got)
	}
	r.run(t)
	for end := time.Now().Add(5 * time.Second); r.kept(t) > 0 && time.Now().Before(end); {
		<-time.After(5 * time.Millisecond)
	}
	looks := strings.Fields(r.looks())
	slices.Sort(looks)
	if got := strings.Join(looks, " "); got != "BRQ2 BRQ3 MD2" || r.kept(t) != 0 {
		t.Errorf("looked at %q, %d pending; want BRQ2, BRQ3 and MD2 alone, and all settled", got, r.kept(t))
	}
}

// A billing request that was fulfilled before it has a mandate is looked at until it has one, but not for ever.
func TestNotificationStaysPendingWhileItsBillingRequestIsSettling(t *testing.T) {
	settling := checkout.Setup{BillingRequestID: "BRQ1", Observation: checkout.Observation{BillingRequest: checkout.BillingFulfilling}}
	done := settling
	done.BillingRequest, done.AccountHolder, done.AccountMask, done.CompletedAt = checkout.BillingFulfilled, "A", "••••8389", time.Now()
	other := settling
	other.BillingRequestID = "BRQ2" // the next try's
	for _, tt := range []struct {
		name    string
		after   time.Duration
		seen    checkout.Setup
		pending int
	}{
		{"soon after", time.Minute, settling, 1},
		{"when it has its mandate", time.Minute, done, 0},
		{"when there is another try", time.Minute, other, 0},
		{"hours after", 2 * time.Hour, settling, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			r := newReceiving(t, b)
			body := fulfilled("EV1")
			if got := r.post(body, gocardlesstest.Sign([]byte(body), secret)); got != http.StatusNoContent {
				t.Fatalf("answered %d", got)
			}
			r.seen.Setup = tt.seen
			b.sim.Advance(tt.after)
			if err := r.Reconcile(t.Context()); err != nil {
				t.Error(err)
			}
			if got := r.kept(t); got != tt.pending || r.looks() != "BRQ1" {
				t.Errorf("%d notifications are pending after looks at %q, want %d after one", got, r.looks(), tt.pending)
			}
		})
	}
}

// A checkout that is not ours needs no look: the account may have other users.
func TestNotificationAboutAnUnknownResourceIsSettled(t *testing.T) {
	r := newReceiving(t, newBench(t))
	r.err = checkout.CheckoutNotFound()
	body := fulfilled("EV1")
	r.post(body, gocardlesstest.Sign([]byte(body), secret))
	r.run(t)
	for end := time.Now().Add(5 * time.Second); r.kept(t) > 0; <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the notification stays pending")
		}
	}
}

var _ ports.Notifications = (*memory.Store)(nil)
