package breaker_test

import (
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout/service/breaker"
)

var start = time.Date(2026, time.November, 20, 4, 0, 0, 0, time.UTC)

func opened(t *testing.T) *breaker.Breaker {
	t.Helper()
	var b breaker.Breaker
	for n := range 5 {
		if b.Open() || b.Probe(start.Add(time.Hour)) {
			t.Fatalf("open after %d failures", n)
		}
		b.Done(false, start)
	}
	return &b
}

func TestOpensAfterFiveFailuresInARow(t *testing.T) {
	if b := opened(t); !b.Open() {
		t.Error("closed after 5 failures")
	}
}

func TestAnAnswerInBetweenKeepsItClosed(t *testing.T) {
	var b breaker.Breaker
	for n := range 100 {
		b.Done(n%5 == 4, start)
	}
	if b.Open() {
		t.Error("open, though every fifth call was answered")
	}
}

func TestOneProbeASecondIsMadeWhileItIsOpen(t *testing.T) {
	b := opened(t)
	probes := 0
	for ms := range 10_000 {
		now := start.Add(time.Duration(ms+1) * time.Millisecond)
		if b.Probe(now) {
			probes++
			b.Done(false, now)
		}
	}
	if probes != 10 {
		t.Errorf("%d probes in 10 seconds, want 10", probes)
	}
}

func TestProbesGrowRareUntilTheLongestPause(t *testing.T) {
	b := breaker.New(5*time.Second, 30*time.Second)
	now := start
	fail := func() { b.Done(false, now) }
	for range 2 { // the second time as the first
		for range 5 {
			fail()
		}
		var pauses []int
		for since := 0; len(pauses) < 6; since++ {
			if b.Probe(now) {
				pauses = append(pauses, since)
				since = 0
				fail()
			}
			now = now.Add(time.Second)
		}
		if want := []int{5, 10, 20, 30, 30, 30}; !slices.Equal(pauses, want) {
			t.Errorf("probes after pauses of %d s, want %d", pauses, want)
		}
		b.Done(true, now)
	}
}

func TestAnAnswerClosesIt(t *testing.T) {
	b := opened(t)
	now := start.Add(time.Second)
	if !b.Probe(now) {
		t.Fatal("no probe after a second")
	}
	b.Done(true, now)
	if b.Open() {
		t.Error("still open after an answer")
	}
}

// A clock that is set back keeps nothing away for longer: there is a probe at once, and then again after the pauses.
func TestAClockThatStepsBackDelaysNoProbe(t *testing.T) {
	b := opened(t)
	back := start.Add(-time.Hour)
	if !b.Probe(back) {
		t.Error("no probe after the clock was set back by an hour")
	}
	b.Done(false, back)
	if b.Probe(back.Add(500*time.Millisecond)) || !b.Probe(back.Add(time.Second)) {
		t.Error("the probe after that is not a second later")
	}
}
