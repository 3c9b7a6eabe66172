package breaker_test

import (
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
