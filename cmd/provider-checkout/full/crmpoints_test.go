package full_test

import (
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
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

const (
	clientID     = "sandbox_client"
	clientSecret = "sandbox_client_secret"

	// publicURL is the address of the processes; a fleet resolves it.
	publicURL = "http://service.test"
)

// crmServer is a process, with its door to Salesforce.
type crmServer struct {
	*server
	door int
}

// crmWorld is the processes on one store, Salesforce, the receiver of events, and the clients.
type crmWorld struct {
	*workload.Workload
	gate    *crmGate
	servers []*crmServer // the first is struck
	fleet   balancer     // leads clients to servers
	backend *apiclient.Client
	suite   *crmSuite
}

// newWorld starts processes on a new store.
func (s *crmSuite) newWorld(t *testing.T) *crmWorld {
	t.Helper()
	w := &crmWorld{gate: newCRMGate(), suite: s}
	w.Workload = workload.New(t, s.Binary, s.store(t))
	w.Verdicts.AcceptAll = true
	w.backend = w.through(&w.fleet)
	for range s.processes {
		w.servers = append(w.servers, w.start(t))
	}
	lead(&w.fleet, w.servers...)
	t.Cleanup(w.gate.close) // before its doors are closed
	return w
}

func (w *crmWorld) start(t *testing.T) *crmServer {
	t.Helper()
	door, url := w.gate.open(t)
	cmd := w.Command(serveArgs(w.Store, "--base-url", publicURL, "--crm", "salesforce", "--salesforce-url", url)...)
	// With many processors a process that goes on has more chances to see an answer before it sees that its time is over.
	cmd.Env = []string{"GOMAXPROCS=16", "PROVIDER_CHECKOUT_SALESFORCE_CLIENT_ID=" + clientID, "PROVIDER_CHECKOUT_SALESFORCE_CLIENT_SECRET=" + clientSecret}
	return &crmServer{serve(t, cmd), door}
}

// stop ends every process.
func (w *crmWorld) stop(t *testing.T) {
	t.Helper()
	var all []*server
	for _, s := range w.servers {
		all = append(all, s.server)
	}
	stopAll(t, all...)
}

// lead has a balancer lead clients to servers.
func lead(b *balancer, to ...*crmServer) {
	var addrs []string
	for _, s := range to {
		addrs = append(addrs, s.addr)
	}
	b.leadTo(addrs...)
}

// through returns a client that connects anew for each request, as the balancer says.
func (w *crmWorld) through(b *balancer) *apiclient.Client {
	c := newBackend(publicURL, w.Keys, b)
	c.DisableKeepAlives = true
	return c.Client
}

// await waits until a gauge is zero, which a process says that was not struck, and returns when it was.
func (w *crmWorld) await(t *testing.T, gauge string, limit time.Time) time.Time {
	t.Helper()
	last := w.servers[len(w.servers)-1]
	for ; ; <-time.After(calm) {
		value := last.metric(t, "provider_checkout_"+gauge)
		if value == 0 {
			return time.Now()
		}
		if time.Now().After(limit) {
			t.Fatalf("%s is still %v", gauge, value)
		}
	}
}

// check compares the record with Salesforce, and checks that no provider's records there belong to another.
func (w *crmWorld) check(t *testing.T, all []*student, struck int, on resumption) {
	t.Helper()
	w.Check(t)
	w.checkOnce(t)
	w.checkSalesforce(t, all)
	came := 0 // late calls
	for _, s := range all {
		if !w.gate.holds(s.Enrolment) { // a call may have been on its way to the gate
			continue
		}
		w.checkAttempts(t, s, struck, on)
		if s.at.side == late {
			came++
		}
	}
	switch effective := w.gate.effective; {
	case on != amidOthers && len(effective) > 0:
		t.Errorf("calls that arrived when everything was done had an effect: %v", effective)
	case on == amidOthers && came > 0 && len(effective) == 0:
		t.Error("void: no call that arrived while others did the same had an effect")
	}
}

// checkOnce checks that every event was delivered once: no process was struck while it delivered one.
func (w *crmWorld) checkOnce(t *testing.T) {
	t.Helper()
	times := make(map[string]int)
	for _, d := range w.Receiver.Deliveries() {
		times[d.JSON.Text("event_id")]++
	}
	for id, n := range times {
		if n != 1 {
			t.Errorf("event %s was delivered %d times", id, n)
		}
	}
	if want := 3 * len(w.Enrolments.All); len(times) != want {
		t.Errorf("%d events were delivered, want %d", len(times), want)
	}
}

// recordKinds are the kinds of an enrolment's records, each of which has a natural key.
var recordKinds = []string{"contact", "opportunity", "contact role", "dda", "agreement", "document"}

// checkSalesforce checks that Salesforce has one set of records of each enrolment, with the ids that are on record, and that
// the enrolment was completed once and last.
func (w *crmWorld) checkSalesforce(t *testing.T, all []*student) {
	t.Helper()
	stored := make(map[string]*workload.Record)
	for _, on := range workload.ReadRecords(t, w.Run(t, "export", "--store", w.Store)) {
		stored[on.Text("provider_order_id")] = on
	}
	if t.Failed() { // not every enrolment is whole
		return
	}
	o := readOrg(t, w.gate.sim, len(all))
	for _, s := range all {
		on, c := stored[s.Order], new(comparison)
		agreed := on.Related["agreement"][0]
		c.linked(orgIDs{on.Text("contact_id"), on.Text("opportunity_id"), on.Text("dda_id"), agreed.Text("agreement_id"),
			agreed.Text("agreement_number"), on.Related["document"][0].Text("document_id")}, o)
		c.history(on.Text("opportunity_id"), o)
		for _, wrong := range c.wrong {
			t.Errorf("%s: %s", s.at, wrong)
		}
	}
}

// checkAttempts checks who made the calls for an enrolment after the process was struck: one process at a time, which had
// begun with a look; the stopped process did not go on with what it was doing before.
func (w *crmWorld) checkAttempts(t *testing.T, s *student, struck int, on resumption) {
	t.Helper()
	var owner, previous crossing // the first call of the latest attempt; the latest call
	began := false               // the process that was stopped, something new since
	for _, c := range w.gate.crossings(s.Enrolment) {
		if !c.later {
			continue
		}
		began = began || c.door == struck && (c.first() || c.call == lookForAgreement)
		switch {
		case c.door != struck:
		case on == notAgain:
			t.Errorf("%s: %s comes from a process that was killed", s.at, c.call)
		case on == atLast:
			t.Errorf("%s: %s comes from the process that was stopped, though everything was done", s.at, c.call)
		case !began:
			t.Errorf("%s: the process that was stopped goes on with %s", s.at, c.call)
		}
		if c.call == lookForAgreement { // which needs no lease
			continue
		}
		if c.first() {
			if previous.freed.After(c.at) {
				t.Errorf("%s: %s comes from process %d while process %d waits for the answer to it", s.at, c.call, c.door, previous.door)
			}
			owner = c
		}
		if c.door != owner.door {
			t.Errorf("%s: %s comes from process %d while process %d has the step", s.at, c.call, c.door, owner.door)
		}
		previous = c
	}
}
