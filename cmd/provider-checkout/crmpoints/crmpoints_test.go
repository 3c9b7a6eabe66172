// Package crmpoints_test ends or stops a process of the program at every call of a CRM outside of its store, and looks
// whether anything was done twice or lost.
package crmpoints_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/postgrestest"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// suite is the program over one kind of store.
type suite struct {
	proc.Binary
	name      string
	processes int
	store     func(*testing.T) string // a new one
}

// TestNoCallOfTheCRMIsMadeTwiceOrLost has an enrolment at each point, in each manner, once; or twenty times where
// PROVIDER_CHECKOUT_TEST_FULL is set:
//
//	PROVIDER_CHECKOUT_TEST_FULL=1 go test -timeout 1h -v ./cmd/provider-checkout/crmpoints
func TestNoCallOfTheCRMIsMadeTwiceOrLost(t *testing.T) {
	rounds, worlds := 1, 8
	if os.Getenv("PROVIDER_CHECKOUT_TEST_FULL") != "" {
		rounds = 20
	}
	b, server := proc.Build(t), postgrestest.New(t)
	suites := []*suite{
		{b, "SQLite", 1, func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "records.db") }},
		{b, "PostgreSQL", 3, func(t *testing.T) string { return server.URL(t) }},
	}
	points := suites[0].points(t)
	hits := newTally()
	var group sync.WaitGroup
	running := make(chan struct{}, worlds)
	began := time.Now()
	for range rounds {
		for _, m := range manners {
			for _, s := range suites {
				running <- struct{}{}
				group.Go(func() {
					defer func() { <-running }()
					t.Run(s.name+", "+m.name, func(t *testing.T) { s.strike(t, m, points, hits) })
				})
			}
		}
	}
	group.Wait()
	t.Logf("%d points, each %d times in each manner, in %v\n%s", len(points), rounds, time.Since(began).Round(time.Second), hits.table(points, suites))
}

// attempts is how often the points are tried that the machine's load may prevent.
const attempts = 3

// strike has m happen at each of the points.
func (s *suite) strike(t *testing.T, m manner, points []point, hits *tally) {
	left := points
	for range attempts {
		w := newWorld(t, s.Binary, s.store(t), s.processes)
		missed := w.round(t, m, left)
		for _, at := range left {
			if !slices.Contains(missed, at) {
				hits.count(s.name, m, at)
			}
		}
		if left = missed; len(left) == 0 {
			return
		}
		t.Logf("missed %v", missed)
	}
	t.Errorf("void: %d rounds have not had the points %v", attempts, left)
}

// points returns all points of an enrolment, as an undisturbed one shows them.
func (s *suite) points(t *testing.T) (all []point) {
	t.Helper()
	w := newWorld(t, s.Binary, s.store(t), 1)
	e := w.Enrolments.Begin()
	w.gate.admit(e)
	if err := e.Complete(t.Context(), w.backend, w.Rand); err != nil {
		t.Fatal(err)
	}
	w.stop(t)
	w.Check(t)
	confirm, writes := false, 0
	for _, c := range w.gate.crossings(e) {
		confirm = confirm || c.call == lookForAgreement
		sides := []side{before, after}
		if c.writes {
			writes++
			sides = append(sides, late)
		}
		for _, of := range sides {
			all = append(all, point{confirm, c.call, of})
		}
		t.Log(request(confirm), c.call)
	}
	if len(all) < 20 || writes != 4 || !confirm {
		t.Fatalf("void: an enrolment shows only the points %v", all)
	}
	return all
}

// tally counts what was struck.
type tally struct {
	mu sync.Mutex
	of map[string]int
}

func newTally() *tally { return &tally{of: make(map[string]int)} }

func cell(suite string, m manner, at point) string { return fmt.Sprint(suite, m, at) }

func (y *tally) count(suite string, m manner, at point) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.of[cell(suite, m, at)]++
}

// table says how often each point was struck in each manner.
func (y *tally) table(points []point, suites []*suite) string {
	y.mu.Lock()
	defer y.mu.Unlock()
	var lines strings.Builder
	for _, s := range suites {
		for _, m := range manners {
			fmt.Fprintf(&lines, "%s, %s:\n", s.name, m.name)
			for _, at := range points {
				fmt.Fprintf(&lines, "  %3d  %s\n", y.of[cell(s.name, m, at)], at)
			}
		}
	}
	return lines.String()
}
