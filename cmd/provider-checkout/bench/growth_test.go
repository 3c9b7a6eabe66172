package bench_test

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// checkoutsVariable names the number of checkouts that BenchmarkGrowth stores, or several numbers separated by commas.
const checkoutsVariable = "PROVIDER_CHECKOUT_BENCH_CHECKOUTS"

// few is the number of checkouts in the store that a grown one is compared with.
const few = 10_000

// BenchmarkGrowth shows what grows with the number of stored checkouts: 100,000, or the number in the environment.
//
//	PROVIDER_CHECKOUT_BENCH_CHECKOUTS=1000000 go test -bench Growth -timeout 0 ./cmd/provider-checkout/bench
//
// Creates, replays and gets are compared with those on a store with few. The files are in the page cache,
// because they have just been written.
func BenchmarkGrowth(b *testing.B) {
	numbers := "100000"
	if given := os.Getenv(checkoutsVariable); given != "" {
		numbers = given
	}
	onEachStore(b, func(b *testing.B, place func() string) {
		b.Run("agreement", func(b *testing.B) { agreementSize(b, place()) })
		small := grow(b, place(), few)
		for text := range strings.SplitSeq(numbers, ",") {
			n, err := strconv.Atoi(text)
			if err != nil || n < few {
				b.Fatalf("%s is %q; want numbers from %d on, with commas between", checkoutsVariable, numbers, few)
			}
			b.Run("checkouts="+text, func(b *testing.B) { growth(b, small, grow(b, place(), n)) })
		}
	})
}

func growth(b *testing.B, small, large *grown) {
	b.Run("open", large.opens)
	b.Run("recovery", large.recovery)
	b.Run("export", large.export)
	b.Run("start", large.starts)
	for _, load := range []struct {
		name, status string
		of           func(*grown) errand
	}{
		{"create", "201", func(g *grown) errand { return g.create }},
		{"replay", "200", func(g *grown) errand { return inTurn(g.replays()) }},
		{"get", "200", func(g *grown) errand { return inTurn(gets(g.key, g.ids)) }},
	} {
		b.Run(load.name, func(b *testing.B) {
			compare(b,
				&contender{child: large.serveIdle(b), name: "ours", next: load.of(large), status: load.status},
				&contender{child: small.serveIdle(b), name: "few", next: load.of(small), status: load.status})
		})
	}
}

// grown is a store with n checkouts, all of which wait for their setup.
type grown struct {
	*benchStore
	n      int
	filled time.Duration // how long that took
	create errand        // creates of orders that it does not have yet
	ids    []string      // of few of the checkouts, from the whole store
}

func (g *grown) replays() (all [][]byte) {
	for i := range g.ids {
		all = append(all, createRequest(g.key, uint64(i*(g.n/few))))
	}
	return all
}

// grow makes a store with n checkouts. A sample has few of them, however large the store is, because the requests for more would
// take CPU cache away from the server.
func grow(b *testing.B, spec string, n int) *grown {
	b.Helper()
	g := &grown{benchStore: fill(b, spec, 0, 0), n: n, ids: make([]string, few)}
	g.create = creates(g.key)
	db := openStore(b, spec)
	defer db.Close()
	began, step := time.Now(), n/few
	g.insertMany(b, db, 0, n, false, func(i int, c *checkout.Checkout) {
		if i%step == 0 && i/step < few {
			g.ids[i/step] = c.ID
		}
	})
	g.filled = time.Since(began)
	return g
}

// sizeOf returns the bytes of the store that --store names. PostgreSQL vacuums before, as it would by itself in its time.
func sizeOf(b *testing.B, spec string) (bytes float64) {
	b.Helper()
	if path, isFile := strings.CutPrefix(spec, "sqlite:"); isFile {
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		return float64(info.Size())
	}
	ctx := context.WithoutCancel(b.Context())
	conn, err := pgx.Connect(ctx, spec)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `VACUUM ANALYZE`)
	if err == nil {
		err = conn.QueryRow(ctx, `SELECT sum(pg_total_relation_size(oid))::float8 FROM pg_class
			WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`).Scan(&bytes)
	}
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}

