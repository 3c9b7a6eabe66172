package service

import (
	"context"
	"sync/atomic"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Subject is the place in a context in which a call notes the checkout that it is about.
type Subject struct {
	about     atomic.Pointer[checkout.About]
	requestID string // of the request that a job follows from
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

// concerns notes the checkout that a call is about.
func concerns(ctx context.Context, a checkout.About) {
	if s := subjectOf(ctx); s != nil {
		s.about.Store(&a)
	}
}
