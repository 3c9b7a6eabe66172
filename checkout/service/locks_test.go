package service

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Holders of one lock come one after the other, another name does not wait for them, and nothing is left behind.
func TestOneHoldsALockAtATimeAndNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l locks
		start := time.Now()
		var all sync.WaitGroup
		for n := range 40 {
			all.Go(func() {
				unlock, _, err := l.lock(t.Context(), []string{"a", "b"}[n%2])
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Millisecond)
				unlock()
			})
		}
		all.Wait()
		if took := time.Since(start); took != 20*time.Millisecond || len(l.held) != 0 {
			t.Errorf("twenty holders of a millisecond each took %s, and %d locks are remembered; want 20ms, and none", took, len(l.held))
		}
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
