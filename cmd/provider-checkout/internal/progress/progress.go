// Package progress shows a person at a terminal how far long work has come, on one line that is written again and again.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"
)

// interval is the least time between two states of the line.
const interval = 200 * time.Millisecond

// Line is the line of progress of one piece of work. A nil Line shows nothing.
type Line struct {
	w  io.Writer
	at time.Time // of the latest writing
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
	if now := time.Now(); now.Sub(l.at) >= interval {
		l.at = now
		fmt.Fprintf(l.w, "\r\x1b[K"+format, args...) // to the start of the line, and clear it
	}
}

// End clears the line, so that a message may follow.
func (l *Line) End() {
	if l != nil {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}
