package full_test

import (
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

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
		<-time.After(workload.Within(c.Rand, 0, 300*time.Millisecond))
		i := c.Rand.IntN(clusterSize)
		if n%6 == 3 {
			c.servers[i].Stop(t, syscall.SIGTERM)
			c.launch(t, i)
			<-time.After(workload.Within(c.Rand, 0, 40*time.Millisecond))
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

// PostgreSQL is restarted at random moments under load, without notice. Every process recovers by
// itself.
func (b suite) survivesRestartsOfPostgres(t *testing.T) {
	restarts := testlevel.Runs(t, 3)
	server := postgrestest.New(t)
	c := newCluster(t, b, server.URL(t))
	clients := c.newBackend(&c.addrs)
	stop := c.load(t, clients, apiclient.IsCut)
	var slowest time.Duration
	for range restarts {
		<-time.After(workload.Within(c.Rand, 100*time.Millisecond, time.Second))
		server.Restart(t)
		accepting := time.Now()
		c.allSucceed(t)
		took := time.Since(accepting)
		if slowest = max(slowest, took); took > 5*time.Second {
			t.Errorf("creates succeed again %v after PostgreSQL accepts connections, want within 5 s", took)
		}
	}
	t.Logf("creates succeeded again at every process %v after PostgreSQL accepted connections, at the most", slowest)
	stop()
	c.completes(t, clients)
	if sent := clients.sent.Load(); sent < int64(20*restarts) {
		t.Errorf("void: there were only %d requests for %d restarts", sent, restarts)
	}
}

// allSucceed waits until a create has succeeded at each process.
func (c *cluster) allSucceed(t *testing.T) {
	t.Helper()
	var all sync.WaitGroup
	defer all.Wait()
	for i := range clusterSize {
		all.Go(func() {
			e, b := c.Enrolments.Begin(), c.newBackend(c.only(i))
			defer c.Enrolments.Leave(e)
			defer b.HTTP.CloseIdleConnections()
			for limit := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
				r, err := e.SendCreate(t.Context(), b.Client)
				if err == nil {
					err = e.NoteCreate(r)
				}
				if err == nil {
					return
				}
				if !apiclient.IsCut(err) || time.Now().After(limit) {
					t.Error(err)
					return
				}
			}
		})
	}
}
