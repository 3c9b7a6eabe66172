package full_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/linear"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

const clientsEach = 16 // for each process

// Clients send requests about a few shared orders to random processes: competing creates, gets, the payer's
// setup, confirms and repeated confirms. Processes are killed meanwhile. The history of each order must be
// linearizable: one process that handles one request at a time could have given the same responses.
func (b suite) isLinearizable(t *testing.T) {
	runs, length := testlevel.Runs(t, 1), 5*time.Second
	if testlevel.IsLong() {
		length = time.Minute
	}
	for n := range runs {
		t.Run(fmt.Sprintf("run %d of %v", n+1, length), func(t *testing.T) { b.isLinearizableFor(t, length) })
	}
}

func (b suite) isLinearizableFor(t *testing.T, length time.Duration) {
	c := newCluster(t, b, postgrestest.URL(t))
	c.Verdicts.AcceptAll = true // with a slow receiver there are few requests
	var each []*apiclient.Client
	for i := range clusterSize {
		each = append(each, c.newBackend(c.only(i)).Client)
	}
	l, began := linear.NewRun(each), time.Now()
	end := began.Add(length)
	var clients sync.WaitGroup
	defer clients.Wait()
	for id := range clusterSize * clientsEach {
		rng := rand.New(rand.NewPCG(c.Rand.Uint64(), 0))
		clients.Go(func() {
			for time.Now().Before(end) {
				l.Ask(t, id, rng)
			}
		})
	}
	kills := c.killRepeatedly(t, end)
	clients.Wait()
	rate, lost := float64(l.Answered())/time.Since(began).Seconds(), l.Lost()
	l.ReadBack(t)
	stopAll(t, c.servers...)
	l.Check(t)
	t.Logf("%.0f responses a second about %d orders; %d kills, %d responses were lost", rate, l.Orders(), kills, lost)
	if least := 40; rate < float64(least) || lost == 0 {
		t.Errorf("void: there were %.0f responses a second, want %d; %d were lost, want at least one", rate, least, lost)
	}
}

// killRepeatedly kills processes and starts them again, until the end.
func (c *cluster) killRepeatedly(t *testing.T, end time.Time) (kills int) {
	t.Helper()
	for ; ; kills++ {
		<-time.After(workload.Within(c.Rand, 200*time.Millisecond, 1200*time.Millisecond))
		if time.Now().After(end) {
			return kills
		}
		i := c.Rand.IntN(clusterSize)
		c.servers[i].Kill(t)
		c.launch(t, i)
		c.servers[i].awaitListening(t)
	}
}
