package sqlite

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// created returns the change of create number n of a provider.
func created(n int) checkout.Change {
	now := time.UnixMilli(1_800_000_000_000 + int64(n))
	c := checkout.Checkout{
		ID:           checkout.NewID("KOWHAI", now, [10]byte{6: byte(n >> 24), 7: byte(n >> 16), 8: byte(n >> 8), 9: byte(n)}),
		ProviderCode: "KOWHAI", OrderID: fmt.Sprintf("order-%08d", n), IdempotencyKey: fmt.Sprintf("KOWHAI:order-%08d", n),
		RequestID: "req_0123456789abcdefghijklmn", CreatedBy: "provider:abcdefgh", CreatedAt: now, Status: checkout.SetupRequired,
		Student:    checkout.Student{FirstName: "Ānaru", LastName: fmt.Sprint("O’Neill ", n*7919%1000), Email: "anaru@student.example"},
		CourseCode: "NZDIP",
		Intent: checkout.Intent{CourseName: "Diploma in Business", Pricing: money.Pricing{Price: 2990_00, Upfront: 200_00, Principal: 2790_00},
			Plan: money.Plan{Frequency: money.Weekly, Instalments: money.Instalments{Number: 52, Regular: 53_65, Final: 53_85},
				First: money.Date{Year: 2027, Month: 2, Day: 1}}},
		Tokens: []checkout.Token{{Epoch: 1, KID: "k1", Expires: now.AddDate(0, 0, 7)}},
		Setup:  checkout.Setup{Observation: checkout.Observation{BillingRequest: checkout.BillingPending, Authorisation: checkout.CustomerInProgress}},
	}
	event := checkout.Job{ID: "evt_" + c.ID, Kind: checkout.JobDeliver, ProviderCode: c.ProviderCode, CheckoutID: c.ID, RequestID: c.RequestID,
		Name: "checkout.created", CreatedAt: now, Body: make([]byte, 600)}
	return checkout.Change{At: now, Next: c, Jobs: []checkout.Job{event, c.Job(checkout.JobSync, c.RequestID, now, 0)}}
}

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
				if _, err := db.InsertCheckout(b.Context(), created(int(n.Add(1))), 10*time.Second); err != nil {
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
	c := created(1)
	if _, err := db.InsertCheckout(b.Context(), c, 0); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := db.Checkout(b.Context(), c.Next.ID); err != nil {
			b.Fatal(err)
		}
	}
}
