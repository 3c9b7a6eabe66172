package full_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// TestCluster checks that three processes of the program on one PostgreSQL keep every promise of one process while any
// of them is killed. A long run has as many kills, restarts or orders as it says:
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=100 go test -run TestCluster -timeout 5h ./cmd/provider-checkout/full
func TestCluster(t *testing.T) {
	t.Parallel()
	b := newSuite(t)
	t.Run("creates nothing twice when all processes get the same request at once", b.createsNothingTwice)
	t.Run("is linearizable while processes are killed", b.isLinearizable)
	t.Run("loses nothing when processes are killed", b.survivesKillsOfOne)
	t.Run("loses nothing when PostgreSQL restarts", b.survivesRestartsOfPostgres)
	t.Run("fails no request when its connections are ended", b.survivesLostConnections)
	t.Run("recovers when all its connections were in use", b.recoversFromFullPools)
	t.Run("fails no request while it is restarted in turn", b.restartsInTurn)
	t.Run("fails no request while a newer version takes over", b.isUpgraded)
	t.Run("creates one store when all start at once", b.startsAtOnce)
}

// clusterSize is the number of processes of a cluster.
const clusterSize = 3

// clusterURL is the public address of a cluster; the balancer resolves it.
const clusterURL = "http://cluster.test"

// cluster is several processes on one store, behind a balancer.
type cluster struct {
	*workload.Workload
	addrs     balancer
	ops       [clusterSize]string // where each answers its operator
	processes [clusterSize]*proc.Process
}

// newCluster configures a store in PostgreSQL and starts the processes.
func newCluster(t *testing.T, b suite, store string) *cluster {
	t.Helper()
	c := &cluster{Workload: workload.New(t, b.Binary, store)}
	for i := range clusterSize {
		c.addrs.all = append(c.addrs.all, proc.QuietAddr(t, c.Rand))
		c.launch(t, i)
	}
	for i := range clusterSize {
		c.awaitListening(t, i)
	}
	return c
}

// clusterArgs returns the arguments of one of several servers on the store.
func clusterArgs(store, addr string) []string {
	return append(proc.ServeArgs(store), "--addr", addr, "--ops-addr", "127.0.0.1:0", "--base-url", clusterURL)
}

// launch starts process i.
func (c *cluster) launch(t *testing.T, i int) {
	t.Helper()
	c.processes[i] = proc.Start(t, c.Binary.Command(clusterArgs(c.Store, c.addrs.all[i])...))
}

// awaitListening waits until process i listens.
func (c *cluster) awaitListening(t *testing.T, i int) {
	t.Helper()
	c.ops[i] = "http://" + c.processes[i].Await(t, "listening").OpsAddr
}

// ready asks process i whether it is ready.
func (c *cluster) ready(t *testing.T, i int) (status int) {
	t.Helper()
	resp, err := http.Get(c.ops[i] + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// stop ends every process.
func (c *cluster) stop(t *testing.T) {
	t.Helper()
	for _, p := range c.processes {
		p.Signal(t, syscall.SIGTERM)
	}
	for _, p := range c.processes {
		p.Wait(t)
	}
}

// balancer connects to its addresses in turn.
type balancer struct {
	all  []string
	next atomic.Uint64
}

// dial connects to the next address, and to the one after that only if the connection is refused: a request
// that was sent once is never sent to another process.
func (b *balancer) dial(ctx context.Context, network, _ string) (conn net.Conn, err error) {
	first := b.next.Add(1)
	for i := range len(b.all) {
		addr := b.all[(first+uint64(i))%uint64(len(b.all))]
		conn, err = new(net.Dialer).DialContext(ctx, network, addr)
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return conn, err
		}
	}
	return nil, err
}

// only returns a balancer for process i alone.
func (c *cluster) only(i int) *balancer { return &balancer{all: c.addrs.all[i : i+1]} }

// backend is a client of a cluster that counts its requests.
type backend struct {
	*apiclient.Client
	patient bool // treats a 503 as a lost answer, like a client that will retry the request
	road    *http.Transport

	sent, busy atomic.Int64 // requests, and requests that were answered 503
}

// newBackend returns a patient client that keeps its connections.
func (c *cluster) newBackend(over *balancer) *backend {
	b := &backend{Client: apiclient.New(clusterURL, c.Keys), patient: true}
	b.road = &http.Transport{DialContext: over.dial, MaxIdleConnsPerHost: 64}
	b.HTTP.Transport = b
	return b
}

// RoundTrip implements [http.RoundTripper].
func (b *backend) RoundTrip(req *http.Request) (*http.Response, error) {
	b.sent.Add(1)
	resp, err := b.road.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusServiceUnavailable {
		b.busy.Add(1)
		if b.patient {
			resp.Body.Close()
			return nil, errBusy
		}
	}
	return resp, err
}

// load has clients work on enrolments, twenty a second, until stop is called. An enrolment is about ten
// requests. An error fails the test unless it is excused; then another client continues the enrolment
// later.
func (c *cluster) load(t *testing.T, b *backend, excused func(error) bool) (stop func()) {
	pace, done := time.NewTicker(50*time.Millisecond), make(chan struct{})
	var clients sync.WaitGroup
	for range 48 {
		rng := rand.New(rand.NewPCG(c.Rand.Uint64(), 0))
		clients.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-pace.C:
				}
				e := c.Enrolments.Take(rng)
				if err := e.Complete(context.Background(), b.Client, rng); err != nil {
					c.Enrolments.Leave(e)
					if !excused(err) {
						t.Error(err)
					}
				}
			}
		})
	}
	began := time.Now()
	stop = sync.OnceFunc(func() {
		took := time.Since(began)
		t.Logf("%.0f requests a second for %.0f s, %d of them answered 503", float64(b.sent.Load())/took.Seconds(),
			took.Seconds(), b.busy.Load())
		close(done)
		clients.Wait()
		pace.Stop()
	})
	t.Cleanup(stop) // where the test ends before it stops them
	return stop
}

func noError(error) bool { return false }

// completes checks that every enrolment is completed, and every event delivered, within a minute of the last
// fault. Then it stops the processes and compares the record with all answers. It returns how many commits had
// an answer that was lost.
func (c *cluster) completes(t *testing.T, b *backend) (lost int) {
	t.Helper()
	peace := time.Now()
	undone := len(c.Enrolments.Open)
	c.Finish(t, b.Client)
	c.Settle(t)
	took := time.Since(peace)
	t.Logf("%d of %d enrolments were incomplete; everything was complete %v after the last fault", undone, len(c.Enrolments.All), took)
	if took > time.Minute {
		t.Errorf("everything was complete %v after the last fault, want within 60 s", took)
	}
	c.stop(t)
	return c.Check(t)
}
