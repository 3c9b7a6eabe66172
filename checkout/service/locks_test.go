package service

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestOneHoldsALockAtATimeAndNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l locks
		holding := map[string]int{}
		var mu sync.Mutex
		change := func(name string, by int) {
			mu.Lock()
			defer mu.Unlock()
			if holding[name] += by; holding[name] > 1 {
				t.Errorf("%d hold %q", holding[name], name)
			}
		}
		var all sync.WaitGroup
		for _, name := range []string{"a", "b"} {
			for range 20 {
				all.Go(func() {
					unlock, _, err := l.lock(t.Context(), name)
					if err != nil {
						t.Error(err)
						return
					}
					change(name, 1)
					time.Sleep(time.Millisecond)
					change(name, -1)
					unlock()
				})
			}
		}
		start := time.Now()
		all.Wait()
		if took := time.Since(start); took != 20*time.Millisecond {
			t.Errorf("twenty holders of a millisecond each took %s, want 20ms: two names do not wait for one another", took)
		}
		if len(l.held) != 0 {
			t.Errorf("%d locks are remembered, want none", len(l.held))
		}
	})
}

func TestWhoCannotWaitGetsNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l locks
		unlock, waited, err := l.lock(t.Context(), "a")
		if err != nil || waited {
			t.Fatalf("a free lock: waited %v, %v", waited, err)
		}
		waiting, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, waited, err := l.lock(waiting, "a"); !waited || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a held lock: waited %v, %v; want %v", waited, err, context.DeadlineExceeded)
		}
		unlock()
		if _, _, err := l.lock(waiting, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a free lock, too late: %v, want %v", err, context.DeadlineExceeded)
		}
		if len(l.held) != 0 {
			t.Errorf("%d locks are remembered, want none", len(l.held))
		}
		again, _, err := l.lock(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		again()
	})
}

// A caller may give up in the moment in which it gets the lock.
func TestWhoGivesUpGivesTheLockBack(t *testing.T) {
	l := locks{holders: 2}
	unlock, _, err := l.lock(t.Context(), "a") // so that the lock is remembered
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		if _, _, err := l.lock(ended, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("a lock for who has given up: %v, want %v", err, context.Canceled)
		}
	}
	patient, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	second, waited, err := l.lock(patient, "a")
	if err != nil || waited {
		t.Fatalf("the second of two holders: waited %v, %v", waited, err)
	}
	second()
	unlock()
}
