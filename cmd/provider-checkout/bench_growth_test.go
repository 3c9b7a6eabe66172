package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

// checkoutsVariable is how many checkouts BenchmarkGrowth has on file, or several numbers with commas between.
const checkoutsVariable = "PROVIDER_CHECKOUT_BENCH_CHECKOUTS"

// few is how many checkouts the store has that a grown one is compared with.
const few = 10_000

// BenchmarkGrowth shows what grows with the checkouts on file: 100,000, or as many as the environment says.
//
//	PROVIDER_CHECKOUT_BENCH_CHECKOUTS=1000000 go test -run - -bench Growth -timeout 0 ./cmd/provider-checkout
//
// Creates, replays and gets are compared with those on a store with few; the files are in the
// system's memory, as they are where this has just filled them.
func BenchmarkGrowth(b *testing.B) {
	numbers := "100000"
	if given := os.Getenv(checkoutsVariable); given != "" {
		numbers = given
	}
	b.Run("agreement", agreementSize)
	small := grow(b, few)
	for text := range strings.SplitSeq(numbers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < few {
			b.Fatalf("%s is %q; want numbers from %d on, with commas between", checkoutsVariable, numbers, few)
		}
		b.Run("checkouts="+text, func(b *testing.B) { growth(b, small, grow(b, n)) })
	}
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
		{"get", "200", func(g *grown) errand { return inTurn(gets(g.key, g.ids())) }},
	} {
		b.Run(load.name, func(b *testing.B) {
			compare(b,
				&contender{child: large.serveIdle(b), name: "ours", next: load.of(large), status: load.status},
				&contender{child: small.serveIdle(b), name: "few", next: load.of(small), status: load.status})
		})
	}
}

// grown is a store with n checkouts more than the one that the service made, all of which wait for their setup.
type grown struct {
	*benchStore
	path   string
	n      int
	filled time.Duration // how long that took
	create errand        // creates of orders that it does not have yet
}

// The nth checkout has an id and an order that SQL and Go make alike, and was made in the nth millisecond.
const (
	grownSince = 1_700_000_000_000
	grownID    = `'TUI-' || (1700000000000 + n) || '-' || printf('%016d', n)`
	grownOrder = `printf('%016x', n * 2654435761 % 4294967296)`
)

func (g *grown) id(n int) string { return fmt.Sprintf("TUI-%d-%016d", grownSince+n, n) }

// sample is the numbers of few checkouts from all over the file: of so few whatever the store has, for
// more would not stay in the client's part of the processor's cache, to the cost of the server's.
func (g *grown) sample() []int {
	numbers := make([]int, few)
	for i := range numbers {
		numbers[i] = 1 + i*(g.n/few)*7919%g.n
	}
	return numbers
}

func (g *grown) ids() (ids []string) {
	for _, n := range g.sample() {
		ids = append(ids, g.id(n))
	}
	return ids
}

func (g *grown) replays() (all [][]byte) {
	for _, n := range g.sample() {
		all = append(all, createRequest(g.key, uint64(n)))
	}
	return all
}

// grow makes a store in which one checkout is stored by the store itself and copied n times by SQL, which is some
// ten times as fast: with an id, an order and an event of its own each.
func grow(b *testing.B, n int) *grown {
	b.Helper()
	path := filepath.Join(b.TempDir(), "store.db")
	g := &grown{benchStore: fill(b, "sqlite:"+path, 1, 0), path: path, n: n}
	g.create = creates(g.key)
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(off)&_pragma=synchronous(off)&_pragma=cache_size(-4000000)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	checkouts := copying(b, db, "checkouts", map[string]string{
		"id": grownID, "provider_order_id": grownOrder, "created_ms": "1700000000000 + n"})
	events := copying(b, db, "events", map[string]string{
		"id": `'evt_' || lower(hex(randomblob(18)))`, "checkout_id": grownID, "provider_order_id": grownOrder, "created_ms": "1700000000000 + n"})
	began := time.Now()
	const batch = 20_000 // the tables' pages alternate in the file, as they do in one that grows slowly
	for first := 1; first <= n; first += batch {
		for _, statement := range []string{checkouts, events} {
			if _, err := db.Exec(statement, first, min(first+batch-1, n)); err != nil {
				b.Fatal(err)
			}
		}
	}
	g.filled = time.Since(began)
	return g
}

