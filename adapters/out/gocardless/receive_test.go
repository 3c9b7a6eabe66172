package gocardless_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const secret, oldSecret = "a webhook secret", "the webhook secret before"

// receiving is a receiver, and the notifications that it has passed on.
type receiving struct {
	*gocardless.Receiver
	mu       sync.Mutex // of what the receiver passes on
	notified []checkout.Notification
	failed   []error // reports
	err      error   // of storing notifications
	cursor   string  // of Reconcile
}

func newReceiving(t *testing.T, b *bench) *receiving {
	t.Helper()
	r := &receiving{}
	receiver, err := gocardless.NewReceiver(gocardless.ReceiverOptions{Processor: b.Processor,
		Secrets: [][]byte{[]byte(secret), []byte(oldSecret)},
		Notified: func(_ context.Context, all []checkout.Notification) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.err != nil {
				return r.err
			}
			r.notified = append(r.notified, all...)
			return nil
		},
		Report: func(_ context.Context, err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.failed = append(r.failed, err)
		}})
	if err != nil {
		t.Fatal(err)
	}
	r.Receiver = receiver
	return r
}

// reconcile runs the task from the cursor where it got to.
func (r *receiving) reconcile(t *testing.T) error {
	t.Helper()
	next, pause, err := r.Reconcile(t.Context(), r.cursor)
	if r.cursor = next; pause < 10*time.Second {
		t.Errorf("a pause of %s is shorter than a task may have", pause)
	}
	return err
}

// about returns the billing requests and mandates that were notified.
func (r *receiving) about() string {
	var about []string
	for _, n := range r.notified {
		about = append(about, n.BillingRequestID+n.MandateID)
	}
	slices.Sort(about)
	return strings.Join(slices.Compact(about), " ")
}

func (r *receiving) post(body, signature string) int {
	w := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, gocardless.WebhookPath, bytes.NewReader([]byte(body)))
	req.Header.Set("Webhook-Signature", signature)
	r.ServeHTTP(w, req)
	return w.Code
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
		{"the first half of it", body, gocardlesstest.Sign([]byte(body), secret)[:32] + strings.Repeat("0", 32), 498},
		{"a part of it", body, gocardlesstest.Sign([]byte(body), secret)[:62], 498},
	} {
		if got := r.post(tt.body, tt.signature); got != tt.status {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.status)
		}
	}
	if len(r.notified) != 1 {
		t.Errorf("%d notifications are kept, want the one event that came twice", len(r.notified))
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
	if len(r.notified) != 0 {
		t.Errorf("%d notifications are kept", len(r.notified))
	}
}

// A notification that cannot be stored is not acknowledged: GoCardless sends it again.
func TestNotificationThatCannotBeStoredIsNotAcknowledged(t *testing.T) {
	r := newReceiving(t, newBench(t))
	r.err = errors.New("the store is out")
	body := fulfilled("EV1")
	if got := r.post(body, gocardlesstest.Sign([]byte(body), secret)); got != http.StatusServiceUnavailable || len(r.failed) != 1 {
		t.Errorf("answered %d, reported %v", got, r.failed)
	}
	r.err = nil
	if got := r.post(body, gocardlesstest.Sign([]byte(body), secret)); got != http.StatusNoContent || r.about() != "BRQ1" {
		t.Errorf("answered %d, notified of %q", got, r.about())
	}
}

// Steps on the payer's way, and what is created with the setup, change nothing that is on record here.
func TestNotificationThatChangesNothingIsIgnored(t *testing.T) {
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
	if got := r.about(); got != "BRQ2 BRQ3 MD2" {
		t.Errorf("notified of %q; want BRQ2, BRQ3 and MD2 alone", got)
	}
}

