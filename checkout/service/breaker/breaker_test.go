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
		if !b.Allow(start) || b.Open() {
			t.Fatalf("open after %d failures", n)
		}
		b.Done(false, start)
	}
	return &b
}

func TestOpensAfterFiveFailuresInARow(t *testing.T) {
	if b := opened(t); b.Allow(start) || !b.Open() {
		t.Error("closed after 5 failures")
	}
}

func TestAnAnswerInBetweenKeepsItClosed(t *testing.T) {
	var b breaker.Breaker
	for n := range 100 {
		b.Done(n%5 == 4, start)
	}
	if !b.Allow(start) || b.Open() {
		t.Error("open, though every fifth call was answered")
	}
}

func TestOneCallASecondIsLetThroughWhileItIsOpen(t *testing.T) {
	b := opened(t)
	allowed := 0
	for ms := range 10_000 {
		now := start.Add(time.Duration(ms+1) * time.Millisecond)
		if b.Allow(now) {
			allowed++
			b.Done(false, now)
		}
	}
	if allowed != 10 {
		t.Errorf("%d calls were let through in 10 seconds, want 10", allowed)
	}
}

func TestACallThatIsNotMadeIsLeftToTheNext(t *testing.T) {
	b := opened(t)
	now := start.Add(time.Second)
	for range 3 {
		if !b.Allow(now) {
			t.Fatal("no call is let through, though none was made")
		}
		b.Unused()
	}
	if !b.Allow(now) || b.Allow(now) {
		t.Error("want one call to be let through")
	}
}

func TestAnAnswerClosesIt(t *testing.T) {
	b := opened(t)
	now := start.Add(time.Second)
	if !b.Allow(now) {
		t.Fatal("no call is let through after a second")
	}
	b.Done(true, now)
	if b.Open() || !b.Allow(now) || !b.Allow(now) {
		t.Error("still open after an answer")
	}
}
