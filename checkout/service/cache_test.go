package service

import (
	"errors"
	"testing"
	"time"
)

func TestACacheReadsAgainWhenItsLifeIsOver(t *testing.T) {
	reads := 0
	read := func() (int, error) { reads++; return reads, nil }
	c := newCache[string, int](time.Second)
	start := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		at   time.Duration
		want int
	}{
		{0, 1}, {999 * time.Millisecond, 1}, {time.Second, 2}, {1500 * time.Millisecond, 2},
		{-time.Hour, 3}, // the clock was set back: nothing may be kept for an hour longer
	} {
		if got, _ := c.get(start.Add(step.at), "key", read); got != step.want {
			t.Errorf("after %s: read %d, want %d", step.at, got, step.want)
		}
	}
}

func TestACacheKeepsNoErrors(t *testing.T) {
	c := newCache[string, int](time.Hour)
	now := time.Now()
	if _, err := c.get(now, "key", func() (int, error) { return 0, errors.New("not found") }); err == nil {
		t.Error("the caller did not get the error")
	}
	if got, err := c.get(now, "key", func() (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("got %d, %v after an error; want what is read now", got, err)
	}
}
