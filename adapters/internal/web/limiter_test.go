package web_test

import (
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
)

func TestLimiterAllowsABurstAndThenTheRate(t *testing.T) {
	c := newClock()
	l := web.NewLimiter(5, c.Now)
	for i := range 10 {
		if _, ok := l.Allow("key"); !ok {
			t.Fatalf("request %d of a burst of 10 was refused", i+1)
		}
	}
	for range 3 { // a refusal costs nothing: the wait stays the same
		if wait, ok := l.Allow("key"); ok || wait != 200*time.Millisecond {
			t.Fatalf("Allow = %v, %v; want a wait of 200ms", wait, ok)
		}
	}
	if _, ok := l.Allow("another"); !ok {
		t.Error("one name's burst was charged to another")
	}
	c.Advance(200 * time.Millisecond)
	if wait, ok := l.Allow("key"); !ok {
		t.Errorf("refused with a wait of %v after the wait that was asked for", wait)
	}
	if _, ok := l.Allow("key"); ok {
		t.Error("two requests in the time of one")
	}
}

func TestLimiterOfLessThanOneASecond(t *testing.T) {
	c := newClock()
	l := web.NewLimiter(0.1, c.Now)
	if _, ok := l.Allow("key"); !ok {
		t.Fatal("the first request was refused")
	}
	if wait, ok := l.Allow("key"); ok || wait != 10*time.Second {
		t.Errorf("Allow = %v, %v; want a wait of 10s", wait, ok)
	}
}

func TestLimiterCountsConcurrentRequestsOnce(t *testing.T) {
	l := web.NewLimiter(50, newClock().Now)
	var mu sync.Mutex
	allowed := 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if _, ok := l.Allow("key"); ok {
					mu.Lock()
					allowed++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if allowed != 100 {
		t.Errorf("%d requests were allowed at once, want the burst of 100", allowed)
	}
}
