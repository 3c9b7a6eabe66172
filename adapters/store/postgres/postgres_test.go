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
	"github.com/provider-checkout/provider-checkout/ports"
)

func TestMain(m *testing.M) { testlevel.Main(m, 25) }

func TestStore(t *testing.T) {
	storetest.Run(t, opener())
}

// Without prepared statements, as a pooler by transaction needs it, every promise is kept too.
func TestStoreWithoutPreparedStatements(t *testing.T) {
	testlevel.Full(t)
	o := opener()
	o.Open = func(t *testing.T, _ func() time.Time) ports.Admin {
		url := postgrestest.URL(t) + "&default_query_exec_mode=exec"
		return &opened{open(t, url, postgres.Options{Environment: catalogue.Sandbox}), url}
	}
	storetest.Run(t, o)
}

func TestSameAsMemory(t *testing.T) {
	storetest.Same(t, opener(), storetest.Opener{
		Open: func(t *testing.T, now func() time.Time) ports.Admin { return memory.New(now) },
	})
}

// opened is a store with the connection string of its schema.
type opened struct {
	*postgres.DB
	url string
}

func opener() storetest.Opener {
	return storetest.Opener{
		Open: func(t *testing.T, _ func() time.Time) ports.Admin {
			url := postgrestest.URL(t)
			return &opened{open(t, url, postgres.Options{Environment: catalogue.Sandbox}), url}
		},
		Reopen: func(t *testing.T, s ports.Admin, _ func() time.Time) ports.Admin {
			url := s.(*opened).url
			return &opened{open(t, url, postgres.Options{Environment: catalogue.Sandbox}), url}
		},
		// The clock is the server's: every time of a job on record becomes earlier.
		Pass: func(t *testing.T, s ports.Admin, d time.Duration) {
			execute(t, s.(*opened).url, fmt.Sprintf(`UPDATE jobs SET due_ms = CASE WHEN due_ms = 0 THEN 0 ELSE due_ms - %[1]d END,
				leased_until_ms = CASE WHEN leased_until_ms = 0 THEN 0 ELSE leased_until_ms - %[1]d END,
				settled_ms = CASE WHEN settled_ms = 0 THEN 0 ELSE settled_ms - %[1]d END`, d.Milliseconds()))
		},
		Damage: func(t *testing.T, s ports.Admin, checkoutID string) {
			execute(t, s.(*opened).url, `UPDATE checkouts SET setup_tokens = '{' WHERE id = '`+checkoutID+`'`)
		},
	}
}

// open opens a store until the test ends.
func open(t testing.TB, url string, o postgres.Options) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(context.WithoutCancel(t.Context()), url, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// execute runs a statement as an auditor does with a shell.
func execute(t testing.TB, url, statement string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	shell, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer shell.Close(ctx)
	if _, err := shell.PgConn().Exec(ctx, statement).ReadAll(); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// indexes are the indexes that statements need besides primary keys.
var indexes = map[string]string{"byOrder": "provider_order_id", "byKey": "idempotency_key", "byRequest": "checkouts_billing_request",
	"byMandate": "checkouts_mandate", "selectDue": "jobs_due"}

// A server plans a prepared statement once, and keeps the plan until it has new statistics. A new store has no statistics: every statement must
// find its rows by the index that is meant, also where the server knows nothing of them.
func TestPlansNeedNoStatistics(t *testing.T) {
	testlevel.Full(t)
	url := postgrestest.URL(t)
	db, err := postgres.Open(t.Context(), url, postgres.Options{Environment: catalogue.Sandbox})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `SET plan_cache_mode = force_generic_plan`); err != nil {
		t.Fatal(err)
	}
	for name, statement := range postgres.Hot {
		n := 1
		for strings.Contains(statement, fmt.Sprint("$", n)) {
			n++
		}
		if _, err := conn.Exec(t.Context(), `PREPARE `+name+` AS `+statement); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		arguments := strings.TrimSuffix(strings.Repeat("NULL, ", n-1), ", ")
		found, err := conn.Query(t.Context(), `EXPLAIN (COSTS OFF) EXECUTE `+name+` (`+arguments+`)`, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(found, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		meant := "_pkey"
		if _, other := indexes[name]; other {
			meant = indexes[name]
		}
		plan, scans := strings.Join(lines, "\n"), 0
		for i, line := range lines {
			if !strings.Contains(line, "Scan ") || strings.Contains(line, "CTE Scan") || strings.Contains(line, "Subquery Scan") {
				continue
			}
			scans++
			byKey := strings.Contains(line, "_pkey") || strings.Contains(line, meant)
			if !strings.Contains(line, "Index") || !byKey || !strings.Contains(lines[i+1], "Index Cond: (") {
				t.Errorf("%s finds rows by %s, want by %s:\n%s", name, strings.TrimSpace(line), meant, plan)
			}
		}
		if scans == 0 {
			t.Errorf("void: %s has the plan\n%s", name, plan)
		}
	}
}
