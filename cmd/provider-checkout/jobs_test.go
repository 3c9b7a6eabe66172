package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/events"
)

// works runs the background work of a server until the test ends.
func works(t *testing.T, c service.Config) {
	t.Helper()
	svc, err := service.New(c)
	if err != nil {
		t.Fatal(err)
	}
	sandbox.Work(t, svc)
}

// An operator at night: events failed, why, send them again, and they have arrived.
func TestEventsThatFailedAreSentAgain(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	s := o.served(t)
	s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusServiceUnavailable })
	s.Create(t, "NIGHT-1")
	s.Create(t, "NIGHT-2")
	s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusNoContent })
	s.Create(t, "DAY-1")
	failed := []sandbox.Delivery{s.Receiver.Deliveries()[0], s.Receiver.Deliveries()[3]}

	for _, filter := range [][]string{{"--state", "failed"}, {"--kind", "deliver", "--provider", "KOWHAI", "--state", "failed", "--since", "1h"}} {
		out := o.prints(t, append([]string{"jobs", "list"}, filter...)...)
		if says(t, out, "answered 503"); strings.Count(out, "\n") != 3 || !strings.Contains(strings.Split(out, "\n")[1], failed[1].Header.Get(events.HeaderEventID)) {
			t.Errorf("jobs list %q =\n%s\nwant a heading and the two events that failed, the newest first", filter, out)
		}
	}
	for _, none := range [][]string{{"--kind", "notify"}, {"--since", "2126-01-01"}} {
		if out := o.prints(t, append([]string{"jobs", "retry"}, none...)...); out != "" {
			t.Errorf("jobs retry %q prints %q, want nothing", none, out)
		}
	}
	out := o.prints(t, "jobs", "retry", "--kind", "deliver", "--reason", "the receiver is mended")
	want := ""
	for _, d := range []sandbox.Delivery{failed[1], failed[0]} {
		want += "due now: " + d.Header.Get(events.HeaderEventID) + "\n"
	}
	if out != want || len(o.acts(t, "jobs retry")) != 1 {
		t.Errorf("jobs retry prints %q and leaves the acts %+v, want %q and one", out, o.acts(t, "jobs retry"), want)
	}
	arrived := make(chan struct{}, 2)
	s.Receiver.AnswerWith(func(sandbox.Delivery) int { arrived <- struct{}{}; return http.StatusNoContent })
	works(t, s.Config)
	for range failed {
		<-arrived
	}
	for _, again := range s.Receiver.Deliveries()[7:] {
		first := failed[0]
		if again.JSON.Text("event_id") != first.JSON.Text("event_id") {
			first = failed[1]
		}
		if string(again.Body) != string(first.Body) || again.Header.Get(events.HeaderSignature) == "" {
			t.Errorf("the receiver got %s, want the body that failed, %s", again.Body, first.Body)
		}
	}
}

// An event without a destination is never sent, and an operator sees why.
func TestAnEventWithoutADestinationIsListedWithItsReason(t *testing.T) {
	o := newOperator(t)
	s := o.served(t)
	s.Configure(t, strings.Replace(sandbox.Providers, `"webhook": {"url": "HOOKS/KOWHAI", "signing_secret": "whsec_kowhai_0123456789abcdef"},`, "", 1))
	s.Create(t, "ENROL-1")
	line := o.objects(t, "jobs", "list", "--kind", string(checkout.JobDeliver), "--state", "done")[0]
	has(t, line, map[string]any{"state": "done", "attempts": 0.0, "reason": "no destination was configured"})
}

func TestWhatChangedSinceARestoreIsSynced(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	s := o.served(t)
	s.Create(t, "ORDER-1")
	s.Create(t, "ORDER-2")
	if out := o.prints(t, "crm", "sync", "--since", "2126-01-01"); out != "0 checkouts queued\n" {
		t.Errorf("of the next century it prints %q", out)
	}
	if out := o.prints(t, "crm", "sync", "--since", "1h", "--reason", "restored"); out != "2 checkouts queued\n" || len(o.acts(t, "crm sync")) != 1 {
		t.Errorf("it prints %q, with %d acts", out, len(o.acts(t, "crm sync")))
	}
	if out := o.prints(t, "jobs", "list", "--kind", "sync"); strings.Count(out, "\n") != 3 {
		t.Errorf("jobs list =\n%s\nwant a heading and two jobs", out)
	}
}
