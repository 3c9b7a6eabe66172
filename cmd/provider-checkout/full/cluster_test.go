package full_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// TestCluster checks that three processes of the program on one PostgreSQL keep every promise of one process while any
// of them is killed. A long run has as many kills, restarts or orders as it says:
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=100 go test -run TestCluster -timeout 5h ./cmd/provider-checkout/full
func TestCluster(t *testing.T) {
	t.Parallel()
	b := newSuite(t)
	t.Run("creates nothing twice when all processes get the same request at once", b.createsNothingTwice)
	t.Run("loses nothing when processes are killed", b.survivesKillsOfOne)
	t.Run("creates one store when all start at once", b.startsAtOnce)
}

// clusterSize is the number of processes of a cluster.
const clusterSize = 3

// clusterURL is the public address of a cluster; the balancer resolves it.
const clusterURL = "http://cluster.test"

// cluster is several processes on one store, behind a balancer.
type cluster struct {
	*workload
	addrs   balancer
	servers []*server
	env     []string // variables for each process, with spaces between
}

// newCluster configures a store in PostgreSQL and starts the processes: as many as env has variables, or clusterSize.
func newCluster(t *testing.T, b suite, store string, env ...string) *cluster {
	t.Helper()
	if env == nil {
		env = make([]string, clusterSize)
	}
	c := &cluster{workload: newWorkload(t, b.Binary, store), servers: make([]*server, len(env)), env: env}
	for i := range env {
		c.addrs.all = append(c.addrs.all, proc.QuietAddr(t, c.rand))
		c.launch(t, i)
	}
	for _, s := range c.servers {
		s.awaitListening(t)
	}
	return c
}

// clusterArgs returns the arguments of one of several servers on the store.
func clusterArgs(store, addr string) []string {
	return serveArgs(store, "--addr", addr, "--base-url", clusterURL)
}

// launch starts process i.
func (c *cluster) launch(t *testing.T, i int) {
	t.Helper()
	cmd := c.Binary.Command(clusterArgs(c.place, c.addrs.all[i])...)
	cmd.Env = append(cmd.Env, strings.Fields(c.env[i])...)
	c.servers[i] = &server{Process: proc.Start(t, cmd)}
}

// only returns a balancer for process i alone.
func (c *cluster) only(i int) *balancer { return &balancer{all: c.addrs.all[i : i+1]} }

// newBackend returns a client that keeps its connections.
func (c *cluster) newBackend(over *balancer) *backend { return newBackend(clusterURL, c.keys, over) }

// load has clients enrol students, twenty a second, until stop is called. An enrolment is about ten requests.
func (c *cluster) load(t *testing.T, b *backend, excused func(error) bool) (stop func()) {
	end, began := load{clients: 48, pace: 50 * time.Millisecond, excused: excused}.enrol(t, c.workload, b.Client), time.Now()
	return func() {
		took := time.Since(began)
		t.Logf("%.0f requests a second for %.0f s, %d of them answered 503", float64(b.sent.Load())/took.Seconds(),
			took.Seconds(), b.busy.Load())
		end()
	}
}

// completes checks that every enrolment is completed, and every event delivered, within a minute of the last
// fault. Then it stops the processes and compares the record with all answers. It returns how many commits had
// an answer that was lost.
func (c *cluster) completes(t *testing.T, b *backend) (lost int) {
	t.Helper()
	peace := time.Now()
	undone := len(c.enrolments.open)
	c.finish(t, b.Client)
	c.settle(t)
	took := testlevel.Elapsed(peace)
	t.Logf("%d of %d enrolments were incomplete; everything was complete %v after the last fault", undone, len(c.enrolments.all), took)
	if took > time.Minute {
		t.Errorf("everything was complete %v after the last fault, want within 60 s", took)
	}
	stopAll(t, c.servers...)
	return c.check(t)
}

