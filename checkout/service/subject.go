package service

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// Subject is the place in a context in which a call notes the checkout that it is about.
type Subject struct {
	ClientRequestID string       // the caller's own id of the request, for the journal; "" without any
	Trace           events.Trace // of the request, for the events that it causes
	about           atomic.Pointer[checkout.About]
	ahead           atomic.Pointer[ahead]
	requestID       string // of the request that a job follows from
}

// ahead is the time by which the clock of a checkout is ahead.
type ahead struct {
	checkoutID string
	by         time.Duration
}

// mark puts on the moments of a change the caller's own id of the request.
func (s *Subject) mark(change checkout.Change) checkout.Change {
	change.Moments = s.markMoments(change.Moments)
	return change
}

// trace returns the trace of the request, or "".
func (s *Subject) trace() events.Trace {
	if s == nil {
		return ""
	}
	return s.Trace
}

func (s *Subject) markMoments(moments []checkout.Moment) []checkout.Moment {
	if s == nil || s.ClientRequestID == "" {
		return moments
	}
	moments = slices.Clone(moments)
	for i := range moments {
		moments[i].Detail = strings.TrimSpace(moments[i].Detail + " (the caller's request " + s.ClientRequestID + ")")
	}
	return moments
}

type subjectKey struct{}

// WithSubject returns a context in which the service's methods note the checkout that they are about: for the log line of a
// request.
func WithSubject(ctx context.Context) (context.Context, *Subject) {
	s := new(Subject)
	return context.WithValue(ctx, subjectKey{}, s), s
}

// withSubject returns a context in which calls note the checkout that they are about.
func withSubject(ctx context.Context) context.Context {
	if subjectOf(ctx) == nil {
		ctx, _ = WithSubject(ctx)
	}
	return ctx
}

// subjectOf returns the subject of a context, or nil.
func subjectOf(ctx context.Context) *Subject {
	s, _ := ctx.Value(subjectKey{}).(*Subject)
	return s
}

// About returns the checkout that was noted last.
func (s *Subject) About() checkout.About {
	if s != nil && s.about.Load() != nil {
		return *s.about.Load()
	}
	return checkout.About{}
}

// aheadBy returns the time by which the clock of the checkout that was noted last is ahead. It asks once.
func (s *Subject) aheadBy(ask func(checkout.About) time.Duration) time.Duration {
	about := s.About()
	if about.CheckoutID == "" {
		return 0
	}
	known := s.ahead.Load()
	if known == nil || known.checkoutID != about.CheckoutID {
		known = &ahead{about.CheckoutID, ask(about)}
		s.ahead.Store(known)
	}
	return known.by
}

// forgetAhead has the clock of the checkout asked for once more.
func (s *Subject) forgetAhead() {
	if s != nil {
		s.ahead.Store(nil)
	}
}

// concerns notes the checkout that a call is about.
func concerns(ctx context.Context, a checkout.About) {
	if s := subjectOf(ctx); s != nil {
		s.about.Store(&a)
	}
}
