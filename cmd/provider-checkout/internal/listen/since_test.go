package listen

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestNoEventOfBeforeSinceIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("aabaa")
		cfg := w.config()
		cfg.Since = w.list[2].event.CreatedAt
		if err := w.listens(t, cfg, time.Minute); err != nil {
			t.Fatal(err)
		}
		if want := w.ids("")[2:]; !slices.Equal(w.got, want) {
			t.Errorf("taken %q, want %q", w.got, want)
		}
	})
}

func TestWithoutSinceOnlyNewEventsAreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("aaaaa") // of which some are of this second, or ahead of the clock
		cfg := w.config()
		cfg.Since = time.Time{}
		time.AfterFunc(10*time.Second, func() {
			w.adding.Lock()
			defer w.adding.Unlock()
			w.list = append(w.list, newWorld("b").list...)
		})
		if err := w.listens(t, cfg, time.Minute); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.got, w.ids("b")) {
			t.Errorf("taken %q, want %q", w.got, w.ids("b"))
		}
	})
}
