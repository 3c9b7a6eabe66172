// Package storetest tests a store against the promises of package ports, which its case names repeat: [Run] makes every call of
// [ports.Admin], and [Same] compares two stores by random calls. A failure that one store alone shows is added here, not to that store.
package storetest

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/ports"
)

// Opener opens the stores that are tested. Only Open is required.
type Opener struct {
	// Open returns a new, empty store, which is closed when the test ends. Jobs are due, and leases end, by now.
	Open func(t *testing.T, now func() time.Time) ports.Admin

	// Reopen returns another handle on a store of Open, as another process has it. Nil: the store belongs to one process.
	Reopen func(t *testing.T, s ports.Admin, now func() time.Time) ports.Admin

	// Pass lets time pass for a store with a clock of its own, which does not call now: it makes that clock run ahead or, which is
	// the same, every time of the jobs on record earlier. Nil: the store's clock is now.
	Pass func(t *testing.T, s ports.Admin, d time.Duration)

	// Damage makes something on record of a checkout unreadable. Nil: the store cannot be damaged.
	Damage func(t *testing.T, s ports.Admin, checkoutID string)
}

// Run tests a store against every promise of [ports.Admin]. Each case has a store of its own.
func Run(t *testing.T, o Opener) {
	group := func(name string, promises []promise) {
		t.Run(name, func(t *testing.T) {
			for _, p := range promises {
				t.Run(p.name, func(t *testing.T) { p.check(o.open(t)) })
			}
		})
	}
	group("checkouts", checkouts())
	group("updates", updates())
	group("agreements", agreements())
	group("entry", entry())
	group("arming", arming())
	group("queue", queue())
	group("lists", lists())
	group("journal", journal())
	group("retention", retention())
	group("configuration", configurations())
	group("keys", keys())
	group("desk", desk())
	group("export", exports())
	group("every method", everyMethod())
	if o.Pass == nil {
		group("clock", clock())
	}
	if o.Damage != nil {
		group("damage", []promise{{"an export goes on after a checkout of which something cannot be read", unreadable}})
	}
	if _, ok := o.open(t).Admin.(Sandbox); ok {
		group("sandbox", []promise{{"a record stays as it was first kept, until its name is dropped by a prefix", keepsSandbox}})
	}
}

// promise is a case of the suite.
type promise struct {
	name  string
	check func(*store)
}

// store is a store in a test.
type store struct {
	*testing.T
	ports.Admin
	opener Opener
	passed *atomic.Int64 // since the test began, in nanoseconds
}

// open opens a new store.
func (o Opener) open(t *testing.T) *store {
	s := &store{T: t, opener: o, passed: new(atomic.Int64)}
	s.Admin = o.Open(t, s.now)
	return s
}

// another returns the store as another process has it, or the same store if it belongs to one process.
func (s *store) another() *store {
	other := *s
	if s.opener.Reopen != nil {
		other.Admin = s.opener.Reopen(s.T, s.Admin, s.now)
	}
	return &other
}

// setClock reports whether the test sets the store's clock.
func (s *store) setClock() bool { return s.opener.Pass == nil }

// now returns the store's time.
func (s *store) now() time.Time {
	if !s.setClock() {
		return time.Now().UTC().Truncate(time.Millisecond)
	}
	return at(0).Add(time.Duration(s.passed.Load()))
}

// pass lets time pass.
func (s *store) pass(d time.Duration) {
	s.Helper()
	if s.passed.Add(int64(d)); !s.setClock() {
		s.opener.Pass(s.T, s.Admin, d)
	}
}

// margin is the time before a moment at which something is tested not to have happened: a millisecond, where the test sets the clock.
func (s *store) margin() time.Duration {
	if s.setClock() {
		return time.Millisecond
	}
	return 5 * time.Second
}

// sameTime reports a time of the store's clock that is another than expected; of a store's own clock only that it is missing.
func (s *store) sameTime(what string, got, want time.Time) {
	s.Helper()
	if s.setClock() && !got.Equal(want) || got.IsZero() != want.IsZero() {
		s.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// same reports a difference, with both values in full.
func (s *store) same(what string, got, want any) {
	s.Helper()
	if !reflect.DeepEqual(got, want) {
		s.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// must ends the test if a call returned an error.
func (s *store) must(call string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", call, err)
	}
}

// refused reports an error that is not the expected one.
func (s *store) refused(call string, err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("%s: got error %v, want %v", call, err, want)
	}
}

// get returns the value of a call's results, and ends the test if there is an error.
func get[T any](value T, err error) func(*store) T {
	return func(s *store) T {
		s.Helper()
		s.must("a call", err)
		return value
	}
}

// missing reports a call whose error is not ports.ErrNotFound.
func missing[T any](_ T, err error) func(s *store, call string) {
	return func(s *store, call string) {
		s.Helper()
		s.refused(call, err, ports.ErrNotFound)
	}
}

// many is the number of calls that are made at once.
const many = 16

// concurrently makes many calls at once, every second one by another process. It reports if not so many of them succeed, or another
// fails with an error other than refusal.
func (s *store) concurrently(call string, succeed int, refusal error, f func(s *store, i int) error) {
	s.Helper()
	processes := []*store{s, s.another()}
	errs := make([]error, many)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			<-start
			errs[i] = f(processes[i%2], i)
		})
	}
	close(start)
	wg.Wait()
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	s.same("number of "+call+" that succeed", many-len(errs), succeed)
	for _, err := range errs {
		s.refused(call, err, refusal)
	}
}
