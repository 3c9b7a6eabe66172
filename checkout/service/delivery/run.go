// Package delivery makes the attempts to deliver an event: a run of them as the contract has it ([Run]).
package delivery

import (
	"context"
	"errors"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Run is a run of attempts to deliver one event (contract, section 6). Every field is required but Made.
type Run struct {
	Made int // attempts that runs which were cut short made: their numbers are not used again
	// Send makes the attempt of this number, as ports.Sender does.
	Send func(ctx context.Context, attempt int) error
	// Failed is called with every attempt that was made and failed, and reports whether the run goes on.
	Failed func(attempt int, err error) bool
	Now    func() time.Time
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
		err := r.Send(ctx, n)
		switch {
		case errors.Is(err, ports.ErrBusy):
			return ended(checkout.JobPending)
		case errors.Is(err, ports.ErrProhibited):
			outcome.Failure = checkout.FailureOf(err, r.Now())
			return ended(checkout.JobDead)
		}
		outcome.Attempts++
		if err == nil {
			return ended(checkout.JobDone)
		}
		outcome.Failure = checkout.FailureOf(err, r.Now())
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
