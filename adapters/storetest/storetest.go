// Package storetest holds every store to what package ports promises. The names of its
// cases are those promises. A failure that only one store shows is added here, not to that store.
package storetest

import (
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/ports"
)

// Open returns a new, empty store, closed by t.Cleanup.
type Open = func(t *testing.T) ports.Store

// Store runs the whole suite.
func Store(t *testing.T, open Open) {
	t.Run("checkouts", func(t *testing.T) { Checkouts(t, open) })
	t.Run("agreements", func(t *testing.T) { Agreements(t, open) })
	t.Run("outbox", func(t *testing.T) { Outbox(t, open) })
	t.Run("providers", func(t *testing.T) { Providers(t, open) })
	t.Run("keys", func(t *testing.T) { Keys(t, open) })
	t.Run("archive", func(t *testing.T) { Archive(t, open) })
	t.Run("readiness", func(t *testing.T) { Readiness(t, open) })
}

// promise is one case of the suite. It gets a store of its own.
type promise struct {
	name  string
	check func(t *testing.T, s ports.Store)
}

func run(t *testing.T, open Open, promises []promise) {
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) { p.check(t, open(t)) })
	}
}

// same reports what is not as it should be, with both values in full.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// must ends the test on an error of the call that is named.
func must(t *testing.T, call string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
}

// refused reports an error that is not the one that is wanted.
func refused(t *testing.T, call string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", call, err, want)
	}
}

// together calls f n times at once, and returns what each call returned.
func together(n int, f func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// oneWins reports if not exactly one of the calls succeeded, and the others failed as wanted.
func oneWins(t *testing.T, call string, errs []error, want error) (winner int) {
	t.Helper()
	winner = -1
	for i, err := range errs {
		switch {
		case err == nil && winner >= 0:
			t.Errorf("%s: calls %d and %d both succeeded", call, winner, i)
		case err == nil:
			winner = i
		default:
			refused(t, call, err, want)
		}
	}
	if winner < 0 {
		t.Fatalf("%s: none of %d calls succeeded", call, len(errs))
	}
	return winner
}
