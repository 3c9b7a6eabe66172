package gocardless_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

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

// A failure in the middle of the list does not move the cursor: nothing is skipped.
func TestReconcileThatFailsIsRepeatedFromTheSameCursor(t *testing.T) {
	b := newBench(t)
	r := newReceiving(t, b)
	request := b.begin(t, "a")
	b.complete(t, request.URL, "M O'BRIEN")
	b.sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultForbidden, Path: "/events"})
	if err := r.reconcile(t); err == nil {
		t.Fatal("Reconcile succeeded")
	}
	b.sim.Disarm()
	b.sim.Advance(51 * time.Minute)
	if err := r.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.about(), request.ID) {
		t.Errorf("notified of %q, want %s", r.about(), request.ID)
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
