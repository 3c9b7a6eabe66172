package httpserver

import (
	"io"
	"sync/atomic"
	"time"
)

// maxLines is the number of lines that wait for a reader.
const maxLines = 4096

// Lines passes what is written to another writer, a line each, and never makes anybody wait: a line is lost where the reader of that
// writer is too slow, stuck or gone. It is safe for concurrent use.
type Lines struct {
	waiting chan []byte
	lost    atomic.Int64
	flush   chan chan struct{}
}

// NewLines returns a Lines over w, to which it writes until the process ends.
func NewLines(w io.Writer) *Lines {
	l := &Lines{waiting: make(chan []byte, maxLines), flush: make(chan chan struct{})}
	go l.run(w)
	return l
}

func (l *Lines) run(w io.Writer) {
	for {
		select {
		case line := <-l.waiting:
			l.pass(w, line)
		case done := <-l.flush:
			for range len(l.waiting) {
				l.pass(w, <-l.waiting)
			}
			close(done)
		}
	}
}

func (l *Lines) pass(w io.Writer, line []byte) {
	if _, err := w.Write(line); err != nil {
		l.lost.Add(1)
	}
}

// Write takes a line. It never fails.
func (l *Lines) Write(line []byte) (int, error) {
	select {
	case l.waiting <- append([]byte(nil), line...):
	default:
		l.lost.Add(1)
	}
	return len(line), nil
}

// Lost returns the number of lines that were lost.
func (l *Lines) Lost() int64 { return l.lost.Load() }

// Flush waits until the lines that were written are passed on, but no longer than limit.
func (l *Lines) Flush(limit time.Duration) {
	end := time.NewTimer(limit)
	defer end.Stop()
	done := make(chan struct{})
	select {
	case l.flush <- done:
	case <-end.C:
		return
	}
	select {
	case <-done:
	case <-end.C:
	}
}
