package bench_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// A benchmark is this many pairs of rounds of this length, after a pair that does not count.
const (
	roundPairs  = 5
	roundLength = 400 * time.Millisecond
	warmUp      = 150 * time.Millisecond
)

// contender is a server and the requests that it gets.
type contender struct {
	*child
	name   string // as the metrics call it
	next   errand
	status string // that all its answers must have

	clients []*benchClient
	rates   []float64
	took    []time.Duration
	used    time.Duration // of the processor
}

// compare reports the speed of ours with 1, 16 and 64 clients, and its ratio to other, which may be
// nil. Their rounds alternate, so that other load on the machine affects both alike. The CPU time of
// an answer is affected least by such load.
func compare(b *testing.B, ours, other *contender) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			all := []*contender{ours}
			if other != nil {
				all = append(all, other)
			}
			for _, c := range all {
				c.begin(b, clients)
			}
			for b.Loop() {
				for i := range roundPairs {
					for j := range all {
						all[(i+j)%len(all)].goOn(b)
					}
				}
			}
			report(b, ours, other)
		})
	}
}

// begin connects the clients and warms the server up.
func (c *contender) begin(b *testing.B, clients int) {
	b.Helper()
	c.clients = dial(b, c.addr, clients)
	c.rates, c.took, c.used = nil, nil, 0
	goRound(b, c.clients, c.next, c.status, warmUp)
}

// goOn runs one round.
func (c *contender) goOn(b *testing.B) {
	b.Helper()
	before := c.cpu()
	r := goRound(b, c.clients, c.next, c.status, roundLength)
	c.used += c.cpu() - before
	c.rates = append(c.rates, r.rate())
	c.took = append(c.took, r.took...)
}

func report(b *testing.B, ours, other *contender) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // an operation is a whole series of rounds, which says nothing
	ours.report(b)
	if other == nil {
		return
	}
	other.report(b)
	var ratios []float64
	for i, rate := range ours.rates {
		ratios = append(ratios, rate/other.rates[i])
	}
	b.ReportMetric(middle(ratios), "x-"+other.name)
	b.ReportMetric(float64(ours.p99())/float64(other.p99()), "p99-x-"+other.name)
	if other.used > 0 {
		b.ReportMetric(float64(ours.perAnswer())/float64(other.perAnswer()), "cpu-x-"+other.name)
	}
}

func (c *contender) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(middle(c.rates), c.name+"/s")
	b.ReportMetric(float64(c.p99().Microseconds())/1000, c.name+"-p99-ms")
	b.ReportMetric(float64(c.perAnswer().Nanoseconds())/1000, c.name+"-cpu-µs")
	b.ReportMetric(c.peak(), c.name+"-peak-MB")
}

// perAnswer returns the CPU time that the server used for each answer.
func (c *contender) perAnswer() time.Duration { return c.used / time.Duration(max(1, len(c.took))) }

// p99 returns the 99th percentile of the latency.
func (c *contender) p99() time.Duration {
	sorted := slices.Sorted(slices.Values(c.took))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)*99/100]
}

// middle returns the median.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
