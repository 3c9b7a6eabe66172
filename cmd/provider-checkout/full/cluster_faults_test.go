package full_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
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

// Ten processes start at once on an empty database, and most of them are killed meanwhile. The others
// share one store: a checkout that one opens is confirmed by the next.
func (b suite) startsAtOnce(t *testing.T) {
	const atOnce = 10
	rounds, half := testlevel.Runs(t, 1), 0
	rng := workload.NewRand(t)
	for range rounds {
		store := postgrestest.URL(t)
		var all []*server
		var addrs []string
		for i := range atOnce {
			addrs = append(addrs, proc.QuietAddr(t, rng))
			all = append(all, &server{Process: proc.Start(t, b.Command(clusterArgs(store, addrs[i])...))})
		}
		for _, p := range all[clusterSize:] {
			<-time.After(workload.Within(rng, 0, 30*time.Millisecond))
			p.Kill(t)
			if p.Log() == "" {
				half++
			}
		}
		for _, p := range all[:clusterSize] {
			p.awaitListening(t)
		}
		c := &cluster{Workload: workload.New(t, b.Binary, store), servers: all[:clusterSize]}
		c.addrs.all = addrs // addresses of killed processes refuse connections
		clients := c.newBackend(&c.addrs)
		clients.strict, clients.DisableKeepAlives = true, true
		for range 4 {
			if err := c.Enrolments.Begin().Complete(t.Context(), clients.Client, rng); err != nil {
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
