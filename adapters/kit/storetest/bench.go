package storetest

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Benchmark measures what a create, a poll and a confirm cost in a store, without the service around it. cpu-µs/op is the
// processor time of this process.
func Benchmark(b *testing.B, open func(b *testing.B) ports.Admin) {
	b.Run("insert", func(b *testing.B) { benchInsert(b, open(b), func(n int) checkout.Change { return benchCheckout(n) }) })
	b.Run("insert with header", func(b *testing.B) {
		benchInsert(b, open(b), func(n int) checkout.Change {
			return under(n, fmt.Sprint("order-", n), fmt.Sprint("header-", n))
		})
	})
	b.Run("read", func(b *testing.B) { benchRead(b, open(b)) })
	b.Run("update", func(b *testing.B) { benchUpdate(b, open(b)) })
	b.Run("lease beside a backlog", func(b *testing.B) { benchLease(b, open(b)) })
}

const benchOnRecord = 2000

func benchCheckout(n int) checkout.Change {
	c := byDefault(n, fmt.Sprint("order-", n))
	c.Events[0].Body = bytes.Repeat([]byte("x"), 480) // as long as that of checkout.created
	return c
}

func benchFill(b *testing.B, s ports.Admin) {
	b.Helper()
	for n := range benchOnRecord {
		c := benchCheckout(n)
		c.Next = completed(c.Next)
		if err := s.InsertCheckout(b.Context(), c, pending()); err != nil {
			b.Fatal(err)
		}
	}
}

// benchParallel calls f from several goroutines, and reports the processor time of each call.
func benchParallel(b *testing.B, f func(n int) error) {
	var calls atomic.Int64
	b.SetParallelism(8)
	b.ReportAllocs()
	began := processorTime()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := f(int(calls.Add(1))); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64((processorTime()-began).Microseconds())/float64(b.N), "cpu-µs/op")
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchInsert(b *testing.B, s ports.Admin, change func(n int) checkout.Change) {
	benchParallel(b, func(n int) error { return s.InsertCheckout(b.Context(), change(n), pending()) })
}

func benchRead(b *testing.B, s ports.Admin) {
	benchFill(b, s)
	benchParallel(b, func(n int) error {
		_, err := s.Checkout(b.Context(), opened(n%benchOnRecord).Next.ID)
		return err
	})
}

func benchUpdate(b *testing.B, s ports.Admin) {
	benchFill(b, s)
	benchParallel(b, func(n int) error {
		return s.UpdateCheckout(b.Context(), opened(n*17%benchOnRecord).Next.ID, pending(),
			func(c checkout.Checkout) (checkout.Change, error) {
				c.Tokens[0].Epoch++
				return checkout.Change{Next: c}, nil
			})
	})
}

// benchLease leases jobs of many providers, one of whose receivers is dead.
func benchLease(b *testing.B, s ports.Admin) {
	const waiting, atOnce, providers = 50_000, 500, 20
	for n := 0; n < waiting; n += atOnce {
		batch := make([]checkout.Job, atOnce)
		for i := range batch {
			c := ofProvider("DEAD", opened(n+i)).Next
			batch[i] = job(c, checkout.JobDeliver, 0)
		}
		for i := range providers {
			batch[i] = job(ofProvider(fmt.Sprint("P", i), opened(n)).Next, checkout.JobDeliver, 0)
		}
		if _, err := s.Enqueue(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		leases, err := s.Lease(b.Context(), checkout.JobQuery{Now: time.Now(), For: time.Millisecond, Kinds: checkout.JobKinds(), Limit: 64, PerPartition: 2})
		if err != nil || len(leases) != 2*(providers+1) {
			b.Fatalf("leased %d jobs, %v; want two of each provider", len(leases), err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
