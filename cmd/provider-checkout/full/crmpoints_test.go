package full_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// The tests of the files crmpoints_… end or stop a process of the program at every call of a CRM outside of its store, and look
// whether anything was done twice or lost.
//
// The calls of the CRM lie between all that is stored. Where the process is at the ends of the two rows of calls, it has
//
//	create: GET contact, …, before    reserved the checkout, and not called
//	create: POST contact, …, after    made the records, and not stored it
//	confirm: GET contact, …, before   concluded the agreement, and not called
//	confirm: PATCH agreement, …, after   completed the enrolment, and not stored it

// crmSuite is the program over one kind of store.
type crmSuite struct {
	proc.Binary
	name      string
	processes int
	store     func(*testing.T) string // a new one
	tally     *crmTally
	busy      *sync.Mutex // held while enrolments come to their points: a busy machine may have no time for more
}

// TestNoCallOfTheCRMIsMadeTwiceOrLost has an enrolment at each point, in each manner, once; or as often as a long run says:
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=20 go test -timeout 1h -v -run TestNoCall ./cmd/provider-checkout/full
func TestNoCallOfTheCRMIsMadeTwiceOrLost(t *testing.T) {
	t.Parallel()
	rounds := testlevel.Runs(t, 1)
	server := postgrestest.New(t)
	b := built(t)
	busy := new(sync.Mutex)
	suites := []*crmSuite{
		{b, "SQLite", 1, func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "records.db") }, newCRMTally(), busy},
		{b, "PostgreSQL", 3, func(t *testing.T) string { return server.URL(t) }, newCRMTally(), busy},
	}
	points := suites[0].points(t)
	began := time.Now()
	var group sync.WaitGroup
	running := make(chan struct{}, atOnce)
	for range rounds {
		for _, m := range crmManners {
			for _, s := range suites {
				running <- struct{}{}
				group.Go(func() {
					defer func() { <-running }()
					t.Run(s.name+", "+m.String(), func(t *testing.T) { s.strike(t, m, points) })
				})
			}
		}
	}
	group.Wait()
	t.Logf("%d points in %v\n%s", len(points), time.Since(began).Round(time.Second), crmTable(points, suites))
}

// strike has m happen at each of the points.
func (s *crmSuite) strike(t *testing.T, m crmManner, points []crmPoint) {
	left := points
	for range attempts {
		missed := s.newWorld(t).round(t, m, left)
		for _, at := range left {
			if !slices.Contains(missed, at) {
				s.tally.count(m, at)
			}
		}
		if left = missed; len(left) == 0 {
			return
		}
		t.Logf("once more, for what was missed: %v", missed)
	}
	t.Errorf("void: %d rounds have not had the points %v", attempts, left)
}

// points returns all points of an enrolment, as an undisturbed one shows them. They are no more than the calls that the
// program makes at once.
func (s *crmSuite) points(t *testing.T) (all []crmPoint) {
	t.Helper()
	w := s.newWorld(t)
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
			all = append(all, crmPoint{confirm, c.call, of})
		}
	}
	if len(all) < 20 || writes != 4 || !confirm {
		t.Fatalf("void: an enrolment shows only the points %v", all)
	}
	return all
}

// crmTally counts what was struck on one kind of store.
type crmTally struct {
	mu      sync.Mutex
	of      map[crmHit]int
	longest time.Duration // from the end of the last lease until everything was done
}

// crmHit is a fault that an enrolment met, and its point.
type crmHit struct {
	crmManner
	crmPoint
}

func newCRMTally() *crmTally { return &crmTally{of: make(map[crmHit]int)} }

func (y *crmTally) count(m crmManner, at crmPoint) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.of[crmHit{m, at}]++
}

func (y *crmTally) finished(after time.Duration) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.longest = max(y.longest, after)
}

// crmTable says how often each point was struck in each manner.
func crmTable(points []crmPoint, suites []*crmSuite) string {
	var text strings.Builder
	lines := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, s := range suites {
		fmt.Fprintf(lines, "%s, everything done at most %v after the last lease's end", s.name, s.tally.longest.Round(calm))
		for _, m := range crmManners {
			fmt.Fprintf(lines, "\t%s", m)
		}
		for _, at := range points {
			fmt.Fprintf(lines, "\n%s", at)
			for _, m := range crmManners {
				fmt.Fprintf(lines, "\t%d", s.tally.of[crmHit{m, at}])
			}
		}
		fmt.Fprintln(lines)
	}
	lines.Flush()
	return text.String()
}
