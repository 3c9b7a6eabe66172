package full_test

import (
	"sync"
	"testing"
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
	busy      *sync.Mutex             // held while enrolments come to their points: a busy machine may have no time for more

	longest time.Duration // from the end of the last lease until everything was done
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
		{Binary: b, name: "SQLite", processes: 1, store: newFile, busy: busy},
		{Binary: b, name: "PostgreSQL", processes: 3, store: func(t *testing.T) string { return server.URL(t) }, busy: busy},
	}
	points := suites[0].points(t)
	began := time.Now()
	type run struct {
		*crmSuite
		manner
	}
	var runs []run
	for range rounds {
		for _, m := range []manner{killed, killedAlone, stopped, stoppedAlone} {
			for _, s := range suites {
				runs = append(runs, run{s, m})
			}
		}
	}
	together(runs, atOnce, func(r run) {
		t.Run(r.name+", "+r.manner.String(), func(t *testing.T) { r.strike(t, r.manner, points) })
	})
	t.Logf("%d points, each struck in each manner %d times over each store, in %v", len(points), rounds,
		time.Since(began).Round(time.Second))
	for _, s := range suites {
		t.Logf("%s: everything was done at most %v after the last lease's end", s.name, s.longest.Round(calm))
	}
}

// finished notes how long after the end of the last lease everything was done.
func (s *crmSuite) finished(after time.Duration) {
	s.busy.Lock()
	defer s.busy.Unlock()
	s.longest = max(s.longest, after)
}

// strike has m happen at each of the points.
func (s *crmSuite) strike(t *testing.T, m manner, points []crmPoint) {
	left := points
	for range attempts {
		if left = s.newWorld(t).round(t, m, left); len(left) == 0 {
			return
		}
		t.Logf("once more, for what was missed: %v", left)
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
