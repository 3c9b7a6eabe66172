package full_test

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

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
