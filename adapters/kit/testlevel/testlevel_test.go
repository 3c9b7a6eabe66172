package testlevel_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
)

// end is the end of a test.
type end struct {
	testing.TB
	skipped, failed string
}

func (e *end) Helper()      {}
func (e *end) Name() string { return "TestOutage/the first" }

func (e *end) Skip(args ...any) {
	e.skipped = fmt.Sprint(args...)
	runtime.Goexit()
}

func (e *end) Skipf(format string, args ...any) { e.Skip(fmt.Sprintf(format, args...)) }

func (e *end) Fatalf(format string, args ...any) {
	e.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// of returns the end of a test.
func of(test func(testing.TB)) *end {
	e := &end{}
	var ended sync.WaitGroup
	ended.Go(func() { test(e) })
	ended.Wait()
	return e
}

func TestALevelLeavesOutOrRequires(t *testing.T) {
	const again = "PROVIDER_CHECKOUT_TEST=full go test -run '^TestOutage$' ./adapters/kit/testlevel"
	for _, tt := range []struct {
		level, missing string // for Missing; else Full
		skips, fails   string
	}{
		{level: "", skips: again},
		{level: "full"},
		{level: "", missing: "no Chromium", skips: "no Chromium; to make it a failure: " + again},
		{level: "full", missing: "no Chromium", fails: "no Chromium"},
	} {
		t.Setenv("PROVIDER_CHECKOUT_TEST", tt.level)
		e := of(func(t testing.TB) {
			if tt.missing == "" {
				testlevel.Full(t)
			} else {
				testlevel.Missing(t, tt.missing)
			}
		})
		if !strings.Contains(e.skipped, tt.skips) || (e.skipped == "") != (tt.skips == "") ||
			!strings.Contains(e.failed, tt.fails) || (e.failed == "") != (tt.fails == "") {
			t.Errorf("level %q, missing %q: skipped %q and failed %q, want %q and %q", tt.level, tt.missing, e.skipped, e.failed, tt.skips, tt.fails)
		}
	}
}

func TestALongRunSaysHowOften(t *testing.T) {
	for _, tt := range []struct {
		runs string
		want int
	}{{"", 12}, {"1000", 1000}} {
		t.Setenv("PROVIDER_CHECKOUT_TEST_RUNS", tt.runs)
		if got := testlevel.Runs(t, 12); got != tt.want || testlevel.IsLong() != (tt.runs != "") {
			t.Errorf("with %q: %d, want %d", tt.runs, got, tt.want)
		}
	}
	t.Setenv("PROVIDER_CHECKOUT_TEST_RUNS", "many")
	if e := of(func(t testing.TB) { testlevel.Runs(t, 12) }); e.failed == "" {
		t.Error("a number that is a word is taken")
	}
}
