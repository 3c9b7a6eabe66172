package testlevel

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"
)

const (
	// usualTask is the time that the reference task takes at most on a machine that does little else.
	usualTask = 20 * time.Millisecond
	// measureEvery is the time from one reference task to the next.
	measureEvery = 250 * time.Millisecond
)

// A stretch is a time in which the machine was slower than usual by a factor.
type stretch struct {
	end    time.Time
	factor float64
}

// speed has the measurements of a reference task: the factors by which the machine was slower than usual.
type speed struct {
	mu        sync.Mutex
	begun     time.Time // of the task that is under way, or was last
	stretches []stretch // the oldest first
}

// machine begins to measure when its speed is first asked for, and ends with the process.
var machine = sync.OnceValue(func() *speed {
	s := &speed{begun: time.Now()}
	if file, err := os.CreateTemp("", "provider-checkout-speed-"); err == nil {
		_ = os.Remove(file.Name())
		go s.measure(file)
	}
	return s
})

// Elapsed returns the time since a moment as it would have been on a machine of usual speed. A test compares it with the time that
// a document promises: other tests and a slow disk do not break the promise, and where the machine keeps up, its bound is the promise.
func Elapsed(since time.Time) time.Duration { return Between(since, time.Now()) }

// Between returns the time from one moment to another, as [Elapsed] does.
func Between(from, to time.Time) time.Duration { return machine().between(from, to) }

// measure runs the reference task again and again: it starts a process, computes, and syncs a file.
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
		took := time.Since(began)
		s.mu.Lock()
		s.stretches = append(s.stretches, stretch{began.Add(took), factorOf(took)})
		s.mu.Unlock()
		time.Sleep(measureEvery - took)
	}
}

// factorOf returns by how much the machine is slower than usual if the task takes as long.
func factorOf(took time.Duration) float64 { return max(1, took.Seconds()/usualTask.Seconds()) }

// between counts each stretch with its factor, and the time since the last one with the factor of the task that is under way.
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
	for _, st := range s.stretches[first:] {
		if !st.end.Before(to) {
			count(to, st.factor)
			break
		}
		count(st.end, st.factor)
	}
	factor := factorOf(to.Sub(s.begun) - measureEvery)
	if n := len(s.stretches); n > 0 {
		factor = max(factor, s.stretches[n-1].factor)
	}
	count(to, factor)
	return usual
}
