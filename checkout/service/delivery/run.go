// Package delivery makes the attempts to deliver an event: a run of them as the contract has it ([Run]).
package delivery

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Run is a run of attempts to deliver one event (contract, section 6). Every field is required but Made and Secrets.
type Run struct {
	Made int // attempts that runs which were cut short made: their numbers are not used again
	// Send makes the attempt of this number, as ports.Sender does.
	Send    func(ctx context.Context, attempt int) (checkout.Answer, error)
	Secrets []string // which no log of the attempts may have
	// Failed is called with every attempt that was made and failed, and reports whether the run goes on.
	Failed func(attempt int, err error) bool
	Now    func() time.Time
}

// Sign signs an event for a run with the secrets of its destination. If it has a trace, the run is a span of it.
func Sign(e events.Event, secrets []string, now time.Time, random io.Reader) events.Delivery {
	d := events.NewDelivery(e, secrets[0], now, secrets[1:]...)
	if e.Trace != "" {
		var span [8]byte
		if _, err := io.ReadFull(random, span[:]); err == nil { // without randomness an event matters more than its trace
			d.Trace = e.Trace.Child(span)
		}
	}
	return d
}

// Attempt makes attempts at the contract's delays until one is taken or all are used up. The event stays pending if ctx ends
// before that, Failed says so, or the sender had no room for the attempt. A destination that may not be sent to is a failure
// at once: no request was made, so it is no attempt.
func (r Run) Attempt(ctx context.Context) checkout.Outcome {
	var outcome checkout.Outcome
	ended := func(state checkout.JobState) checkout.Outcome {
		outcome.State = state
		return outcome
	}
	for n := r.Made + 1; n <= events.MaxAttempts; n++ {
		if n > r.Made+1 && !wait(ctx, events.Delay(n)) || ctx.Err() != nil {
			return ended(checkout.JobPending)
		}
		began := r.Now()
		answer, err := r.Send(ctx, n)
		switch {
		case errors.Is(err, ports.ErrBusy):
			return ended(checkout.JobPending)
		case errors.Is(err, ports.ErrProhibited):
			outcome.Failure = checkout.FailureOf(err, r.Now())
			return ended(checkout.JobDead)
		}
		outcome.Attempts++
		made := checkout.Attempt{At: began, Number: n, Took: r.Now().Sub(began), Status: answer.Status, Answer: answer.Masked(r.Secrets...)}
		if err == nil {
			outcome.Log = append(outcome.Log, made)
			return ended(checkout.JobDone)
		}
		outcome.Failure = checkout.FailureOf(err, r.Now())
		made.Failure = outcome.Failure.Reason
		outcome.Log = append(outcome.Log, made)
		if ctx.Err() != nil {
			return ended(checkout.JobPending)
		}
		if !r.Failed(n, err) && n < events.MaxAttempts {
			return ended(checkout.JobPending)
		}
	}
	return ended(checkout.JobDead)
}

// wait waits, and reports whether ctx lasted as long.
func wait(ctx context.Context, d time.Duration) bool {
	pause, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-pause.Done()
	return ctx.Err() == nil
}
