package postgres_test

import (
	"context"
	"crypto/rand"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/ports"
)

// citusVariable is the connection string of a Citus cluster, of any of its nodes that has the metadata.
const citusVariable = "PROVIDER_CHECKOUT_TEST_CITUS"

// A store that is spread over the nodes of a cluster keeps every promise.
func TestCitus(t *testing.T) {
	url := os.Getenv(citusVariable)
	if url == "" {
		t.Skipf("%s is not set: nothing is tested on a cluster", citusVariable)
	}
	schema := "test_" + strings.ToLower(rand.Text())
	shell := connect(t, url)
	execute(t, shell, `SET citus.enable_schema_based_sharding = off`)
	execute(t, shell, `CREATE SCHEMA `+schema)
	t.Cleanup(func() { shell.Exec(context.Background(), `DROP SCHEMA `+schema+` CASCADE`) })
	execute(t, shell, `SET search_path = `+schema)
	db := open(t, url, postgres.Options{Schema: schema})
	insert(t, db, 1) // a filled store is spread too
	if err := confirm(t.Context(), db, 1, func() {}); err != nil {
		t.Fatal(err)
	}
	if err := db.Distribute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Agreement(t.Context(), "PPA-2026-1"); err != nil {
		t.Errorf("Agreement after the store was distributed: %v", err)
	}
	fresh := func(t *testing.T) ports.Admin {
		for _, table := range []string{"documents", "agreements", "checkouts", "jobs", "moments",
			"plan_options", "courses", "providers", "api_keys", "acts", "sandbox_records"} {
			execute(t, shell, `DELETE FROM `+table)
		}
		return inRealTime{db}
	}
	storetest.Store(t, fresh)
	storetest.OwnClock(t, fresh)
	storetest.SandboxRecords(t, func(t *testing.T) inRealTime { return fresh(t).(inRealTime) })
	storetest.Same(t, fresh, func(*testing.T) ports.Admin { return memory.New() })
}

// inRealTime is a store of several nodes, whose clocks cannot be set.
type inRealTime struct{ *postgres.DB }

func (inRealTime) Now() time.Time                     { return time.Now().UTC().Truncate(time.Millisecond) }
func (inRealTime) Pass(_ *testing.T, d time.Duration) { time.Sleep(d + 10*time.Millisecond) }

func TestDistributeWithoutCitus(t *testing.T) {
	db := open(t, postgrestest.URL(t), postgres.Options{})
	err := db.Distribute(t.Context())
	if err == nil || !strings.Contains(err.Error(), "has no Citus") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got error %v, want one line that says what is missing", err)
	}
}

// stubs note what Citus' functions are called with.
const stubs = `CREATE TABLE calls (n bigint GENERATED ALWAYS AS IDENTITY, call text);
	CREATE TABLE pg_dist_partition (logicalrelid regclass);
	CREATE FUNCTION create_reference_table(t regclass) RETURNS void LANGUAGE sql AS $$
		INSERT INTO calls (call) VALUES ('copy ' || t) $$;
	CREATE FUNCTION create_distributed_table(t regclass, c text, colocate_with text DEFAULT 'default') RETURNS void LANGUAGE sql AS $$
		INSERT INTO calls (call) VALUES (t || ' by ' || c || ' beside ' || colocate_with);
		INSERT INTO pg_dist_partition VALUES (t) $$`

// Every table is either copied to each node or spread by its provider, whose code begins its primary key and every unique index.
func TestDistributeNamesEveryTable(t *testing.T) {
	url := postgrestest.URL(t)
	db, shell := open(t, url, postgres.Options{}), connect(t, url)
	all := tables(t, shell, "current_schema()")
	execute(t, shell, stubs)
	if err := db.Distribute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Distribute(t.Context()); err != nil {
		t.Errorf("Distribute again: %v", err)
	}
	rows, err := shell.Query(t.Context(), `SELECT call FROM calls ORDER BY n`)
	if err != nil {
		t.Fatal(err)
	}
	calls, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, call := range calls {
		table, how, spread := strings.Cut(strings.TrimPrefix(call, "copy "), " by ")
		if named = append(named, table); !spread {
			continue
		}
		if want := "provider_code beside "; !strings.HasPrefix(how, want) || table != "checkouts" && how != want+"checkouts" {
			t.Errorf("%s is spread by %s, want by its provider, beside the checkouts", table, how)
		}
		var other int
		if err := shell.QueryRow(t.Context(), `SELECT count(*) FROM pg_index JOIN pg_attribute AS a ON a.attrelid = indrelid AND a.attnum = indkey[0]
			WHERE indrelid = $1::regclass AND indisunique AND a.attname <> 'provider_code'`, table).Scan(&other); err != nil || other != 0 {
			t.Errorf("%d unique indexes of %s do not begin with the provider, %v", other, table, err)
		}
	}
	slices.Sort(named)
	if !slices.Equal(named, all) {
		t.Errorf("the tables %q are distributed, want all of %q", named, all)
	}
	storetest.Leases(t, func(t *testing.T) ports.Admin { // the foreign keys are there again
		execute(t, shell, `TRUNCATE checkouts CASCADE`)
		execute(t, shell, `TRUNCATE jobs, moments`)
		return newTimed(t, open(t, onItsClock(url), postgres.Options{}), shell)
	})
	var references int
	if err := shell.QueryRow(t.Context(), `SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND conname IN ('agreements_checkout', 'documents_agreement')
		AND connamespace = current_schema()::regnamespace`).Scan(&references); err != nil || references != 2 {
		t.Errorf("%d foreign keys, %v; want 2", references, err)
	}
}
