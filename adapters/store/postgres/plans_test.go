package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

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
