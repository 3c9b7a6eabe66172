package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
)

// spans keeps the spans that have ended.
type spans struct {
	mu  sync.Mutex
	all []service.Span
}

const (
	callersTrace = events.Trace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	spanID       = "070000000000000b"
)

func withSpans() (*spans, func(*service.Config)) {
	s := &spans{}
	return s, func(c *service.Config) {
		c.Span = func(span *service.Span) func() {
			if span.Trace != "" {
				span.Trace = span.Trace.Child([8]byte{7, 7: 11})
			}
			return func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.all = append(s.all, *span)
			}
		}
	}
}

// want compares the spans of first attempts that ended since the last call: the kinds of the jobs with the attempt, the status, whether it failed, and
// the request that each follows from.
func (s *spans) want(t *testing.T, act string, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var got []string
	for _, span := range s.all {
		if span.Attempt > 1 {
			continue
		}
		got = append(got, fmt.Sprint(span.Name, " ", span.Attempt, " ", span.Status, " ", span.Failed, " ", span.RequestID))
		if span.Request || span.ProviderCode != "KOWHAI" || span.CheckoutID == "" || (span.EventID != "") != (span.Name == "deliver") ||
			span.Trace.ID() != callersTrace.ID() {
			t.Errorf("%s: the span is %+v", act, span)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%s: the spans are\n%s\nwant\n%s", act, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s.all = nil
}

// The attempts at the CRM, at the processor and at a receiver are spans in the trace of the request, whether the request or the
// scheduler makes them.
func TestEveryAttemptIsASpanInTheTraceOfItsRequest(t *testing.T) {
	s, spanned := withSpans()
	c, outside := withCRM()
	inWorld(t, func(t *testing.T, w *world) {
		ctx, subject := service.WithSubject(t.Context())
		subject.Trace = callersTrace
		w.lists(t, "checkout.created", "checkout.cancelled")
		o, err := w.Create(ctx, caller, create("ORDER-1"))
		must(t, err)
		s.want(t, "create", "deliver 1 204 false "+o.Checkout.RequestID, "open 1 0 false "+o.Checkout.RequestID)
		if sent := w.receiver.latest().Trace; sent.ID() != callersTrace.ID() || !strings.Contains(string(sent), spanID) {
			t.Errorf("the event is sent with the trace %q, want the span of its run", sent)
		}
		w.presses(t, o)
		w.receiver.answer = func(events.Delivery, int) error { return errors.New("it is away") }
		c.disturb(func(context.Context) error { return errors.New("it is away") }, nil)
		w.processor.set(checkout.Observation{BillingRequest: checkout.BillingPending})
		if _, err := w.Cancel(ctx, caller, o.Checkout.ID, checkout.Cancel{RequestID: "req_3", Reason: checkout.Some("wrong course")}); err != nil {
			t.Fatal(err)
		}
		w.runFor(t, 5*time.Second)
		s.want(t, "cancel", "cancel 1 0 false req_3", "deliver 1 0 true req_3", "end 1 0 true req_3")
		w.reports.take()
	}, outside, spanned)
}

func TestASpanEndsWhereItsAttemptPanics(t *testing.T) {
	s, spanned := withSpans()
	inWorld(t, func(t *testing.T, w *world) {
		o := w.begun(t, "ORDER-1")
		w.processor.disturbs = func(bool) error { panic("a fault") }
		ctx, subject := service.WithSubject(t.Context())
		subject.Trace = callersTrace
		s.all = nil
		_, err := w.Cancel(ctx, caller, o.Checkout.ID, checkout.Cancel{RequestID: "req_3", Reason: checkout.Some("wrong course")})
		must(t, err)
		w.runFor(t, 2*time.Second)
		s.want(t, "cancel", "cancel 1 0 true req_3")
		w.reports.take()
	}, spanned)
}