// agreementSize measures how much a confirm of 52 instalments adds to a checkout: its agreement, PDF and two events.
func agreementSize(b *testing.B, spec string) {
	s := fill(b, spec, 0, 500)
	before := sizeOf(b, spec)
	c := s.serve(b)
	goRound(b, dial(b, c.addr, 16), once(s.confirms(b)), "200", time.Minute)
	c.stop() // which folds the log into a file
	alone(b, (sizeOf(b, spec)-before)/float64(len(s.ready)), "bytes/agreement")
}

// alone reports one metric, without the time of an operation, which would mean nothing.
func alone(b *testing.B, value float64, unit string) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(value, unit)
}

func (g *grown) opens(b *testing.B) {
	size := sizeOf(b, g.spec)
	for b.Loop() {
		if err := openStore(b, g.spec).Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(size/1e6, "MB")
	b.ReportMetric(size/float64(g.n), "bytes/checkout")
	b.ReportMetric(float64(g.n)/g.filled.Seconds(), "filled/s")
}

// starts measures the time from the start of a process to its first answer, to a get.
func (g *grown) starts(b *testing.B) {
	var took []float64
	get := gets(g.key, g.ids[:1])[0]
	for b.Loop() {
		began := time.Now()
		c := g.serve(b)
		if err := dial(b, c.addr, 1)[0].ask(get, "200"); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began).Seconds()*1000)
		b.StopTimer()
		c.stop()
		b.StartTimer()
	}
	alone(b, middle(took), "ms-to-first-answer")
}

// serveIdle starts the service and waits until its background integrity check of a large file has ended: until it has
// used almost no CPU time for longer than the check's pause between two tables, which is three times as long as
// reading the first took.
func (g *grown) serveIdle(b *testing.B) *child {
	b.Helper()
	c := g.serve(b)
	before, idle := c.cpu(), time.Duration(0)
	for range time.Tick(time.Second) {
		now := c.cpu()
		idle += time.Second
		if now-before >= 50*time.Millisecond {
			idle = 0
		}
		if idle > 3*now {
			break
		}
		before = now
	}
	return c
}

// recovery measures the query that a server makes every few seconds, with a hundred events left by a crash.
func (g *grown) recovery(b *testing.B) {
	db := openStore(b, g.spec)
	defer db.Close()
	g.insertMany(b, db, newOrders-100, 100, true, func(int, *checkout.Checkout) {})
	ctx := context.WithoutCancel(b.Context())
	for b.Loop() {
		found, err := db.Lease(ctx, checkout.JobQuery{Now: time.Now(), Kinds: []checkout.JobKind{checkout.JobDeliver}, Limit: 1000})
		if err != nil || len(found) != 100 {
			b.Fatalf("%d events that a crash left, %v; want 100", len(found), err)
		}
		if _, err := db.Backlog(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// export reads everything on record, and reports how much more of the heap is in use meanwhile.
func (g *grown) export(b *testing.B) {
	db := openStore(b, g.spec)
	defer db.Close()
	began, read, most := time.Now(), 0, uint64(0)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	err := db.Export(context.WithoutCancel(b.Context()), checkout.Visitor{
		Configuration: func(catalogue.Configuration) error { return nil },
		Key:           func(catalogue.Key) error { return nil },
		Checkout: func(checkout.CheckoutRecord) error {
			if read++; read%10_000 == 0 {
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
			}
			return nil
		},
	})
	if err != nil || read < g.n {
		b.Fatalf("%d checkouts exported, %v; want %d", read, err, g.n)
	}
	alone(b, float64(read)/time.Since(began).Seconds(), "checkouts/s")
	alone(b, float64(most)/1e6, "heap-MB")
}
