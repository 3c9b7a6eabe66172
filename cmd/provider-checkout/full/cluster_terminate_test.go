package full_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

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
	if took = time.Since(began); took > 5*time.Second {
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
