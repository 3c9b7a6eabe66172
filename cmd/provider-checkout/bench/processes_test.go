package bench_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
)

// BenchmarkThreeProcesses shows whether processes on one PostgreSQL slow each other down: it measures the
// creates of the same number of clients, spread over three processes (three/s) and at one of them (one/s), in
// alternating rounds. On a machine that one process uses fully, x-one is about 1.
func BenchmarkThreeProcesses(b *testing.B) {
	const processes, clientsEach = 3, 21
	s := fill(b, postgrestest.QuickURL(b), 0, 0)
	first := s.serve(b)
	alone := dial(b, first.addr, processes*clientsEach)
	spread := dial(b, first.addr, clientsEach)
	for range processes - 1 {
		spread = append(spread, dial(b, s.serve(b).addr, clientsEach)...)
	}
	next := creates(s.key)
	for _, clients := range [][]*benchClient{alone, spread} {
		goRound(b, clients, next, "201", warmUp)
	}
	var one, three, ratios []float64
	for b.Loop() {
		for range roundPairs {
			one = append(one, goRound(b, alone, next, "201", roundLength).rate())
			three = append(three, goRound(b, spread, next, "201", roundLength).rate())
			ratios = append(ratios, three[len(three)-1]/one[len(one)-1])
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(middle(one), "one/s")
	b.ReportMetric(middle(three), "three/s")
	b.ReportMetric(middle(ratios), "x-one")
}
