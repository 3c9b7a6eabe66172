package full_test

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
)

// usualTask is the time that the reference task takes at most on a machine that does little else.
const usualTask = 20 * time.Millisecond

// A stretch is a time in which the machine was slower than usual by a factor.
type stretch struct {
	end    time.Time
	factor float64
}

// speed measures how much slower than usual the machine is. All bounds on times in this package count the time of a machine of usual
// speed: a promise is neither broken by the other suites and a slow disk, nor loosened where the machine keeps up.
type speed struct {
	mu        sync.Mutex
	begun     time.Time // of the task that is under way, or is next
	stretches []stretch // the oldest first
}

var machine = speed{begun: time.Now()}

// measure runs the reference task four times a second, until the end of the process.
func (s *speed) measure(file *os.File) {
	block := make([]byte, 4<<20)
	for {
		began := time.Now()
		s.mu.Lock()
		s.begun = began
		s.mu.Unlock()
		_ = exec.Command("/bin/sh", "-c", ":").Run()
		sum := sha256.Sum256(block)
		_, _ = file.WriteAt(sum[:], 0)
		_ = file.Sync()
		s.mu.Lock()
		s.stretches = append(s.stretches, stretch{time.Now(), factorOf(time.Since(began))})
		s.mu.Unlock()
		<-time.After(max(0, 250*time.Millisecond-time.Since(began)))
	}
}

// factorOf returns by how much the machine is slower than usual if the task takes as long.
func factorOf(took time.Duration) float64 { return max(1, took.Seconds()/usualTask.Seconds()) }

// between returns the time from one moment to another as it would have been at usual speed.
func (s *speed) between(from, to time.Time) (usual time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := func(until time.Time, factor float64) {
		if until.After(from) {
			usual += time.Duration(float64(until.Sub(from)) / factor)
			from = until
		}
	}
	first, _ := slices.BinarySearchFunc(s.stretches, from, func(st stretch, at time.Time) int { return st.end.Compare(at) })
	factor := 1.0
	for _, st := range s.stretches[first:] {
		if factor = st.factor; !st.end.Before(to) {
			break
		}
		count(st.end, factor)
	}
	if n := len(s.stretches); n > 0 && s.stretches[n-1].end.Before(to) { // the task that is under way says more
		factor = max(s.stretches[n-1].factor, factorOf(to.Sub(s.begun)-250*time.Millisecond))
	}
	count(to, factor)
	return usual
}

// elapsed returns the time since a moment as it would have been at usual speed.
func elapsed(since time.Time) time.Duration { return machine.between(since, time.Now()) }

func TestSpeed(t *testing.T) {
	t.Parallel()
	began := time.Now()
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	s := speed{begun: at(32), stretches: []stretch{{at(10), 1}, {at(20), 5}, {at(30), 2}}}
	for _, tt := range []struct{ from, to, want int }{
		{0, 10, 10}, {2, 5, 3}, {10, 20, 2}, {15, 20, 1}, {12, 17, 1}, {0, 30, 17}, {18, 22, 1}, {30, 32, 1}, {10, 10, 0},
	} {
		if got := s.between(at(tt.from), at(tt.to)).Round(time.Second); got != time.Duration(tt.want)*time.Second {
			t.Errorf("from %d s to %d s are %v at usual speed, want %d s", tt.from, tt.to, got, tt.want)
		}
	}
	if got := s.between(at(30), at(91)); got > time.Second {
		t.Errorf("a task that does not end makes a minute %v", got)
	}
}
