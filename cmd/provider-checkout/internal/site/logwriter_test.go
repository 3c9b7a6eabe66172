package site

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// patientStderr is one that takes a piece only when it is told to.
type patientStderr struct {
	take chan struct{}
	got  bytes.Buffer
}

func (s *patientStderr) Write(p []byte) (int, error) {
	<-s.take
	return s.got.Write(p)
}

func TestEveryLogLineIsWrittenWholeAndInOrder(t *testing.T) {
	var out bytes.Buffer
	l := NewLogWriter(&out)
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 500 {
				fmt.Fprintf(l, "%d %d\n", w, i)
			}
		})
	}
	all.Wait()
	l.Close()
	next := make([]int, 8)
	for line := range strings.Lines(out.String()) {
		var w, i int
		if _, err := fmt.Sscanf(line, "%d %d\n", &w, &i); err != nil || next[w] != i {
			t.Fatalf("line %q where %d should be, %v", line, next[w], err)
		}
		next[w]++
	}
	if slices.Min(next) != 500 {
		t.Errorf("lines of each writer: %d, want 500", next)
	}
}

func TestASlowReaderOfTheLogHoldsUpWhoLogsWithinABound(t *testing.T) {
	s := &patientStderr{take: make(chan struct{})}
	l := NewLogWriter(s)
	line := bytes.Repeat([]byte("x"), 64<<10)
	logged := make(chan int)
	go func() {
		defer close(logged)
		for i := range 40 { // two and a half megabytes
			l.Write(line)
			logged <- i
		}
	}()
	for i := range logged {
		if i == 16 { // one line is being written at the least, and sixteen more wait
			break
		}
	}
	close(s.take)
	for range logged {
	}
	l.Close()
	if s.got.Len() != 40*len(line) {
		t.Errorf("%d bytes were written, want %d", s.got.Len(), 40*len(line))
	}
}
