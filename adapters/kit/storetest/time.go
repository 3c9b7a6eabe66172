package storetest

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/ports"
)

// began is the time at which time stands still in every case, so that no lease ends in the middle of a case because the
// machine is slow.
var began = time.Now().UTC().Truncate(time.Millisecond)

// now returns the time at which a case begins, by the clock of the callers.
func now() time.Time { return began }

// Timed is a store that a case tells how much time passes. A store on whose own clock leases depend has to be one.
type Timed interface {
	ports.Admin
	// Now returns the time by the clock of the store and of its callers.
	Now() time.Time
	// Pass sets that clock forward.
	Pass(t *testing.T, d time.Duration)
}

// timed is a store on which the clock of its callers decides.
type timed struct {
	ports.Admin
	passed time.Duration
}

func (s *timed) Now() time.Time                     { return began.Add(s.passed) }
func (s *timed) Pass(_ *testing.T, d time.Duration) { s.passed += d }

// Began returns the time at which each case begins.
func Began() time.Time { return began }

// timeOf returns the time by the clock of the store and of its callers.
func timeOf(s ports.Admin) time.Time {
	if c, ok := s.(Timed); ok {
		return c.Now()
	}
	return began
}

// pass lets time pass in a case that [run] runs.
func pass(t *testing.T, s ports.Admin, d time.Duration) {
	t.Helper()
	s.(Timed).Pass(t, d)
}
