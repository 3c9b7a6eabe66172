package full_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// The tests of the files points_… end or stop a process of the program at every point of a payer's way where something is on its way
// between it and the outside, and look whether anything was done twice or lost.

// pointSuite is the program over one kind of store, and what the runs of it met.
type pointSuite struct {
	proc.Binary
	tries int                     // of each payer
	store func(*testing.T) string // a new store
	aside map[string]bool         // what a process does at times of its own
	// outside has the processes use Salesforce and send e-mails. only is the one step whose points are struck; "" for every step.
	outside bool
	only    string
	ends    string // endStep, withdrawStep or cancelCheckoutStep; "" for endStep

	lost, conflicts atomic.Int64 // commits whose answer was lost, and creates that found a billing request
}

// TestNoPointOfThePayersWayDoublesOrLosesAnything takes a sample of the points, which a seed chooses, and a kill at each
// call of GoCardless. A long run takes as many times as many points, up to every point in every manner:
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=55 go test -timeout 1h -v -run TestNoPoint ./cmd/provider-checkout/full
func TestNoPointOfThePayersWayDoublesOrLosesAnything(t *testing.T) {
	t.Parallel()
	b := built(t)
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		s := &pointSuite{Binary: b, tries: 1, store: newFile}
		s.run(t, map[manner]int{killed: 4, killedAlone: 11})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		server := postgrestest.New(t)
		s := &pointSuite{Binary: b, tries: 1, store: func(t *testing.T) string { return server.URL(t) }}
		s.run(t, map[manner]int{killed: 7, killedAlone: 29, stopped: 9, stoppedAlone: 29})
	})
	t.Run("PostgreSQL, a payer whose first mandate is cancelled", func(t *testing.T) {
		t.Parallel()
		server := postgrestest.New(t)
		s := &pointSuite{Binary: b, tries: 2, store: func(t *testing.T) string { return server.URL(t) }}
		s.run(t, map[manner]int{killed: 29, killedAlone: 55, stopped: 23, stoppedAlone: 55})
	})
}

// run has each manner happen at every nth point, as sample says, or at more in a long run.
func (s *pointSuite) run(t *testing.T, sample map[manner]int) {
	s.learn(t)
	all, rng := s.points(t), workload.NewRand(t)
	type run struct {
		manner
		point
	}
	var runs []run
	if s.only != "" {
		all = slices.DeleteFunc(all, func(at point) bool { return at.step != s.only })
	}
	for m, nth := range sample { // in any order
		nth = max(1, nth/testlevel.Runs(t, 1))
		from := rng.IntN(nth)
		for i, at := range all {
			if i%nth == from || m == killed && s.tries == 1 && at.atGoCardless() {
				runs = append(runs, run{m, at})
			}
		}
	}
	began := time.Now()
	together(runs, atOnce, func(r run) {
		t.Run(r.manner.String()+" at "+r.point.String(), func(t *testing.T) { s.strike(t, r.manner, r.point) })
	})
	t.Logf("%d runs at %d points in %v; %d commits had an answer that was lost, %d creates found the billing request of an earlier one",
		len(runs), len(all), time.Since(began).Round(time.Second), s.lost.Load(), s.conflicts.Load())
	if len(runs) == 0 {
		t.Error("void: there is no point")
	}
	if s.tries == 1 && s.only == "" && (s.lost.Load() == 0 || s.conflicts.Load() == 0) { // the sample of the longer way may have no such point
		t.Error("void: no answer was lost after a commit, or after a billing request was made")
	}
}

// idleFor is enough time for a process to show what it does by itself: at its start, and every second.
const idleFor = 3 * time.Second

// learn finds out what a process does at times of its own.
func (s *pointSuite) learn(t *testing.T) {
	t.Helper()
	w := s.newWorld(t, point{})
	process := w.start(t, w.struck)
	<-time.After(idleFor)
	process.Stop(t, syscall.SIGTERM)
	s.aside = w.gate.background()
	t.Logf("no point is %s", strings.Join(slices.Sorted(maps.Keys(s.aside)), " | "))
}