// For every order, 64 clients of each process send the create at the same time, and then the confirm: one
// checkout is opened and confirmed once, and all clients get the same values.
func (b suite) createsNothingTwice(t *testing.T) {
	const clients = 64
	orders := testlevel.Runs(t, 10)
	c := newCluster(t, b, postgrestest.URL(t))
	c.verdicts.acceptAll = true
	var sides [clusterSize]*backend
	for i := range sides {
		sides[i] = c.newBackend(c.only(i))
		sides[i].strict = true
	}
	for range orders {
		e := c.enrolments.begin()
		fromAllSides(t, sides[:], clients, e.noteCreate, func(b *backend) (sandbox.Response, error) { return e.sendCreate(t.Context(), b.Client) })
		if e.opened != 1 {
			t.Fatalf("%s was answered as the first %d times, want once", e.order, e.opened)
		}
		if err := e.setUp(t.Context(), sides[c.rand.IntN(clusterSize)].Client); err != nil {
			t.Fatal(err)
		}
		path, body := e.created.CheckoutPath()+"/confirm", e.created.ConfirmBody()
		fromAllSides(t, sides[:], clients, e.noteConfirm, func(b *backend) (sandbox.Response, error) {
			return b.Call(t.Context(), e.provider, http.MethodPost, path, body)
		})
		if e.confirmed != 1 {
			t.Fatalf("%s was confirmed for the first time %d times, want once", e.order, e.confirmed)
		}
	}
	if lost := c.completes(t, sides[0]); lost != 0 {
		t.Errorf("%d commits had an answer that was lost, want none", lost)
	}
}

// fromAllSides sends a request from many clients of each backend at once, and records every answer.
func fromAllSides(t *testing.T, all []*backend, clients int, note func(sandbox.Response) error, send func(*backend) (sandbox.Response, error)) {
	t.Helper()
	var noting sync.Mutex
	var sending sync.WaitGroup
	gate := make(chan struct{})
	for range clients {
		for _, b := range all {
			sending.Go(func() {
				<-gate
				r, err := send(b)
				noting.Lock()
				defer noting.Unlock()
				if err == nil {
					err = note(r)
				}
				if err != nil {
					t.Error(fmt.Errorf("of many at once, %w", err))
				}
			})
		}
	}
	close(gate)
	sending.Wait()
}

// One process of three is killed at a random moment under load, and started again; sometimes it is
// killed once more while it starts. Everything that was acknowledged is on record, once.
func (b suite) survivesKillsOfOne(t *testing.T) {
	kills := testlevel.Runs(t, 12)
	c := newCluster(t, b, postgrestest.URL(t))
	clients := c.newBackend(&c.addrs)
	stop := c.load(t, clients, apiclient.IsCut)
	hit, done := 0, 0
	// On a fast machine few kills cut a request, so there are more of them.
	for n := 0; n < kills || hit < kills/2 && n < 4*kills; n++ {
		done++
		before := clients.Cut.Load()
		<-time.After(within(c.rand, 0, 300*time.Millisecond))
		i := c.rand.IntN(clusterSize)
		if n%6 == 3 {
			c.servers[i].Stop(t, syscall.SIGTERM)
			c.launch(t, i)
			<-time.After(within(c.rand, 0, 40*time.Millisecond))
		}
		c.servers[i].Kill(t)
		c.launch(t, i)
		c.servers[i].awaitListening(t)
		if clients.Cut.Load() > before {
			hit++
		}
	}
	stop()
	lost := c.completes(t, clients)
	t.Logf("%d of %d kills cut a request that was under way, %d came between a commit and its answer", hit, done, lost)
	if hit < kills/4 || lost == 0 {
		t.Errorf("void: %d of %d kills cut a request that was under way, and %d came between a commit and its answer",
			hit, done, lost)
	}
}

// Ten processes start at once on an empty database, and most of them are killed meanwhile. The others
// share one store: a checkout that one opens is confirmed by the next.
func (b suite) startsAtOnce(t *testing.T) {
	const atOnce = 10
	rounds, half := testlevel.Runs(t, 1), 0
	rng := newRand()
	for range rounds {
		store := postgrestest.URL(t)
		var all []*server
		var addrs []string
		for i := range atOnce {
			addrs = append(addrs, proc.QuietAddr(t, rng))
			all = append(all, &server{Process: proc.Start(t, b.Command(clusterArgs(store, addrs[i])...))})
		}
		for _, p := range all[clusterSize:] {
			<-time.After(within(rng, 0, 30*time.Millisecond))
			p.Kill(t)
			if p.Log() == "" {
				half++
			}
		}
		for _, p := range all[:clusterSize] {
			p.awaitListening(t)
		}
		c := &cluster{workload: newWorkload(t, b.Binary, store), servers: all[:clusterSize]}
		c.addrs.all = addrs // addresses of killed processes refuse connections
		clients := c.newBackend(&c.addrs)
		clients.strict, clients.DisableKeepAlives = true, true
		for range 4 {
			if err := c.enrolments.begin().complete(t.Context(), clients.Client, rng); err != nil {
				t.Error(err)
			}
		}
		c.completes(t, clients)
	}
	t.Logf("%d of %d kills found a process that did not listen yet", half, rounds*(atOnce-clusterSize))
	if half == 0 {
		t.Error("void: every process that was killed listened already")
	}
}
