package service_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// kept records the calls of the hook.
type kept struct {
	mu    sync.Mutex
	sizes []int64       // of the checkpoints
	hangs chan struct{} // a call waits for it; nil if it does not
}

func (k *kept) hook(keys evidence.Keys) func(context.Context, []byte) {
	return func(_ context.Context, signed []byte) {
		c, err := keys.Open(signed)
		if err != nil {
			panic(err)
		}
		k.mu.Lock()
		k.sizes = append(k.sizes, c.Size)
		hangs := k.hangs
		k.mu.Unlock()
		if hangs != nil {
			<-hangs
		}
	}
}

func (k *kept) all() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return fmt.Sprint(k.sizes)
}

func (k *kept) hang(on chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hangs = on
}

// keeping has a service seal the evidence log and keep its checkpoints.
func keeping(t *testing.T) (*kept, func(*service.Config)) {
	k := &kept{}
	sign := signing(t)
	return k, func(c *service.Config) {
		sign(c)
		c.Checkpoint = k.hook(c.Evidence)
	}
}

// A file on a disk that hangs must not keep what is agreed from being sealed.
func TestAHookThatHangsHoldsUpNoSealing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, change := keeping(t)
		w := newWorld(t, change)
		hung := make(chan struct{})
		k.hang(hung)
		w.record(t, w.config.Keyring.Attest(unattested("0", w.clock.now())))
		defer w.background(t)()
		for i := 1; i < 3; i++ {
			time.Sleep(20 * time.Second)
			w.record(t, w.config.Keyring.Attest(unattested(fmt.Sprint(i), w.clock.now())))
		}
		time.Sleep(20 * time.Second)
		if ids := w.sealedIDs(t); len(ids) != 3 {
			t.Errorf("sealed are %q, want all three", ids)
		}
		if got := k.all(); got != "[1]" {
			t.Errorf("while the first call hangs, the checkpoints %s were passed, want the first", got)
		}
		if got := w.reports.take(); len(got) != 1 || got[0].Operation != service.OperationHook || !strings.Contains(got[0].Err.Error(), "not kept after 5s") {
			t.Errorf("reported %+v, want once that it hangs", got)
		}
		k.hang(nil)
		close(hung)
		time.Sleep(10 * time.Second)
		if got := k.all(); got != "[1 3]" {
			t.Errorf("the checkpoints %s were passed, want the newest when the call returned", got)
		}
	})
}

// Each process has a file of its own, and the process that seals may be another each time.
func TestEveryProcessKeepsTheNewestCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, change := keeping(t)
		w := newWorld(t, change)
		w.record(t, w.config.Keyring.Attest(unattested("1", w.clock.now())))
		w.runFor(t, time.Minute)
		second, change := keeping(t)
		change(&w.config)
		w = w.again(t)
		w.runFor(t, time.Minute)
		if first.all() != "[1]" || second.all() != "[1]" {
			t.Errorf("the process that sealed kept %s, and another one %s; want both the checkpoint, once", first.all(), second.all())
		}
	})
}
