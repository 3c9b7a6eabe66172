// Package storetest tests every store against what package ports promises: [Store] runs the whole suite, whose case
// names are those promises. A failure that only one store shows is added here, not to that store. [CallersClock] or
// [OwnClock] is the suite of a store's clock, [Opening] that of a store that outlives its process, and [Same] compares two
// stores by random calls.
package storetest

import (
	"errors"
	"reflect"
	"slices"
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
	t.Run("agreements", func(t *testing.T) { Agreements(t, open) })
	t.Run("jobs", func(t *testing.T) { Jobs(t, open) })
	t.Run("leases", func(t *testing.T) { Leases(t, open) })
	t.Run("settlements", func(t *testing.T) { Settlements(t, open) })
	t.Run("journal", func(t *testing.T) { Journal(t, open) })
	t.Run("lists", func(t *testing.T) { Lists(t, open) })
	t.Run("privacy", func(t *testing.T) { Privacy(t, open) })
	t.Run("operations", func(t *testing.T) { Operations(t, open) })
	t.Run("providers", func(t *testing.T) { Providers(t, open) })
	t.Run("keys", func(t *testing.T) { Keys(t, open) })
	t.Run("desk", func(t *testing.T) { Desk(t, open) })
	t.Run("export", func(t *testing.T) { Export(t, open) })
	t.Run("every method", func(t *testing.T) { Every(t, open) })
}

// promise is one case of the suite. It gets a store of its own.
type promise struct {
	name  string
	check func(t *testing.T, s ports.Admin)
}

func run(t *testing.T, open Open, promises []promise) {
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) {
			s := open(t)
			if _, own := s.(Timed); !own {
				s = &timed{Admin: s}
			}
			p.check(t, s)
		})
	}
}

// same reports a difference, with both values in full.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// result returns the value of a call's results, and ends the test if there is an error.
func result[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// gets returns a check of a call's results: the value is want, and there is no error.
func gets(t *testing.T, call string, want any) func(got any, err error) {
	t.Helper()
	return func(got any, err error) {
		t.Helper()
		must(t, call, err)
		same(t, call, got, want)
	}
}

// missing returns a check of a call's results: the error is ports.ErrNotFound.
func missing(t *testing.T, call string) func(_ any, err error) {
	t.Helper()
	return func(_ any, err error) {
		t.Helper()
		refused(t, call, err, ports.ErrNotFound)
	}
}

// sameSet reports a difference between two lists in any order.
func sameSet(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	same(t, what, slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
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

// counts returns a check of a call's results: a list of n, and no error.
func counts(t *testing.T, call string, n int) func(list any, err error) {
	t.Helper()
	return func(list any, err error) {
		t.Helper()
		must(t, call, err)
		same(t, call+": number", reflect.ValueOf(list).Len(), n)
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

// allSucceed calls f n times at once, and ends the test if a call returned an error.
func allSucceed(t *testing.T, call string, n int, f func(i int) error) {
	t.Helper()
	for _, err := range concurrently(n, f) {
		must(t, call, err)
	}
}

// oneWins reports if not exactly one of the calls succeeded, or another failed with an error other than want. It
// returns the index of the call that succeeded.
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
