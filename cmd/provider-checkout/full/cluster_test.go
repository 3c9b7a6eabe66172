package full_test

import (
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
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
	t.Run("loses nothing when processes are killed", b.survivesKillsOfOne)
	t.Run("creates one store when all start at once", b.startsAtOnce)
}

// clusterSize is the number of processes of a cluster.
const clusterSize = 3

// clusterURL is the public address of a cluster; the balancer resolves it.
const clusterURL = "http://cluster.test"

// cluster is several processes on one store, behind a balancer.
type cluster struct {
	*workload.Workload
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
	c := &cluster{Workload: workload.New(t, b.Binary, store), servers: make([]*server, len(env)), env: env}
	for i := range env {
		c.addrs.all = append(c.addrs.all, proc.QuietAddr(t, c.Rand))
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
	cmd := c.Binary.Command(clusterArgs(c.Store, c.addrs.all[i])...)
	cmd.Env = append(cmd.Env, strings.Fields(c.env[i])...)
	c.servers[i] = &server{Process: proc.Start(t, cmd)}
}

// only returns a balancer for process i alone.
func (c *cluster) only(i int) *balancer { return &balancer{all: c.addrs.all[i : i+1]} }

// newBackend returns a client that keeps its connections.
func (c *cluster) newBackend(over *balancer) *backend { return newBackend(clusterURL, c.Keys, over) }

// load has clients enrol students, twenty a second, until stop is called. An enrolment is about ten requests.
func (c *cluster) load(t *testing.T, b *backend, excused func(error) bool) (stop func()) {
	end, began := load{clients: 48, pace: 50 * time.Millisecond, excused: excused}.enrol(t, c.Workload, b.Client), time.Now()
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
	undone := len(c.Enrolments.Open)
	c.Finish(t, b.Client)
	c.Settle(t)
	took := testlevel.Elapsed(peace)
	t.Logf("%d of %d enrolments were incomplete; everything was complete %v after the last fault", undone, len(c.Enrolments.All), took)
	if took > time.Minute {
		t.Errorf("everything was complete %v after the last fault, want within 60 s", took)
	}
	stopAll(t, c.servers...)
	return c.Check(t)
}
