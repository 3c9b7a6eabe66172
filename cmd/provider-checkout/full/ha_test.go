package full_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/linear"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// The test of the files ha_… tests the recipe for high availability of docs/postgres-ha.md: it starts the files of packaging/ha on
// this machine (three nodes with PostgreSQL under Patroni and etcd, and HAProxy), and three processes of the
// program on them. It needs Debian's packages patroni, etcd-server, haproxy and postgresql, and Linux.

// Writes may still fail for this long after the end of the leader's lease.
const (
	backWithin       = 5 * time.Second
	backWithinInGate = 20 * time.Second // where other packages are tested at the same time
)

// TestHighAvailability checks that over failovers of every kind what clients are told of an order stays linearizable, nothing that
// was acknowledged is lost, and writes are back in time. It makes two, or as many as a long run has; if that is
// every kind, it also loses standbys:
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=100 go test -run TestHighAvailability -timeout 3h -v ./cmd/provider-checkout/full
func TestHighAvailability(t *testing.T) {
	t.Parallel()
	failovers, all, limit := testlevel.Runs(t, 2), primaryFaults(), backWithinInGate
	if testlevel.IsLong() {
		limit = backWithin
	}
	found := findPrograms(t)
	w := newRecipeWorld(t, found, built(t))
	w.limit = w.lease(t) + limit
	stop := w.load(t)
	for n := range failovers {
		w.lose(t, fmt.Sprintf("failover %d", n+1), all[n%len(all)])
	}
	if failovers >= len(all) {
		for _, f := range standbyFaults() {
			w.lose(t, "no failover", f)
		}
	}
	stop()
	w.check(t)
}

// nodeFault is a way to lose a node.
type nodeFault struct {
	name    string
	strike  func(*testing.T, *recipeNode)
	heal    func(*testing.T, *recipeNode) // after writes are back
	standby bool                          // it strikes a standby, and the primary stays
	// divides says that the old primary may serve reads when there is a new one already: who connects by a list of hosts is
	// taken away meanwhile, for only HAProxy knows of the lease.
	divides bool
}

// primaryFaults returns all ways to lose the primary; the gate takes the first two.
func primaryFaults() []nodeFault {
	none := func(*testing.T, *recipeNode) {}
	return []nodeFault{
		{name: "the machine dies", strike: killNode, heal: startNode},
		{name: "switchover", strike: func(t *testing.T, n *recipeNode) { n.switchOver(t) }, heal: none},
		{name: "the machine freezes", strike: freezeNode, heal: thawNode, divides: true},
		{name: "PostgreSQL dies", strike: func(t *testing.T, n *recipeNode) { n.kill(t, onlyPostgres) }, heal: none},
		{name: "Patroni dies", strike: func(t *testing.T, n *recipeNode) { n.kill(t, onlyPatroni) },
			heal: func(t *testing.T, n *recipeNode) { n.startPatroni(t) }, divides: true},
	}
}

// standbyFaults returns all ways to lose a standby.
func standbyFaults() []nodeFault {
	return []nodeFault{
		{name: "the machine of a standby dies", strike: killNode, heal: startNode, standby: true},
		{name: "the machine of a standby freezes", strike: freezeNode, heal: thawNode, standby: true},
	}
}

func killNode(t *testing.T, n *recipeNode)   { n.kill(t, allPrograms) }
func startNode(t *testing.T, n *recipeNode)  { n.start(t) }
func freezeNode(_ *testing.T, n *recipeNode) { n.signal(syscall.SIGSTOP, allPrograms) }
func thawNode(_ *testing.T, n *recipeNode)   { n.signal(syscall.SIGCONT, allPrograms) }

// recipeWorld is the recipe, and the service and its clients on it.
type recipeWorld struct {
	*workload.Workload
	*recipe
	instances []*recipeInstance
	listed    *recipeInstance // connects by a list of hosts
	run       *linear.Run
	limit     time.Duration            // for which no write may be acknowledged
	slowest   map[string]time.Duration // outage, by fault
	whole     time.Duration            // the longest time until all nodes were in their places
}

func newRecipeWorld(t *testing.T, found recipePrograms, binary proc.Binary) *recipeWorld {
	t.Helper()
	began := time.Now()
	ports := rand.New(rand.NewPCG(rand.Uint64(), 0))
	w := &recipeWorld{recipe: startRecipe(t, found, ports), slowest: make(map[string]time.Duration)}
	balanced, listed := w.stores(t)
	w.Workload = workload.New(t, binary, balanced)
	w.Verdicts.AcceptAll = true // a slow receiver would hide how soon writes are back
	w.instances = []*recipeInstance{newRecipeInstance(t, w.Workload, "HAProxy", balanced), newRecipeInstance(t, w.Workload, "HAProxy", balanced),
		newRecipeInstance(t, w.Workload, "a list of hosts", listed)}
	w.listed = w.instances[2]
	var clients []*apiclient.Client
	for _, s := range w.instances {
		clients = append(clients, s.Client)
	}
	w.run = linear.NewRun(clients)
	t.Logf("started in %.1f s", time.Since(began).Seconds())
	return w
}