// points returns every point of the way that three undisturbed walks show, in order. An exchange that not all of them show came
// by chance: a poll that was a little early, a connection that was new, or the moment of a page, which is stored beside the
// request. Walks that have too many of these are taken again.
func (s *pointSuite) points(t *testing.T) (all []point) {
	t.Helper()
	longest := 0
	for range 3 {
		first, second, third := s.exchanges(t), s.exchanges(t), s.exchanges(t)
		all = nil
		for _, e := range first {
			if slices.Contains(second, e) && slices.Contains(third, e) {
				all = append(all, point{e, before}, point{e, after})
				t.Log(e)
			} else {
				t.Log("not again: ", e)
			}
		}
		if longest = 2 * max(len(first), len(second), len(third)); longest > 0 && len(all) >= longest*9/10 {
			return all
		}
	}
	t.Fatalf("void: of %d points only %d were met each time", longest, len(all))
	return nil
}

// payer returns the payer of a world.
func (s *pointSuite) payer(t *testing.T, w *pointWorld) *payer {
	t.Helper()
	p := newPayer(w, s.tries)
	p.ends, p.command = s.ends, func(args ...string) string { return w.Run(t, append(args, "--store", w.Store)...) }
	return p
}

// exchanges returns what passes in an undisturbed walk.
func (s *pointSuite) exchanges(t *testing.T) []exchange {
	t.Helper()
	w := s.newWorld(t, point{})
	p := s.payer(t, w)
	process := w.begin(t)
	p.walk(t)
	w.delivered(t)
	process.Stop(t, syscall.SIGTERM)
	p.check(t)
	return w.gate.exchanges()
}

// strike has m happen at a point. The process may have passed it in another order than in the walk that showed it; then
// there is another walk.
func (s *pointSuite) strike(t *testing.T, m manner, at point) {
	var passed []exchange // in the step, on the latest walk
	for range attempts {
		w := s.newWorld(t, at)
		w.HeldUp = m.stops
		p := s.payer(t, w)
		if w.suffer(t, p, m) {
			s.lost.Add(int64(p.check(t)))
			s.conflicts.Add(int64(w.bank.Statistics().Answers["POST /billing_requests 409"]))
			if s.outside {
				w.outside.checkEnd(t, s.ends)
				journal := w.Run(t, "show", p.enrolment.IDs[0], "--store", w.Store)
				if n := strings.Count(journal, "mandate_changed"); n != 1 {
					t.Errorf("the journal has the end of the mandate %d times:\n%s", n, journal)
				}
				if n := strings.Count(w.Run(t, "evidence", "list", "--store", w.Store), "withdraw PPA-"); (n == 1) != (s.ends == withdrawStep) {
					t.Errorf("the evidence log has %d withdrawals", n)
				}
			}
			return
		}
		passed = slices.DeleteFunc(w.gate.exchanges(), func(e exchange) bool { return e.step != at.step })
	}
	t.Errorf("void: none of %d walks had this point; the latest had %v", attempts, passed)
}

// begin starts the process that is to be struck, and waits until it has started up.
func (w *pointWorld) begin(t *testing.T) *server {
	t.Helper()
	process := w.start(t, w.struck)
	w.gate.quiet(t, stillFor, nil)
	return process
}

// suffer walks the way until the gate strikes, and then to the end. It reports whether the gate has struck.
func (w *pointWorld) suffer(t *testing.T, p *payer, m manner) bool {
	t.Helper()
	first := w.begin(t)
	release := w.aim(t, first, m)
	under := p.walk(t)
	if !w.gate.hasStruck() {
		first.Stop(t, syscall.SIGTERM)
		return false
	}
	halfway, goOn := "", func() {
		if w.gate.target.side == after { // the answer is there when the process goes on
			release()
		}
		first.Resume(t)
		release()
		p.noteLate(t, under)
		w.gate.quiet(t, stillFor, nil)
	}
	if m.stops {
		halfway = p.takenBack(w.gate.target.step)
	} else {
		p.noteLate(t, under)
	}
	second := w.start(t, w.Store)
	if m.alone {
		p.awaitBackground(t)
	}
	p.finish(t, halfway, goOn)
	w.delivered(t)
	if m.stops && halfway == "" {
		goOn()
		w.delivered(t)
	}
	if m.stops {
		first.Stop(t, syscall.SIGTERM)
	}
	second.Stop(t, syscall.SIGTERM)
	return true
}

// aim has the gate strike a process. The message that a stopped process sent or is sent goes on once it is released.
func (w *pointWorld) aim(t *testing.T, process *server, m manner) (release func()) {
	held := make(chan struct{})
	release = sync.OnceFunc(func() { close(held) })
	t.Cleanup(release) // before the servers are closed, which wait for it
	w.gate.arm(func() (goesOn bool) {
		defer close(w.gate.struck)
		if m.stops {
			process.Suspend(t)
		} else {
			process.Kill(t)
		}
		return m.stops
	}, held)
	return release
}

