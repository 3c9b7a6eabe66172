package sqlite_test

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// On a store of a million checkouts a statement that reads them all would take seconds.
func TestStore(t *testing.T) {
	var mu sync.Mutex
	plans := map[string][]string{}
	storetest.Store(t, func(t *testing.T) ports.Admin {
		t.Parallel() // each promise has a file of its own
		db := open(t, file(t), sqlite.Options{})
		t.Cleanup(func() {
			more, err := sqlite.Plans(context.WithoutCancel(t.Context()), db)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(plans, more)
		})
		return db
	})
	for statement, plan := range plans {
		for _, step := range plan {
			table, found := strings.CutPrefix(step, "SCAN ")
			if found && slices.Contains([]string{"checkouts", "jobs", "j", "agreements", "documents", "moments", "acts"}, table) {
				t.Errorf("%s: %s", step, statement)
			}
		}
	}
	if len(plans) < 50 {
		t.Errorf("only %d statements were explained", len(plans))
	}
}

func TestSameAsMemory(t *testing.T) {
	t.Parallel()
	storetest.Same(t,
		func(t *testing.T) ports.Admin { return open(t, file(t), sqlite.Options{}) },
		func(*testing.T) ports.Admin { return memory.New() })
}

func TestClock(t *testing.T) {
	storetest.CallersClock(t, func(t *testing.T) ports.Admin { return open(t, file(t), sqlite.Options{}) })
}

// Each entry in the middle of an index is a page to write.
func TestACreateWritesToFewIndexes(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	c := checkout.Checkout{ID: "KOWHAI-1-a", ProviderCode: "KOWHAI", OrderID: "order-1", IdempotencyKey: "KOWHAI:order-1", RequestID: "req_1",
		Status: checkout.SetupRequired}
	change := checkout.Change{Next: c, Moments: []checkout.Moment{{Kind: checkout.MomentCreated, RequestID: "req_1"}},
		Events: []events.Event{{ID: "evt_1", Name: events.CheckoutCreated, CheckoutID: c.ID, ProviderCode: "KOWHAI", OrderID: "order-1"}}}
	if err := db.InsertCheckout(t.Context(), change, checkout.JobEntry{Now: time.Now(), Hold: time.Second}); err != nil {
		t.Fatal(err)
	}
	indexes, err := shell(t, path).Query(`SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL`)
	if err != nil {
		t.Fatal(err)
	}
	defer indexes.Close()
	var written []string
	for indexes.Next() {
		var name, table, statement string
		if err := indexes.Scan(&name, &table, &statement); err != nil {
			t.Fatal(err)
		}
		_, condition, partial := strings.Cut(statement, "WHERE")
		if !partial {
			condition = "true"
		}
		var entries int
		if err := shell(t, path).QueryRow(`SELECT count(*) FROM ` + table + ` WHERE ` + condition).Scan(&entries); err != nil {
			t.Fatal(err)
		}
		if entries > 0 {
			written = append(written, name)
		}
	}
	if want := []string{"checkouts_family", "jobs_pending", "jobs_created"}; !slices.Equal(written, want) {
		t.Errorf("a create writes to %q, want %q", written, want)
	}
}

func TestSandboxRecords(t *testing.T) {
	storetest.SandboxRecords(t, func(t *testing.T) *sqlite.DB { return open(t, file(t), sqlite.Options{}) })
}

func TestRowsThatAreChangedByHand(t *testing.T) {
	t.Parallel()
	byHand := func(t *testing.T) (ports.Admin, func(string)) {
		path := file(t)
		db := open(t, path, sqlite.Options{})
		sql := shell(t, path)
		return db, func(statement string) { execute(t, sql, statement) }
	}
	storetest.UnreadableRows(t, byHand)
	storetest.ChangedMeanwhile(t, byHand, `BEGIN IMMEDIATE`)
}

func TestOpening(t *testing.T) {
	storetest.Opening(t, func(t *testing.T) storetest.Place {
		path := file(t)
		return func(env catalogue.Environment, secrets ...[]byte) (storetest.OpenedStore, error) {
			return sqlite.Open(context.WithoutCancel(t.Context()), path, sqlite.Options{Environment: env, Secrets: secrets})
		}
	})
}

func TestUpgrade(t *testing.T) {
	path := file(t)
	place := func(o sqlite.Options) storetest.Place {
		return func(env catalogue.Environment, secrets ...[]byte) (storetest.OpenedStore, error) {
			o := o
			o.Environment, o.Secrets = env, secrets
			return sqlite.Open(context.WithoutCancel(t.Context()), path, o)
		}
	}
	var o sqlite.Options
	storetest.Upgrade(t, place(o), place(o.Next(storetest.NextMigration)), place(o.Next(storetest.BrokenMigration)))
}

// file returns the path of a new store in a folder of the test's own.
func file(t *testing.T) string { return filepath.Join(t.TempDir(), "store.db") }

func open(t *testing.T, path string, o sqlite.Options) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return db
}

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) ports.Admin {
		db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "store.db"), sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { db.Close() })
		return db
	})
}
