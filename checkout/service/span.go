package service

import (
	"context"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// Span is a part of a trace: a request that is answered, or an attempt at a job. It has no personal data but, in a provider's own
// words, what About has. See Config.Span.
type Span struct {
	Request   bool         // not an attempt
	RequestID string       // of the request, or of the request that the job follows from; "" where that is not known
	Trace     events.Trace // of the span that it follows from, and once it has begun its own; "" without a traceparent

	// What follows may be set until the span ends.
	Name string // the method and the route, or the kind of the job
	checkout.About
	EventID string // of an event that is sent
	Attempt int    // at the job, from 1; 0 for a request
	Status  int    // of the answer to the request, or of the latest answer of the event's receiver; 0 without an answer
	Code    string // of the refusal, or ""
	Failed  bool
}

// span begins the span of an attempt at a job.
func (s *Service) span(l checkout.Lease) (span *Span, ended func()) {
	span = &Span{RequestID: l.Job.RequestID, Trace: l.Job.Trace, Name: string(l.Job.Kind), About: l.Job.About(), Attempt: l.Attempts + 1}
	return span, s.cfg.Span(span)
}

// traced returns the function that makes an attempt as a span.
func (s *Service) traced(attempt func(context.Context, checkout.Lease) error) func(context.Context, checkout.Lease) error {
	return func(ctx context.Context, l checkout.Lease) error {
		span, ended := s.span(l)
		defer ended()
		span.Failed = true // also where it panics
		err := attempt(ctx, l)
		span.Failed = err != nil
		return err
	}
}
