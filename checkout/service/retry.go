package service

import (
	"context"
	"iter"
	"time"
)

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
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