// noteLate notes the answer to the request that was under way, if there was one and it got one.
func (p *payer) noteLate(t *testing.T, under lateAnswer) {
	t.Helper()
	if under == nil {
		return
	}
	got := <-under
	if err := got.settle(); err != nil && !triedAgain(err) {
		t.Error(err)
	}
}

// takenBack returns the step in which the payer finishes the second try, if the end of the first one's mandate is yet to
// come at a step: what a stopped process knows has then been true, and is no more.
func (p *payer) takenBack(from string) string {
	way := p.way()
	here := slices.IndexFunc(way, func(s payerStep) bool { return s.name == from })
	end := slices.IndexFunc(way, func(s payerStep) bool { return s.name == cancelStep })
	if end < here {
		return ""
	}
	notify := slices.IndexFunc(way[end:], func(s payerStep) bool { return strings.HasPrefix(s.name, "notify") })
	return way[end+notify].name
}

// awaitBackground waits until the process has caught up with what the one before it left.
func (p *payer) awaitBackground(t *testing.T) {
	t.Helper()
	if p.done > 0 {
		p.take(t, payerStep{"poll", p.unlessCancelled(p.poll)}, func(answer lateAnswer) (sent, bool) { return <-answer, true })
	}
	p.delivered(t)
}

// check compares the record with GoCardless. It returns how many commits had an answer that was lost.
func (p *payer) check(t *testing.T) (lost int) {
	t.Helper()
	for _, page := range p.pages {
		if _, err := p.bank.Complete(page, gocardlesstest.Payer{}); err == nil {
			t.Errorf("a payer could finish once more at %s", page)
		}
	}
	id, stats := "checkout_id="+p.enrolment.Created.String("checkout.checkout_id"), p.bank.Statistics()
	if all, own := stats.BillingRequests, stats.RequestsByMetadata[id]; all != p.tries || own != p.tries || len(stats.RequestsByKey) != p.tries {
		t.Errorf("there are %d billing requests, %d of them the checkout's, under %d keys; want %d", all, own, len(stats.RequestsByKey), p.tries)
	}
	if all, own := stats.Mandates, stats.MandatesByMetadata[id]; all != p.tries || own != p.tries {
		t.Errorf("there are %d mandates, %d of them the checkout's, want %d", all, own, p.tries)
	}
	if stats.WithoutKey != 0 {
		t.Errorf("%d calls came without an idempotency key", stats.WithoutKey)
	}
	request, err := p.latestRequest()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range workload.ReadRecords(t, p.Run(t, "export", "--store", p.Store)) {
		for _, dda := range r.Related["dda"] {
			if got, want := dda.Text("billing_request_id"), request.Text("id"); got != want {
				t.Errorf("the billing request on record is %s, want %s", got, want)
			}
			if got, want := dda.Text("mandate_id"), request.Text("links.mandate_request_mandate"); got != want || want == "" {
				t.Errorf("the mandate on record is %s, want %s", got, want)
			}
		}
	}
	return p.Check(t)
}

// latestRequest returns the latest billing request, as GoCardless' API has it.
func (p *payer) latestRequest() (apiclient.Object, error) {
	created, err := p.ask("/events?resource_type=billing_requests&action=created&limit=1") // newest first
	if err != nil {
		return nil, err
	}
	events, _ := created.At("events").([]any)
	if len(events) == 0 {
		return nil, errors.New("GoCardless lists no billing request")
	}
	latest, _ := events[0].(map[string]any)
	request, err := p.ask("/billing_requests/" + apiclient.Object(latest).Text("links.billing_request"))
	if err != nil {
		return nil, err
	}
	object, _ := request.At("billing_requests").(map[string]any)
	return object, nil
}

// ask gets a resource of GoCardless' API.
func (p *payer) ask(path string) (apiclient.Object, error) {
	req := httptest.NewRequest(http.MethodGet, path, nil)
	req.Header.Set("Authorization", "Bearer "+bankToken)
	req.Header.Set("GoCardless-Version", gocardlesstest.Version)
	answer := httptest.NewRecorder()
	p.bank.ServeHTTP(answer, req)
	if answer.Code != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %d %s", path, answer.Code, answer.Body)
	}
	return apiclient.ParseObject(answer.Body.Bytes())
}
