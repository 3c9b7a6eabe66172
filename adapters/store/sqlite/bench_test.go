package sqlite

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
)

func processorTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func BenchmarkInsert(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(clients, " clients"), func(b *testing.B) {
			db := open(b, file(b), Options{})
			var n atomic.Int64
			b.SetParallelism(max(1, clients/2)) // of two processors
			before := processorTime()
			b.ResetTimer()
			insert := func() {
				if _, err := db.InsertCheckout(b.Context(), storetest.Opened(int(n.Add(1))), 10*time.Second); err != nil {
					b.Error(err)
				}
			}
			if clients == 1 {
				for b.Loop() {
					insert()
				}
			} else {
				b.RunParallel(func(p *testing.PB) {
					for p.Next() {
						insert()
					}
				})
			}
			b.ReportMetric(float64((processorTime()-before).Microseconds())/float64(n.Load()), "cpu-µs/op")
			b.ReportMetric(float64(n.Load())/b.Elapsed().Seconds(), "inserts/s")
		})
	}
}

func BenchmarkCheckout(b *testing.B) {
	db := open(b, file(b), Options{})
	c := storetest.Opened(1)
	if _, err := db.InsertCheckout(b.Context(), c, 0); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := db.Checkout(b.Context(), c.Next.ID); err != nil {
			b.Fatal(err)
		}
	}
}
