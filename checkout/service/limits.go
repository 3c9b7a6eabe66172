package service

import (
	"context"
	"iter"
	"time"
)

// withTimeout is the context of a call that only reads: it ends with the caller, or when waitLimit is over.
func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, waitLimit)
}

// detached is the context of a call that changes something: it continues when the caller hangs up, so
// that what was begun is completed or fails as a whole.
func detached(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}

// within calls a port, for a limited time. A panic in it is an error.
func within(ctx context.Context, limit time.Duration, call func(context.Context) error) (err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return call(ctx)
}

// retryStep is the growth of the pause before each further attempt of a call.
const retryStep = 10 * time.Millisecond

// attempts counts attempts until ctx ends, with a pause before each after the second.
func attempts(ctx context.Context) iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := 0; sleep(ctx, max(0, time.Duration(n-1)*retryStep)) == nil && yield(n); n++ {
		}
	}
}

// sleep waits, or ends early with ctx.
func sleep(ctx context.Context, d time.Duration) error {
	pause, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-pause.Done()
	return ctx.Err()
}
