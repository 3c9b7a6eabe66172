// Package storetest tests every store against what package ports promises: [Store] runs the whole suite, whose case
// names are those promises, and [Notifications] that of another port. A failure that only one store shows is added here,
// not to that store. [Opening] is for a store that outlives its process. [Same] compares two stores by random calls.
package storetest

import (
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/ports"
)

// Open returns a new, empty store. It is closed by t.Cleanup.
type Open = func(t *testing.T) ports.Admin

// Store tests a store against every promise of [ports.Admin].
func Store(t *testing.T, open Open) {
	t.Run("checkouts", func(t *testing.T) { Checkouts(t, open) })
	t.Run("updates", func(t *testing.T) { Updates(t, open) })
	t.Run("idempotency", func(t *testing.T) { Idempotency(t, open) })
	t.Run("setups", func(t *testing.T) { Setups(t, open) })
	t.Run("steps", func(t *testing.T) { Steps(t, open) })
	t.Run("agreements", func(t *testing.T) { Agreements(t, open) })
	t.Run("evidence", func(t *testing.T) { Evidence(t, open) })
	t.Run("privacy", func(t *testing.T) { Privacy(t, open) })
	t.Run("operations", func(t *testing.T) { Operations(t, open) })
	t.Run("outbox", func(t *testing.T) { Outbox(t, open) })
	t.Run("deliveries", func(t *testing.T) { Deliveries(t, open) })
	t.Run("notices", func(t *testing.T) { Notices(t, open) })
	t.Run("providers", func(t *testing.T) { Providers(t, open) })
	t.Run("keys", func(t *testing.T) { Keys(t, open) })
	t.Run("export", func(t *testing.T) { Export(t, open) })
	t.Run("readiness", func(t *testing.T) { Readiness(t, open) })
}

// promise is one case of the suite. It gets a store of its own.
type promise struct {
	name  string
	check func(t *testing.T, s ports.Admin)
}

func run(t *testing.T, open Open, promises []promise) {
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) { p.check(t, open(t)) })
	}
}

// same reports a difference, with both values in full.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// must ends the test if the named call returned an error.
func must(t *testing.T, call string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
}

// refused reports an error that is not the wanted one.
func refused(t *testing.T, call string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", call, err, want)
	}
}

// concurrently calls f n times at once, and returns the error of each call.
func concurrently(n int, f func(i int) error) []error {
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

// oneWins reports if not exactly one of the calls succeeded, or another failed with an error other than want. It
// returns the index of the one that succeeded.
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

// panics reports unless f panics with the value.
func panics(t *testing.T, want any, f func()) {
	t.Helper()
	defer func() {
		if got := recover(); got != want {
			t.Errorf("recovered %v, want the panic %v", got, want)
		}
	}()
	f()
}
