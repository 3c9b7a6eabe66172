package bounded_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout/service/bounded"
)

func TestTheLatestEntriesAreKeptAndMemoryIsBounded(t *testing.T) {
	const size = 100
	m := bounded.New[int, int](size)
	for i := range 10 * size {
		m.Put(i, -i)
		for j := max(0, i-size+1); j <= i; j++ {
			if v, ok := m.Get(j); !ok || v != -j {
				t.Fatalf("after %d: Get(%d) = %d, %v; want one of the latest %d", i, j, v, ok, size)
			}
		}
		kept := 0
		for j := range i + 1 {
			if _, ok := m.Get(j); ok {
				kept++
			}
		}
		if kept > 2*size {
			t.Fatalf("%d entries are kept, want at most %d", kept, 2*size)
		}
	}
	if _, ok := m.Get(0); ok {
		t.Error("the first of all is still kept")
	}
}

func TestUseKeepsWhatIsUsed(t *testing.T) {
	const size = 10
	m := bounded.New[int, *int](size)
	created := 0
	create := func() *int { created++; return new(int) }
	first := m.Use(-1, create)
	for i := range 10 * size {
		m.Put(i, nil)
		if got := m.Use(-1, create); got != first {
			t.Fatalf("after %d the value in use was made again", i)
		}
	}
	if created != 1 {
		t.Errorf("created %d times, want once", created)
	}
}

func TestPutReplacesAndTakesNoRoomTwice(t *testing.T) {
	m := bounded.New[string, int](2)
	m.Put("a", 1)
	for n := range 10 {
		m.Put("b", n)
	}
	for key, want := range map[string]int{"a": 1, "b": 9} {
		if v, ok := m.Get(key); v != want || !ok {
			t.Errorf("%s = %d, %v; want %d", key, v, ok, want)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	m := bounded.New[int, int](8)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 1000 {
				m.Put(i%32, g)
				m.Get(i % 32)
				m.Use(i%32, func() int { return g })
			}
		})
	}
	all.Wait()
}

func TestACacheReadsAgainWhenItsLifeIsOver(t *testing.T) {
	reads := 0
	read := func() (int, error) { reads++; return reads, nil }
	c := bounded.NewCache[string, int](time.Second, 10)
	start := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		at   time.Duration
		want int
	}{
		{0, 1}, {999 * time.Millisecond, 1}, {time.Second, 2}, {1500 * time.Millisecond, 2},
		{-time.Hour, 3}, // the clock was set back: nothing may be kept for an hour longer
	} {
		if got, _ := c.Get(start.Add(step.at), "key", read); got != step.want {
			t.Errorf("after %s: read %d, want %d", step.at, got, step.want)
		}
	}
}

func TestACacheKeepsNoErrors(t *testing.T) {
	c := bounded.NewCache[string, int](time.Hour, 10)
	now := time.Now()
	if _, err := c.Get(now, "key", func() (int, error) { return 0, errors.New("not found") }); err == nil {
		t.Error("the caller did not get the error")
	}
	if got, err := c.Get(now, "key", func() (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("got %d, %v after an error; want what is read now", got, err)
	}
}
