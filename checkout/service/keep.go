package service

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// keepLimit limits the wait of sealing for Hooks.Checkpoint.
const keepLimit = 5 * time.Second

// keeper passes checkpoints to Hooks.Checkpoint, one at a time: its caller has the sealer's turn. A disk that hangs, or a host that
// cannot be reached, holds up no sealing.
type keeper struct {
	*Service
	passed  []byte        // the latest that was passed
	running chan struct{} // closed when the call that was not waited for returns; nil without such a call
}

// keep passes the newest checkpoint, unless it was passed, or the call before it still runs.
func (k *keeper) keep(ctx context.Context, newest []byte) {
	hook := k.cfg.Hooks.Checkpoint
	if hook == nil || len(newest) == 0 || bytes.Equal(newest, k.passed) || k.calling() {
		return
	}
	k.passed = newest
	returned := make(chan struct{})
	// A write that hangs in the operating system cannot be ended, so that this goroutine is waited for as long as keepLimit
	// only: there is never more than one.
	go func() {
		defer close(returned)
		ctx, cancel := context.WithTimeout(ctx, keepLimit)
		defer cancel()
		k.call(ctx, func() { hook(ctx, newest) })
	}()
	late := time.NewTimer(keepLimit)
	defer late.Stop()
	select {
	case <-returned:
	case <-late.C:
		k.running = returned
		k.failed(ctx, Failure{Operation: OperationHook, Severity: Error,
			Err: fmt.Errorf("the checkpoint is not kept after %s: sealing goes on, and later checkpoints wait until it is", keepLimit)})
	}
}

// calling reports whether a call that was not waited for still runs.
func (k *keeper) calling() bool {
	if k.running == nil {
		return false
	}
	select {
	case <-k.running:
		k.running = nil
	default:
	}
	return k.running != nil
}
