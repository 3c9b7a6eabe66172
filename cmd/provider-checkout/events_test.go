package main

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/events"
)

// An operator at night: an event failed, why, send it again, and it has arrived.
func TestAnOperatorSendsFailedEventsAgain(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	db := o.open(t)
	s := sandbox.New(t, db)
	s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusServiceUnavailable })
	s.Create(t, "NIGHT-1")
	s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusNoContent })
	s.Create(t, "DAY-1")
	failed, taken := s.Receiver.Deliveries()[0], s.Receiver.Deliveries()[3]
	id, takenID := failed.Header.Get(events.HeaderEventID), taken.Header.Get(events.HeaderEventID)

	all := o.prints(t, "events", "list")
	if lines := strings.Split(all, "\n"); len(lines) != 4 || !strings.HasPrefix(lines[1], takenID) || !strings.HasPrefix(lines[2], id) {
		t.Errorf("events list =\n%s\nwant a heading and two events, the newest first", all)
	}
	for _, filter := range [][]string{{"--status", "failed"}, {"--order", "NIGHT-1"}, {"--checkout", failed.JSON.Text("data.checkout_id")},
		{"--provider", "KOWHAI", "--since", "1h", "--status", "failed"}} {
		if list, said := o.does(t, append([]string{"events", "list"}, filter...)...); strings.Count(list, "\n") != 2 || said != "" ||
			!strings.Contains(list, id) || !strings.Contains(list, "answered 503") {
			t.Errorf("events list %q =\n%s%s\nwant the event that failed, and why", filter, list, said)
		}
	}
	if list, said := o.does(t, "events", "list", "--limit", "1"); strings.Count(list, "\n") != 2 || !strings.Contains(said, "there are more") {
		t.Errorf("events list --limit 1 =\n%s%s", list, said)
	}

	// Not by a server that sends nothing to private addresses: the receiver is on a loopback address.
	strict := s.Config
	strict.Sender = webhook.New(webhook.Options{})
	stop := works(t, strict)
	got := try(t, nil, "", "events", "redeliver", id, "--store", "sqlite:"+o.path)
	if got.code != cli.ExitFailed || !strings.Contains(got.stdout, id+" checkout.created KOWHAI NIGHT-1: failed after 0 attempts: the destination is not allowed") ||
		!strings.HasSuffix(got.stderr, "1 of 1 event not delivered\n") {
		t.Errorf("redelivery to a private address = %+v", got)
	}
	stop()
	works(t, s.Config)
	out, said := o.does(t, "events", "redeliver", id)
	if out != id+" checkout.created KOWHAI NIGHT-1: delivered after 1 attempt\n" || said != "" {
		t.Errorf("redelivery prints %q and %q", out, said)
	}
	again := s.Receiver.Deliveries()[4]
	if string(again.Body) != string(failed.Body) || again.Header.Get(events.HeaderEventID) != id ||
		again.Header.Get(events.HeaderSignature) == "" || again.Header.Get(events.HeaderAttempt) != "1" {
		t.Errorf("the receiver got %s under %v, want %s", again.Body, again.Header, failed.Body)
	}
	shown := o.prints(t, "events", "show", id)
	says(t, shown, "status    delivered\n", "attempts  4\n", "not allowed", "\n"+string(failed.Body)+"\n")
	if strings.Count(shown, ", 503 after ") != 3 || strings.Count(shown, ", 204 after ") != 1 || strings.Count(shown, " ms, asked by operator:") != 1 {
		t.Errorf("events show =\n%s\nwant the three attempts that were answered 503, and one for an operator that was answered 204", shown)
	}
	if out, said := o.does(t, "events", "redeliver", takenID); !strings.Contains(out, "delivered after 1 attempt\n") ||
		!strings.Contains(said, "had been taken before") {
		t.Errorf("redelivery of what was taken prints %q and %q", out, said)
	}

	s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusServiceUnavailable })
	s.Create(t, "NIGHT-2")
	s.Create(t, "NIGHT-3")
	s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusNoContent })
	out = o.prints(t, "events", "redeliver", "--failed", "--since", "1h")
	if strings.Count(out, "delivered after 1 attempt\n") != 2 || strings.Count(out, "\n") != 2 {
		t.Errorf("redelivery of all that failed prints\n%s", out)
	}
	if out := o.prints(t, "events", "redeliver", "--failed", "--since", "1h"); out != "" {
		t.Errorf("once more it prints\n%s", out)
	}
	out = o.prints(t, "evidence", "list", "--operations")
	if strings.Count(out, "events redeliver ") != 4 || strings.Count(out, ": to be sent again\n") != 5 {
		t.Errorf("the evidence log has\n%swant four redeliveries, one of two events", out)
	}
	o.fails(t, "there is no such event", "events", "show", "evt_none")
	o.fails(t, "there is no such event", "events", "redeliver", "evt_none")
}

// works runs the background work of a server until stop is called.
func works(t *testing.T, c service.Config) (stop func()) {
	t.Helper()
	svc, err := service.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); svc.Run(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// While no server runs, and after an operator who does not wait, an event is queued, once, and the next server sends it.
func TestARedeliveryIsQueuedUntilAServerRuns(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	db := o.open(t)
	s := sandbox.New(t, db)
	s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusServiceUnavailable })
	s.Create(t, "NIGHT-1")
	s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusNoContent })
	id := s.Receiver.Deliveries()[0].Header.Get(events.HeaderEventID)
	waits := func() []checkout.JobRecord {
		list, err := db.Jobs(t.Context(), checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobRedeliver}}, 2)
		if err != nil {
			t.Error(err)
		}
		return list
	}
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		for len(waits()) == 0 && t.Context().Err() == nil {
		}
		interrupt()
	}()
	var stdout, stderr bytes.Buffer
	args := []string{"events", "redeliver", id, "--store", "sqlite:" + o.path}
	code := run(ctx, args, variables(nil), strings.NewReader(""), &stdout, &stderr)
	want := id + " checkout.created KOWHAI NIGHT-1: queued: a running server will send it\n"
	if code != cli.ExitFailed || stdout.String() != want || !strings.HasSuffix(stderr.String(), "1 of 1 event not delivered\n") {
		t.Errorf("without a server: %d, %q, %q; want %q", code, stdout.String(), stderr.String(), want)
	}
	for _, args := range [][]string{{id}, {"--failed", "--since", "1h"}} {
		out, said := o.does(t, append([]string{"events", "redeliver"}, args...)...)
		if says(t, out+said, " wait"); len(waits()) != 1 || o.entries(t, "events redeliver") != 1 {
			t.Errorf("a repeat by %q prints %q and %q; want one job, %+v, and one record", args, out, said, waits())
		}
	}
	works(t, s.Config)
	for waits()[0].State == checkout.JobPending && t.Context().Err() == nil {
	}
	if got := s.Receiver.Deliveries(); len(got) != 4 || waits()[0].State != checkout.JobDone {
		t.Errorf("the next server made %d attempts, and it is %s", len(got)-3, waits()[0].State)
	}
}
