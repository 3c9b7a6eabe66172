// Package testlevel tells tests at which of two levels they run.
//
// The quick level is that of go test ./... alone: it takes a minute, needs nothing but Go, and never sleeps. The full level
// is that of PROVIDER_CHECKOUT_TEST=full, which the gate sets: every test runs, and a program that is missing is a failure.
// PROVIDER_CHECKOUT_TEST_RUNS=1000 makes a long run of the tests that repeat something: it is the number of times.
package testlevel

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	levelVariable = "PROVIDER_CHECKOUT_TEST"
	runsVariable  = "PROVIDER_CHECKOUT_TEST_RUNS"
)

// IsFull reports whether the tests run at the full level.
func IsFull() bool {
	switch level := os.Getenv(levelVariable); level {
	case "":
		return false
	case "full":
		return true
	default:
		panic(fmt.Sprintf("%s=%s, want full, or no such variable for the quick level", levelVariable, level))
	}
}

// Of returns the figure of the present level.
func Of[T any](quick, full T) T {
	if IsFull() {
		return full
	}
	return quick
}

// Full skips a test at the quick level, with the command that runs it.
func Full(t testing.TB) {
	t.Helper()
	if !IsFull() {
		t.Skip("not at the quick level: " + command(t))
	}
}

// Missing skips a test at the quick level because something that it needs is not on the machine. At the full level the test
// fails.
func Missing(t testing.TB, reason any) {
	t.Helper()
	if IsFull() {
		t.Fatalf("%v; the full level needs it", reason)
	}
	t.Skipf("%v; to make it a failure: %s", reason, command(t))
}

// command returns the command that runs a test at the full level.
func command(t testing.TB) string {
	test, _, _ := strings.Cut(t.Name(), "/")
	return fmt.Sprintf("%s=full go test -run '^%s$' %s", levelVariable, test, folder())
}

// folder returns the folder of the package under test, from the root of the module.
func folder() string {
	root, err := Root()
	own, _ := os.Getwd()
	if err != nil {
		return "."
	}
	below, _ := filepath.Rel(root, own) // which is below it
	return "./" + filepath.ToSlash(below)
}

// Root returns the folder of the module. The test runs in it or below.
func Root() (string, error) {
	own, err := os.Getwd()
	for root := own; err == nil && root != filepath.Dir(root); root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return root, nil
		}
	}
	return "", errors.Join(err, errors.New("there is no go.mod above the test"))
}

// Runs returns how often a test repeats what it is about: as often as a long run says, or else the usual number.
func Runs(t testing.TB, usual int) int {
	t.Helper()
	text := os.Getenv(runsVariable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s, want a number above zero", runsVariable, text)
	}
	return n
}

// IsLong reports whether this is a long run.
func IsLong() bool { return os.Getenv(runsVariable) != "" }

// Main runs the tests of a package, with fewer checks of each property at the quick level. The flag -rapid.checks overrides
// the number.
func Main(m *testing.M, checks int) {
	if f := flag.Lookup("rapid.checks"); f != nil && !IsFull() {
		_ = f.Value.Set(strconv.Itoa(checks))
	}
	os.Exit(m.Run())
}

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
