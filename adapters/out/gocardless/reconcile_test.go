package gocardless_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
)

// Every notification is lost: the list of events brings them, newest first, over several pages.
func TestReconcileMakesLostNotificationsGood(t *testing.T) {
	b := newBench(t, func(o *gocardlesstest.Options, _ *gocardless.Options) { o.RateLimit = -1 })
	r := newReceiving(t, b)
	if err := r.Reconcile(t.Context()); err != nil { // the first, of a new store
		t.Fatal(err)
	}
	want := make(map[string]bool)
	for n := range 120 { // with about nine events each, more than two pages
		request, err := b.Begin(t.Context(), start(fmt.Sprintf("%03x", n)))
		if err != nil {
			t.Fatal(err)
		}
		b.complete(t, request.URL, "M O'BRIEN")
		want[request.ID] = true
	}
	b.sim.Advance(30 * time.Second)
	if err := r.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range r.looked {
		delete(want, id)
	}
	if len(want) > 0 {
		t.Errorf("%d of 120 billing requests were not looked at", len(want))
	}
	if len(r.failed) > 0 {
		t.Errorf("reported %v", r.failed)
	}
	before := len(r.looked)
	if err := r.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := len(r.looked) - before; got != 0 {
		t.Errorf("%d looks for events that were read before", got)
	}
}

// A failure in the middle of the list does not move the cursor: nothing is skipped.
func TestReconcileThatFailsIsRepeatedFromTheSameCursor(t *testing.T) {
	b := newBench(t)
	r := newReceiving(t, b)
	request, err := b.Begin(t.Context(), start("a"))
	if err != nil {
		t.Fatal(err)
	}
	b.complete(t, request.URL, "M O'BRIEN")
	b.sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultForbidden, Path: "/events"})
	if err := r.Reconcile(t.Context()); err == nil {
		t.Fatal("Reconcile succeeded")
	}
	b.sim.Disarm()
	b.sim.Advance(50 * time.Minute)
	if err := r.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.looks(), request.ID) {
		t.Errorf("looked at %q, want %s", r.looks(), request.ID)
	}
}

// What was kept is handled also while the list of events cannot be read.
func TestSweepGoesOnWithoutTheListOfEvents(t *testing.T) {
	b := newBench(t)
	r := newReceiving(t, b)
	body := fulfilled("EV1")
	if got := r.post(body, gocardlesstest.Sign([]byte(body), secret)); got != http.StatusNoContent {
		t.Fatalf("answered %d", got)
	}
	b.sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultForbidden, Path: "/events"})
	b.sim.Advance(time.Minute) // the process that took it has ended
	if err := r.Reconcile(t.Context()); err == nil {
		t.Error("Reconcile does not report that the list cannot be read")
	}
	if got := r.kept(t); got != 0 || r.looks() != "BRQ1" {
		t.Errorf("%d notifications are pending after looks at %q", got, r.looks())
	}
}

// After an outage there may be any number of notifications.
func TestSweepGoesOnUntilNothingIsPending(t *testing.T) {
	b := newBench(t)
	r := newReceiving(t, b)
	const batches, each = 6, 250
	for batch := range batches {
		var ids []string
		for n := range each {
			ids = append(ids, fmt.Sprintf("EV%d", batch*each+n))
		}
		if body := fulfilled(ids...); r.post(body, gocardlesstest.Sign([]byte(body), secret)) != http.StatusNoContent {
			t.Fatal("a notification is refused")
		}
	}
	b.sim.Advance(time.Minute)
	if err := r.Reconcile(t.Context()); err != nil {
		t.Error(err)
	}
	if got := r.kept(t); got != 0 {
		t.Errorf("%d of %d notifications are pending", got, batches*each)
	}
}

// One process at a time reads the list.
func TestReconcileIsLeftToTheProcessThatHasIt(t *testing.T) {
	b := newBench(t)
	r := newReceiving(t, b)
	now := b.sim.Now()
	if _, err := r.store.LeaseTask(t.Context(), "gocardless events", now, now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	before := b.sim.Statistics().Calls["GET /events"]
	if err := r.Reconcile(t.Context()); err != nil || b.sim.Statistics().Calls["GET /events"] != before {
		t.Errorf("Reconcile = %v, and it asked for events", err)
	}
	b.sim.Advance(2 * time.Minute) // that process died
	if err := r.Reconcile(t.Context()); err != nil || b.sim.Statistics().Calls["GET /events"] != before+1 {
		t.Errorf("Reconcile = %v, %d calls", err, b.sim.Statistics().Calls["GET /events"]-before)
	}
}
