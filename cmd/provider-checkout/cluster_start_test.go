package main

import (
	"os/exec"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/postgrestest"
)

// Ten processes start at once on a database in which there is nothing, and most of them are killed
// meanwhile. The others agree on one store: what one opens, the next confirms.
func (b binary) startsAtOnce(t *testing.T) {
	const atOnce = 10
	rounds, half := full(10, 1), 0
	rng := newRand(t)
	for range rounds {
		store := postgrestest.URL(t)
		var all []*process
		var addrs []string
		for i := range atOnce {
			addrs = append(addrs, quietAddr(t, rng))
			all = append(all, start(t, exec.Command(string(b), clusterArgs(store, addrs[i])...)))
		}
		for _, p := range all[clusterSize:] {
			<-time.After(within(rng, 0, 30*time.Millisecond))
			p.kill(t)
			if p.log() == "" {
				half++
			}
		}
		for _, p := range all[:clusterSize] {
			p.listening(t)
		}
		c := &cluster{trial: newTrial(t, b, store), processes: [clusterSize]*process(all[:clusterSize])}
		c.addrs.all = addrs // the dead refuse
		clients := c.newBackend(&c.addrs)
		clients.patient, clients.road.DisableKeepAlives = false, true
		for range 4 {
			if err := c.work.begin().goOn(t.Context(), clients.caller, rng); err != nil {
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