// strangers opens connections with a body that never ends, under a signature that could be GoCardless'.
func strangers(t *testing.T, server *httptest.Server, n int) {
	t.Helper()
	for range n {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nWebhook-Signature: %064d\r\nContent-Length: 1000\r\n\r\n{", 0)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Strangers who send bodies that never end keep no notification out.
func TestBodiesThatNeverEndKeepNoNotificationOut(t *testing.T) {
	server := httptest.NewServer(newReceiving(t, newBench(t)))
	defer server.Close()
	body := fulfilled("EV1")
	for round := range 5 {
		strangers(t, server, 40)
		for range 4 {
			req, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Webhook-Signature", gocardlesstest.Sign([]byte(body), secret))
			resp, err := server.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusNoContent {
				t.Errorf("round %d: GoCardless' own notification is answered %d, want 204", round, resp.StatusCode)
			}
		}
	}
	server.CloseClientConnections()
}

// Every notification is lost: the list of events brings them, newest first, over several pages.
func TestReconcileMakesLostNotificationsGood(t *testing.T) {
	b := newBench(t)
	r := newReceiving(t, b)
	if err := r.reconcile(t); err != nil { // the first, of a new store
		t.Fatal(err)
	}
	want := make(map[string]bool)
	for n := range 120 { // with about nine events each, more than two pages
		request := b.begin(t, fmt.Sprintf("%03x", n))
		b.complete(t, request.URL, "M O'BRIEN")
		want[request.ID] = true
	}
	b.sim.Advance(30 * time.Second)
	if err := r.reconcile(t); err != nil {
		t.Fatal(err)
	}
	for _, n := range r.notified {
		delete(want, n.BillingRequestID)
	}
	if len(want) > 0 {
		t.Errorf("of %d of 120 billing requests nothing was notified", len(want))
	}
	if len(r.failed) > 0 {
		t.Errorf("reported %v", r.failed)
	}
	before := len(r.notified)
	if err := r.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if got := len(r.notified) - before; got != 0 {
		t.Errorf("%d notifications of events that were read before", got)
	}
}

// A page that could not be stored is read again, whichever page of the list it is: a second page has the older events.
func TestReconcileThatCannotStoreAPageIsRepeatedFromTheSameCursor(t *testing.T) {
	b := newBench(t)
	r := newReceiving(t, b)
	want := make(map[string]bool)
	for n := range 120 { // with about nine events each, more than a page
		request := b.begin(t, fmt.Sprintf("%03x", n))
		b.complete(t, request.URL, "M O'BRIEN")
		want[request.ID] = true
	}
	keep, pages := r.Notified, 0
	r.Notified = func(ctx context.Context, all []checkout.Notification) error {
		if pages++; pages == 2 {
			return errors.New("the store is out")
		}
		return keep(ctx, all)
	}
	r.cursor = b.sim.Now().Add(-time.Hour).Format(time.RFC3339Nano)
	before := r.cursor
	if err := r.reconcile(t); err == nil || pages != 2 || r.cursor != before {
		t.Fatalf("the second of two pages is not stored: %v after %d pages, the cursor %q, want an error and %q", err, pages, r.cursor, before)
	}
	if err := r.reconcile(t); err != nil {
		t.Fatal(err)
	}
	for _, n := range r.notified {
		delete(want, n.BillingRequestID)
	}
	if len(want) > 0 {
		t.Errorf("of %d of 120 billing requests nothing was notified", len(want))
	}
}

// An event may be listed a little later than its time says, after the list was read beyond that time.
func TestReconcileReadsTheLastMinutesAgain(t *testing.T) {
	b := newBench(t)
	r := newReceiving(t, b)
	request := b.begin(t, "a")
	b.complete(t, request.URL, "M O'BRIEN")
	b.sim.Advance(time.Minute)
	r.cursor = b.sim.Now().Format(time.RFC3339Nano) // as if the list had been read now, without the events
	if err := r.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.about(), request.ID) {
		t.Errorf("notified of %q, want %s", r.about(), request.ID)
	}
}

// A clock that is wrong, or that steps back or forth, hides no event: the list is read by the times that GoCardless gives.
func TestReconcileGoesByTheClockOfGoCardless(t *testing.T) {
	for _, step := range []time.Duration{-24 * time.Hour, -5 * time.Minute, 5 * time.Minute, 24 * time.Hour} {
		ahead := step
		b := newBench(t)
		clock := func() time.Time { return b.sim.Now().Add(ahead) }
		processor, err := gocardless.New(gocardless.Options{Environment: catalogue.Sandbox, Token: token, URL: b.url, Now: clock})
		if err != nil {
			t.Fatal(err)
		}
		r := newReceiving(t, &bench{processor, b.sim, b.url, t})
		for range 2 {
			if err := r.reconcile(t); err != nil {
				t.Fatal(err)
			}
			request := b.begin(t, fmt.Sprint("a", ahead))
			b.complete(t, request.URL, "M O'BRIEN")
			b.sim.Advance(3 * time.Minute)
			if err := r.reconcile(t); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(r.about(), request.ID) {
				t.Errorf("%s ahead: notified of %q, want %s", ahead, r.about(), request.ID)
			}
			if read, err := time.Parse(time.RFC3339Nano, r.cursor); err != nil || b.sim.Now().Sub(read).Abs() > 5*time.Second {
				t.Errorf("%s ahead: the list was read up to %s, %v, want %s", ahead, r.cursor, err, b.sim.Now())
			}
			ahead = 0
		}
	}
}
