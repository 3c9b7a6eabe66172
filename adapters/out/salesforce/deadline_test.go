package salesforce_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
)

// stopped is the context of a process that was stopped: its deadline may have passed, and no timer has fired yet.
type stopped struct {
	context.Context
	deadline atomic.Pointer[time.Time] // the transport may still read a request's body when its answer has come
}

func (c *stopped) Deadline() (time.Time, bool) { return *c.deadline.Load(), true }

// by gives the process until then.
func (c *stopped) by(then time.Time) { c.deadline.Store(&then) }

// stopping is a process that is stopped past its deadline at one request, before or after it is sent.
type stopping struct {
	at      int // requests that were sent before
	before  bool
	sent    int
	ctx     *stopped
	wrote   func() int // records so far
	written int        // records by the time at which the process was stopped
}

// RoundTrip implements http.RoundTripper.
func (s *stopping) RoundTrip(r *http.Request) (*http.Response, error) {
	s.sent++
	s.stop(s.before && s.sent == s.at+1)
	resp, err := http.DefaultTransport.RoundTrip(r)
	s.stop(!s.before && s.sent == s.at)
	return resp, err
}

func (s *stopping) stop(now bool) {
	if now {
		s.ctx.by(time.Now().Add(-time.Nanosecond))
		s.written = s.wrote()
	}
}

// run opens and completes an enrolment.
func (s *stopping) run(t *testing.T) error {
	b := newBench(t, func(_ *salesforcetest.Options, o *salesforce.Options) { o.Transport = s })
	s.ctx, s.wrote = &stopped{Context: t.Context()}, func() int { return len(b.sim.Journal()) }
	s.ctx.by(time.Now().Add(time.Hour))
	s.stop(!s.before && s.at == 0)
	records, err := b.Open(s.ctx, enrolment())
	if err == nil {
		_, err = b.Complete(s.ctx, completion(records))
	}
	return err
}

// A process that was stopped past its lease sends nothing when it goes on, wherever it was stopped.
func TestNothingIsSentAfterTheDeadline(t *testing.T) {
	whole := &stopping{at: -1}
	if err := whole.run(t); err != nil || whole.sent < 4 {
		t.Fatalf("%d requests, %v; want an open and a completion", whole.sent, err)
	}
	for at := range whole.sent {
		after := &stopping{at: at}
		if err := after.run(t); after.sent != at || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stopped after %d of %d requests: %v after %d, want %v", at, whole.sent, err, after.sent, context.DeadlineExceeded)
		}
		// The request waits for a connection when its process is stopped.
		before := &stopping{at: at, before: true}
		if err := before.run(t); before.sent != at+1 || before.wrote() != before.written || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stopped at request %d of %d: %v after %d and %d records; want %v and %d records", at+1, whole.sent, err, before.sent,
				before.wrote(), context.DeadlineExceeded, before.written)
		}
	}
}
