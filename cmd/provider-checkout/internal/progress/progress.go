// Package progress shows a person at a terminal how far long work has come, on one line that is written again and again.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
)

// interval is the least time between two states of the line.
const interval = 200 * time.Millisecond

// Line is the line of progress of one piece of work. A nil Line shows nothing.
type Line struct {
	w  io.Writer
	mu sync.Mutex
	at time.Time // when it was written last
}

// On returns a line on w, or nil where w is not a terminal.
func On(w io.Writer) *Line {
	if !Terminal(w) {
		return nil
	}
	return &Line{w: w}
}

// Terminal reports whether what is written to w is shown to a person.
func Terminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// Show writes the state of the work in place of the former one, unless that was written a moment ago.
func (l *Line) Show(format string, args ...any) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.at) >= interval {
		l.at = now
		fmt.Fprintf(l.w, "\r\x1b[K"+format, args...) // to the start of the line, and clear it
	}
}

// End clears the line, so that a message may follow.
func (l *Line) End() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprint(l.w, "\r\x1b[K")
}

// Clock shows, once a second, for how long work without countable steps has run, until the function that it returns is
// called, which also ends the line.
func (l *Line) Clock(what string) (stop func()) {
	if l == nil {
		return func() {}
	}
	began, done := time.Now(), make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			l.Show("%s: %s", what, time.Since(began).Truncate(time.Second))
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		close(done)
		shown.Wait()
		l.End()
	}
}
