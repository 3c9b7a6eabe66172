package full_test

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
)

// Every process in turn is terminated and started again, under two hundred requests a second from
// clients that connect elsewhere if a connection is refused, and otherwise take the answer they get.
func (b suite) restartsInTurn(t *testing.T) {
	rolls := testlevel.Runs(t, 2)
	c := newCluster(t, b, postgrestest.URL(t))
	clients := c.newBackend(&c.addrs)
	clients.strict, clients.DisableKeepAlives = true, true
	stop := c.load(t, clients, noError)
	var slowest restart
	for range rolls {
		for i := range clusterSize {
			r := c.restart(t, i, b)
			slowest.drain, slowest.ready = max(slowest.drain, r.drain), max(slowest.ready, r.ready)
		}
	}
	stop()
	t.Logf("a process drained in %v and was ready again in %v, at the most", slowest.drain, slowest.ready)
	if lost := c.completes(t, clients); lost != 0 {
		t.Errorf("%d commits had an answer that was lost, want none", lost)
	}
}

// restart is the time that a process took to end after SIGTERM, and the time that the next took to be ready.
type restart struct{ drain, ready time.Duration }

// restart drains process i, and starts the program in its place.
func (c *cluster) restart(t *testing.T, i int, program suite) (took restart) {
	t.Helper()
	stopped := time.Now()
	c.servers[i].Stop(t, syscall.SIGTERM)
	if took.drain = time.Since(stopped); took.drain > 15*time.Second {
		t.Errorf("the process drained for %v, want 15 s at most", took.drain)
	}
	c.Binary = program.Binary
	began := time.Now()
	c.launch(t, i)
	c.servers[i].awaitListening(t)
	for c.servers[i].readyz(t).StatusCode != http.StatusOK && time.Since(began) < 10*time.Second {
		<-time.After(5 * time.Millisecond)
	}
	if took.ready = time.Since(began); took.ready > 2*time.Second {
		t.Errorf("the process was ready %v after its start, want within 2 s", took.ready)
	}
	return took
}