// copying returns the statement that copies a table's first row for each n from one argument to the other, with
// new values for some of its columns.
func copying(b *testing.B, db *sql.DB, table string, values map[string]string) string {
	b.Helper()
	rows, err := db.Query(`SELECT name FROM pragma_table_info(?) WHERE name <> 'seq'`, table)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	var names, from []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			b.Fatal(err)
		}
		names = append(names, name)
		if value, ok := values[name]; ok {
			from = append(from, value)
		} else {
			from = append(from, "t."+name)
		}
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return fmt.Sprintf(`WITH RECURSIVE numbers (n) AS (VALUES (?1) UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
		INSERT INTO %s (%s) SELECT %s FROM numbers, (SELECT * FROM %[1]s WHERE seq = 1) AS t`,
		table, strings.Join(names, ", "), strings.Join(from, ", "))
}

// alone is a metric that an operation's own time says nothing of.
func alone(b *testing.B, value float64, unit string) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(value, unit)
}

// agreementSize is how much a confirm of 52 instalments adds to a checkout: its agreement, PDF and two events.
func agreementSize(b *testing.B) {
	path := filepath.Join(b.TempDir(), "store.db")
	s := fill(b, "sqlite:"+path, 0, 500)
	before := fileSize(b, path)
	c := s.serve(b)
	goRound(b, dial(b, c.addr, 16), once(s.confirms(b)), "200", time.Minute)
	c.stop() // which folds the log into the file
	alone(b, (fileSize(b, path)-before)/float64(len(s.ready)), "bytes/agreement")
}

func fileSize(b *testing.B, path string) float64 {
	b.Helper()
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return float64(info.Size())
}

// open opens the store for a server.
func (g *grown) open(b *testing.B) *sqlite.DB {
	b.Helper()
	db, err := sqlite.Open(b.Context(), g.path, sqlite.Options{Environment: catalogue.Sandbox})
	if err != nil {
		b.Fatal(err)
	}
	return db
}

func (g *grown) opens(b *testing.B) {
	size := fileSize(b, g.path)
	for b.Loop() {
		if err := g.open(b).Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(size/1e6, "MB")
	b.ReportMetric(size/float64(g.n), "bytes/checkout")
	b.ReportMetric(float64(g.n)/g.filled.Seconds(), "filled/s")
}

// starts is from the start of a process to its first answer, which is a get.
func (g *grown) starts(b *testing.B) {
	var took []float64
	get := gets(g.key, g.ids()[:1])[0]
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

// serveIdle starts the service and waits until it has read a large file through, which it does while it serves:
// until it uses next to nothing of the processor.
func (g *grown) serveIdle(b *testing.B) *child {
	b.Helper()
	c := g.serve(b)
	before := c.cpu()
	for range time.Tick(time.Second) {
		now := c.cpu()
		if now-before < 50*time.Millisecond {
			break
		}
		before = now
	}
	return c
}

// recovery is what a server asks every few seconds, on a store with a hundred events that a crash left behind.
func (g *grown) recovery(b *testing.B) {
	db := g.open(b)
	defer db.Close()
	g.exec(b, `UPDATE events SET status = 'pending', owned_until_ms = 1 WHERE seq <= 100`)
	ctx := context.WithoutCancel(b.Context())
	for b.Loop() {
		found, err := db.AbandonedCheckouts(ctx, time.Now(), 1000)
		if err != nil || len(found) != 100 {
			b.Fatalf("%d abandoned checkouts, %v; want 100", len(found), err)
		}
		if _, _, err := db.Backlog(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// export reads everything on record, and reports how much more of the heap is in use at a time.
func (g *grown) export(b *testing.B) {
	db := g.open(b)
	defer db.Close()
	began, read, most := time.Now(), 0, uint64(0)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	err := db.Export(context.WithoutCancel(b.Context()), ports.Visitor{
		Configuration: func(catalogue.Configuration) error { return nil },
		Key:           func(catalogue.Key) error { return nil },
		Checkout: func(ports.Dossier) error {
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

func (g *grown) exec(b *testing.B, statement string) {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+g.path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		b.Fatal(err)
	}
}
