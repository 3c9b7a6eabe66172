package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

func TestStore(t *testing.T) {
	storetest.Store(t, reopener[ports.Admin](t))
}

func TestClock(t *testing.T) {
	storetest.OwnClock(t, reopener[ports.Admin](t))
}

// A store that is spread over several nodes asks otherwise for the jobs that are due. The answer is the same.
func TestLeasesOfADistributedStore(t *testing.T) {
	testlevel.Full(t)
	fresh := reopener[*timed](t)
	open := func(t *testing.T) ports.Admin {
		db := fresh(t)
		postgres.AsDistributed(db.DB)
		return db
	}
	storetest.Leases(t, open)
	storetest.OwnClock(t, open)
	storetest.Same(t, open, func(*testing.T) ports.Admin { return memory.New() })
}

func TestSandboxRecords(t *testing.T) {
	storetest.SandboxRecords(t, reopener[storetest.SandboxStore](t))
}

func TestSameAsMemory(t *testing.T) {
	storetest.Same(t, reopener[ports.Admin](t), func(*testing.T) ports.Admin { return memory.New() })
}

func TestRowsThatAreChangedByHand(t *testing.T) {
	url := postgrestest.URL(t)
	db, shell := open(t, onItsClock(url), postgres.Options{}), connect(t, url)
	setClock(t, shell, storetest.Began())
	empty := emptier(t, shell)
	byHand := func(t *testing.T) (ports.Admin, func(string)) {
		empty(t)
		return db, func(statement string) { execute(t, shell, statement) }
	}
	storetest.UnreadableRows(t, byHand)
	storetest.ChangedMeanwhile(t, byHand, `BEGIN; LOCK TABLE jobs, checkouts IN EXCLUSIVE MODE`)
}

func TestOpening(t *testing.T) {
	storetest.Opening(t, func(t *testing.T) storetest.Place {
		url := postgrestest.URL(t)
		setClock(t, connect(t, url), storetest.Began())
		url = onItsClock(url)
		return func(env catalogue.Environment, secrets ...[]byte) (storetest.OpenedStore, error) {
			return postgres.Open(context.WithoutCancel(t.Context()), url, postgres.Options{Environment: env, Secrets: secrets})
		}
	})
}

func TestUpgrade(t *testing.T) {
	url := postgrestest.URL(t)
	place := func(o postgres.Options) storetest.Place {
		return func(env catalogue.Environment, secrets ...[]byte) (storetest.OpenedStore, error) {
			o := o
			o.Environment, o.Secrets = env, secrets
			return postgres.Open(context.WithoutCancel(t.Context()), url, o)
		}
	}
	var o postgres.Options
	storetest.Upgrade(t, place(o), place(o.Next(storetest.NextMigration)), place(o.Next(storetest.BrokenMigration)))
}

// BenchmarkStore reports in cpu-µs/op the time of this process only, not the server's.
func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) ports.Admin { return open(b, postgrestest.QuickURL(b), postgres.Options{}) })
}

// reopener opens one store, and empties it whenever a new one is wanted, which is quicker than to make its schema.
func reopener[S any](t *testing.T) func(t *testing.T) S {
	url := postgrestest.QuickURL(t)
	db, shell := open(t, onItsClock(url), postgres.Options{}), connect(t, url)
	s, empty := newTimed(t, db, shell), emptier(t, shell)
	return func(t *testing.T) S {
		empty(t)
		s.restart(t)
		return any(s).(S)
	}
}

// emptier returns what empties every table that has no rows yet.
func emptier(t *testing.T, shell *pgx.Conn) (empty func(t *testing.T)) {
	t.Helper()
	var deletes []string
	for i, table := range tables(t, shell, "current_schema()") {
		var rows int
		if err := shell.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		if rows == 0 {
			deletes = append(deletes, fmt.Sprintf(`d%d AS (DELETE FROM %s)`, i, table))
		}
	}
	// Foreign keys are checked at the end of the one statement.
	statement := `WITH ` + strings.Join(deletes, ", ") + ` SELECT`
	return func(t *testing.T) {
		t.Helper()
		execute(t, shell, statement)
	}
}

// tables returns the tables of a schema, which is an SQL expression.
func tables(t *testing.T, shell *pgx.Conn, schema string) []string {
	t.Helper()
	rows, err := shell.Query(t.Context(), `SELECT tablename::text FROM pg_tables WHERE schemaname = `+schema+` ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func open(t testing.TB, url string, o postgres.Options) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, o)
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

// connect opens the database as an auditor does.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func execute(t *testing.T, conn *pgx.Conn, statements string) {
	t.Helper()
	if _, err := conn.PgConn().Exec(t.Context(), statements).ReadAll(); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

func TestCommitsAndFailuresAreCounted(t *testing.T) {
	db := open(t, postgrestest.QuickURL(t), postgres.Options{})
	committed, failed := 0, 0
	db.OnCommit(func(err error) {
		if err != nil {
			failed++
			return
		}
		committed++
	})
	job := []checkout.Job{{ID: "pull", Kind: checkout.JobPull, CreatedAt: time.Now()}}
	if _, err := db.Enqueue(t.Context(), job); err != nil || committed != 1 || failed != 0 {
		t.Errorf("a write: %d commits, %d failures, %v", committed, failed, err)
	}
	if inUse, limit := db.Pool(); inUse != 0 || limit < 4 || db.Schema() < 1 {
		t.Errorf("%d of %d connections, schema %d", inUse, limit, db.Schema())
	}
	db.Close()
	if _, err := db.Enqueue(t.Context(), job); err == nil || committed != 1 || failed != 1 {
		t.Errorf("a closed store: %d commits, %d failures, %v", committed, failed, err)
	}
}
