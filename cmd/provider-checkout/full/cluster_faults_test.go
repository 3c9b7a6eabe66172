package full_test

import (
	"fmt"
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
		took := testlevel.Elapsed(accepting)
		if slowest = max(slowest, took); took > 5*time.Second {
			t.Errorf("creates succeed again %v after PostgreSQL accepts connections, want within 5 s", took)
		}
	}
	t.Logf("creates succeeded again at every process %v after PostgreSQL accepted connections, at the most", slowest)
	eventually(t, "there were 20 requests for each restart", func() bool { return clients.sent.Load() >= int64(20*restarts) })
	stop()
	c.completes(t, clients)
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
			if err := insist(t, func() error { return e.Create(t.Context(), b.Client) }); err != nil {
				t.Error(err)
			}
		})
	}
}

const (
	// ofTheProgram finds its connections to the store, and not the test's own.
	ofTheProgram = `FROM pg_stat_activity WHERE application_name = current_schema() AND pid <> pg_backend_pid()`

	countConnections = `SELECT count(*) ` + ofTheProgram
	// terminateBusy ends a connection, preferably a busy one, and reports whether it was busy.
	terminateBusy = `WITH one AS MATERIALIZED (SELECT pid, state <> 'idle' AS busy ` + ofTheProgram + `
			ORDER BY busy DESC, random() LIMIT 1)
		SELECT count(*) FILTER (WHERE busy) FROM one WHERE pg_terminate_backend(pid)`
	terminateAll = `SELECT count(pg_terminate_backend(pid)) ` + ofTheProgram
)

// PostgreSQL ends the program's connections under load, one at a time and sometimes all of them. No
// request fails: each is retried on another connection, and the outcome of a commit is looked up.
func (b suite) survivesLostConnections(t *testing.T) {
	const poolSize = 8
	kills, done, busy := testlevel.Runs(t, 30), 0, 0
	store := postgrestest.URL(t)
	c := newCluster(t, b, fmt.Sprintf("%s&pool_max_conns=%d", store, poolSize))
	shell := connect(t, store)
	before := c.goroutines(t)
	clients := c.newBackend(&c.addrs)
	clients.strict = true
	stop := c.load(t, clients, noError)
	var slowest time.Duration
	// On a fast machine few connections are busy, so more of them are ended.
	for n := 0; n < kills || busy < kills/4 && n < 4*kills; n++ {
		done++
		<-time.After(workload.Within(c.Rand, 0, 100*time.Millisecond))
		if n%10 < 9 {
			busy += shell.number(t, terminateBusy)
			continue
		}
		shell.number(t, terminateAll)
		slowest = max(slowest, c.succeedAgain(t))
	}
	stop()
	clients.HTTP.CloseIdleConnections()
	awaitAtMost(t, "connections of the program", clusterSize*poolSize, func() int { return shell.number(t, countConnections) })
	// A pool and the operator's listener keep a few for work that arrived meanwhile.
	awaitAtMost(t, "goroutines", before+clusterSize*poolSize, func() int { return c.goroutines(t) })
	t.Logf("%d goroutines before, %d after; %d connections", before, c.goroutines(t), shell.number(t, countConnections))
	lost := c.completes(t, clients)
	t.Logf("%d of %d connections were busy when they were ended; creates succeeded at every process %v after all were ended, at the most",
		busy, done, slowest)
	if lost != 0 {
		t.Errorf("%d commits had an answer that was lost, want none", lost)
	}
	if busy < kills/4 {
		t.Errorf("void: only %d of %d connections were busy when they were ended", busy, done)
	}
}

// All connections that the program may open wait for a lock that another client holds. A request that waits too
// long is answered 503; once the lock is released the program recovers.
func (b suite) recoversFromFullPools(t *testing.T) {
	store := postgrestest.URL(t)
	c := newCluster(t, b, store+"&pool_max_conns=2")
	shell := connect(t, store)
	clients := c.newBackend(&c.addrs)
	stop := c.load(t, clients, apiclient.IsCut)
	var slowest time.Duration
	for range testlevel.Runs(t, 1) {
		turnedAway := clients.busy.Load() + 20
		shell.exec(t, `BEGIN; LOCK TABLE checkouts IN ACCESS EXCLUSIVE MODE`)
		awaitAtMost(t, "requests missing that are turned away", 0, func() int { return int(turnedAway - clients.busy.Load()) })
		shell.exec(t, `ROLLBACK`)
		slowest = max(slowest, c.succeedAgain(t))
	}
	stop()
	t.Logf("creates succeeded at every process %v after there were connections again, at the most", slowest)
	c.completes(t, clients)
}

// succeedAgain waits until a create succeeds at each process, which must be soon, and returns how long that took.
func (c *cluster) succeedAgain(t *testing.T) (took time.Duration) {
	t.Helper()
	began := time.Now()
	c.allSucceed(t)
	if took = testlevel.Elapsed(began); took > 5*time.Second {
		t.Errorf("creates succeed again after %v, want within 5 s", took)
	}
	return took
}

// goroutines returns the number of goroutines in all processes.
func (c *cluster) goroutines(t *testing.T) (sum int) {
	t.Helper()
	for _, s := range c.servers {
		sum += int(s.metric(t, "go_goroutines"))
	}
	return sum
}

// awaitAtMost waits until a count is at most the given number.
func awaitAtMost(t *testing.T, what string, most int, count func() int) {
	t.Helper()
	eventually(t, fmt.Sprint(most, " ", what, " at most"), func() bool { return count() <= most })
}
