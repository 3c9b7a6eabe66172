package site

import (
	"io"
	"sync"
)

// maxUnwritten is how many bytes of the log may wait for a slow reader of stderr before whoever
// logs waits too.
const maxUnwritten = 1 << 20

// LogWriter writes the log from a goroutine of its own, so that no request waits for stderr: what
// is logged while one piece is being written goes into the next. Only a kill that cannot be
// caught loses the lines of the last moment.
type LogWriter struct {
	to   io.Writer
	done chan struct{}

	mu      sync.Mutex
	changed *sync.Cond // unwritten grew or shrank, or closed
	lines   []byte
	closed  bool
}

// NewLogWriter returns a writer in front of to. Close it to write what is left.
func NewLogWriter(to io.Writer) *LogWriter {
	l := &LogWriter{to: to, done: make(chan struct{})}
	l.changed = sync.NewCond(&l.mu)
	go l.run()
	return l
}

// Write takes whole lines; it never fails.
func (l *LogWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.lines) > maxUnwritten && !l.closed {
		l.changed.Wait()
	}
	if l.closed {
		return l.to.Write(line)
	}
	l.lines = append(l.lines, line...)
	l.changed.Broadcast()
	return len(line), nil
}

// Close writes what is left. Lines that come later are written at once.
func (l *LogWriter) Close() {
	l.mu.Lock()
	l.closed = true
	l.changed.Broadcast()
	l.mu.Unlock()
	<-l.done
}

func (l *LogWriter) run() {
	defer close(l.done)
	var piece []byte
	for {
		l.mu.Lock()
		for len(l.lines) == 0 && !l.closed {
			l.changed.Wait()
		}
		if len(l.lines) == 0 {
			l.mu.Unlock()
			return
		}
		piece, l.lines = l.lines, piece[:0]
		l.changed.Broadcast()
		l.mu.Unlock()
		_, _ = l.to.Write(piece) // there is nobody to tell of it
	}
}