const (
	readersAndWriters = 9 // clients of a few shared orders
	askEvery          = 30 * time.Millisecond
)

// load has clients work until stop is called.
func (w *recipeWorld) load(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	for i, s := range w.instances {
		clients.Go(func() { s.write(ctx, t, strconv.Itoa(i+1)) })
	}
	for id := range readersAndWriters {
		rng := rand.New(rand.NewPCG(w.Rand.Uint64(), 0))
		clients.Go(func() {
			for ctx.Err() == nil {
				w.run.Ask(t, id, rng)
				<-time.After(askEvery)
			}
		})
	}
	stopped := false
	stop = func() {
		if !stopped {
			cancel()
			clients.Wait()
		}
		stopped = true
	}
	t.Cleanup(stop) // if the test ends before
	return stop
}

// lose loses a node, and waits until writes are back and then until all nodes are in their places.
func (w *recipeWorld) lose(t *testing.T, what string, f nodeFault) {
	t.Helper()
	lost := w.primary(nil)
	if f.standby {
		lost = w.standby(lost)
	}
	if f.divides {
		w.listed.leave(t)
	}
	w.awaitWrites(t, time.Now())
	for _, s := range w.instances {
		s.acked.restart()
	}
	began := time.Now()
	f.strike(t, lost)
	for _, s := range w.instances {
		s.acked.strike()
	}
	if !f.standby {
		w.awaitOther(t, lost)
	}
	w.awaitWrites(t, time.Now())
	f.heal(t, lost)
	took := w.awaitWhole(t)
	w.whole = max(w.whole, took)
	var outages []string
	for _, s := range w.instances {
		if s.away.Load() {
			continue
		}
		outage := s.acked.outage()
		outages = append(outages, fmt.Sprintf("%.1f s through %s", outage.Seconds(), s.way))
		w.slowest[f.name] = max(w.slowest[f.name], outage)
		if outage > w.limit {
			t.Errorf("%s: no write was acknowledged for %v through %s, want %v at the most", f.name, outage, s.way, w.limit)
		}
	}
	if f.divides {
		w.listed.comeBack(t)
	}
	t.Logf("%s, %s (%s): no writes for %s; whole %.1f s later; %.0f s in all", what, f.name, lost.name, strings.Join(outages, ", "),
		took.Seconds(), time.Since(began).Seconds())
}

// awaitOther waits until another node is the primary.
func (w *recipeWorld) awaitOther(t *testing.T, old *recipeNode) {
	t.Helper()
	for began := time.Now(); ; <-time.After(50 * time.Millisecond) {
		if now := w.primary(old); now != nil && now != old {
			return
		}
		if testlevel.Elapsed(began) > time.Minute {
			t.Fatalf("%s has no successor after a minute", old.name)
		}
	}
}

// awaitWrites waits until each process has acknowledged a write that was sent after the time.
func (w *recipeWorld) awaitWrites(t *testing.T, after time.Time) {
	t.Helper()
	for _, s := range w.instances {
		for began := time.Now(); !s.away.Load() && !s.acked.since(after); <-time.After(10 * time.Millisecond) {
			if testlevel.Elapsed(began) > time.Minute {
				t.Fatalf("no write through %s is acknowledged after a minute:\n%s", s.way, s.process.Load().Log())
			}
		}
	}
}

// check reads everything back, and compares it with what was acknowledged.
func (w *recipeWorld) check(t *testing.T) {
	t.Helper()
	w.run.ReadBack(t)
	w.run.Check(t)
	w.Settle(t)
	onRecord := make(map[string]string) // the checkout of an order
	ids := make(map[string]bool)
	for _, r := range workload.ReadRecords(t, w.Run(t, "export", "--store", w.Store)) {
		order, id := r.Text("provider_order_id"), r.Text("checkout_id")
		if onRecord[order] != "" {
			t.Errorf("%s has two checkouts", order)
		}
		onRecord[order], ids[id] = id, true
	}
	acknowledged, ambiguous, lost := 0, 0, 0
	for _, s := range w.instances {
		acknowledged, ambiguous = acknowledged+len(s.acked.ids), ambiguous+s.acked.lost
		for order, id := range s.acked.ids {
			if onRecord[order] != id {
				lost++
				t.Errorf("%s was acknowledged as %s through %s, on record is %q", order, id, s.way, onRecord[order])
			}
		}
	}
	for _, d := range w.Receiver.Deliveries() {
		if id := d.JSON.Text("data.checkout_id"); !ids[id] {
			t.Errorf("an event of checkout %s was delivered, which is not on record", id)
		}
	}
	t.Logf("%d creates of an order each were acknowledged, %d were ambiguous, %d were lost", acknowledged, ambiguous, lost)
	t.Logf("%d requests about %d shared orders were answered, %d were ambiguous", w.run.Answered(), w.run.Orders(), w.run.Lost())
	t.Logf("the longest time without a write by fault: %v; all nodes were in their places %v later at the most", w.slowest, w.whole)
	if ambiguous == 0 && w.run.Lost() == 0 {
		t.Error("void: no failover met a request")
	}
}
