package service

import (
	"context"
	"sync/atomic"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// About names the checkout that a call, a failure or a moment is about, as far as it is known.
type About struct {
	CheckoutID, OrderID, ProviderCode string
}

func aboutCheckout(c checkout.Checkout) About { return About{c.ID, c.OrderID, c.ProviderCode} }

func aboutJob(j checkout.Job) About { return About{j.CheckoutID, j.OrderID, j.ProviderCode} }

// Subject is the place in a context in which a call notes the checkout that it is about.
type Subject struct{ about atomic.Pointer[About] }

type subjectKey struct{}

// WithSubject returns a context in which the service's methods note the checkout that they are about: for the log line of a
// request.
func WithSubject(ctx context.Context) (context.Context, *Subject) {
	s := new(Subject)
	return context.WithValue(ctx, subjectKey{}, s), s
}

// withSubject returns a context in which calls note the checkout that they are about.
func withSubject(ctx context.Context) context.Context {
	if _, ok := ctx.Value(subjectKey{}).(*Subject); ok {
		return ctx
	}
	ctx, _ = WithSubject(ctx)
	return ctx
}

// About returns the checkout that was noted last.
func (s *Subject) About() About {
	if a := s.about.Load(); a != nil {
		return *a
	}
	return About{}
}

// concerns notes the checkout that a call is about.
func concerns(ctx context.Context, a About) {
	if s, ok := ctx.Value(subjectKey{}).(*Subject); ok {
		s.about.Store(&a)
	}
}

// subjectOf returns the checkout that was noted in the context.
func subjectOf(ctx context.Context) About {
	if s, ok := ctx.Value(subjectKey{}).(*Subject); ok {
		return s.About()
	}
	return About{}
}
