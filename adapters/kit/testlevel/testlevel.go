// Package testlevel tells tests at which of two levels they run.
//
// The quick level is that of go test ./... alone: it takes a minute, needs nothing but Go, and never sleeps. The full level
// is that of PROVIDER_CHECKOUT_TEST=full, which the gate sets: every test runs, and a program that is missing is a failure.
// PROVIDER_CHECKOUT_TEST_RUNS=1000 makes a long run of the tests that repeat something: it is the number of times.
package testlevel

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
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
