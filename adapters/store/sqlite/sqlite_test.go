package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// file returns the path of a store that does not exist.
func file(t testing.TB) string { return filepath.Join(t.TempDir(), "store.db") }

// open opens a store until the test ends.
func open(t testing.TB, path string, o Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestStore(t *testing.T) {
	storetest.Run(t, opener())
}

func TestSameAsMemory(t *testing.T) {
	storetest.Same(t, opener(), storetest.Opener{
		Open: func(t *testing.T, now func() time.Time) ports.Admin { return memory.New(now) },
	})
}

func opener() storetest.Opener {
	paths := map[ports.Admin]string{}
	return storetest.Opener{
		Open: func(t *testing.T, now func() time.Time) ports.Admin {
			path := file(t)
			db := open(t, path, Options{Now: now})
			paths[db] = path
			return db
		},
		Reopen: func(t *testing.T, s ports.Admin, now func() time.Time) ports.Admin {
			db := open(t, paths[s], Options{Now: now})
			paths[db] = paths[s]
			return db
		},
		Damage: func(t *testing.T, s ports.Admin, checkoutID string) {
			execute(t, paths[s], `UPDATE checkouts SET setup_tokens = '{' WHERE id = ?`, checkoutID)
		},
	}
}

// execute runs a statement as an auditor does with a shell.
func execute(t testing.TB, path, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestMain(m *testing.M) { testlevel.Main(m, 25) }

// tree is a table or an index with its number of entries.
type tree struct {
	name    string
	entries int64
}

func (r *tree) Fields() []any { return []any{&r.name, &r.entries} }

// entries returns the number of entries of each table and index that has any.
func entries(t *testing.T, db *DB) map[string]int64 {
	t.Helper()
	of := map[string]int64{}
	must(t, db.read(t.Context(), func(c *conn) error {
		list, err := all(t.Context(), c, itself[tree], `SELECT name, sum(ncell) FROM dbstat WHERE pagetype = 'leaf' GROUP BY name HAVING sum(ncell) > 0`)
		for _, e := range list {
			of[e.name] = e.entries
		}
		return err
	}))
	return of
}

func TestACreateWritesToNoIndexOfTheDesk(t *testing.T) {
	db := open(t, file(t), Options{})
	before := entries(t, db)
	const creates = 3
	for n := range creates {
		_, err := db.InsertCheckout(t.Context(), storetest.Opened(n), time.Second)
		must(t, err)
	}
	got := map[string]int64{}
	for name, n := range entries(t, db) {
		if n != before[name] {
			got[name] = n - before[name]
		}
	}
	want := map[string]int64{"checkouts": creates, "jobs": 2 * creates, // with an index on their id, order and key, and on their id
		"sqlite_autoindex_checkouts_1": creates, "sqlite_autoindex_checkouts_2": creates, "sqlite_autoindex_checkouts_3": creates,
		"sqlite_autoindex_jobs_1": 2 * creates, "jobs_due": 2 * creates, "jobs_listed": creates}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d creates write\n%v, want\n%v", creates, got, want)
	}
}

func TestStatementsUseTheIndexesThatAreMeant(t *testing.T) {
	db := open(t, file(t), Options{})
	for _, tt := range []struct{ statement, want string }{
		{selectCheckout, "sqlite_autoindex_checkouts_1 (provider_code=? AND id=?)"},
		{updateCheckout, "sqlite_autoindex_checkouts_1 (provider_code=? AND id=?)"},
		{selectByOrder, "sqlite_autoindex_checkouts_2 (provider_order_id=? AND provider_code=?)"},
		{selectByKey, "sqlite_autoindex_checkouts_3 (provider_code=? AND idempotency_key=?)"},
		{selectByBilling, "checkouts_billing_request (billing_request_id=?)"},
		{selectByMandate, "checkouts_mandate (mandate_id=?)"},
		{selectByNumber, "sqlite_autoindex_agreements_2 (number=?)"},
		{selectByNumber, "sqlite_autoindex_checkouts_1 (provider_code=? AND id=?)"},
		{insertJob, "SEARCH jobs"},
		{settle, "sqlite_autoindex_jobs_1 (provider_code=? AND checkout_id=? AND id=?)"},
		{eraseJobs, "sqlite_autoindex_jobs_1 (provider_code=? AND checkout_id=?)"},
		{hastenNotices, "sqlite_autoindex_jobs_1 (provider_code=? AND checkout_id=?)"},
		{existsPendingEvent, "sqlite_autoindex_jobs_1 (provider_code=? AND checkout_id=?)"},
		{selectDue, "j USING INDEX jobs_due (kind=? AND due_ms>? AND due_ms<?)"},
		{selectDue, "e USING INDEX sqlite_autoindex_jobs_1 (provider_code=? AND checkout_id=?)"},
		{lease, "j USING INTEGER PRIMARY KEY (rowid=?)"},
		{selectJobsOfCheckout, "sqlite_autoindex_jobs_1 (provider_code=? AND checkout_id=?)"},
		{selectPendingJobs, "jobs_due"},
		{selectFailedJobs, "jobs_failed"},
		{selectQueuedJob, "jobs_settled (id=?)"},
		{selectEventsAfter, "jobs_listed (provider_code=? AND rowid>?)"},
		{selectBacklog, "jobs_due"},
		{deleteJobs, "sqlite_autoindex_jobs_1 (provider_code=? AND checkout_id=?)"},
		{selectPage, "c USING INDEX sqlite_autoindex_checkouts_1 ((provider_code,id)>(?,?))"},
		{selectPage, "j USING INDEX sqlite_autoindex_jobs_1 (provider_code=? AND checkout_id=?)"},
		{selectMoments, "PRIMARY KEY (provider_code=? AND checkout_id=?)"},
		{selectKey, "sqlite_autoindex_api_keys_2 (hash=?)"},
		{findWord, "checkouts_search (search>? AND search<?)"},
		{findWord, "INTEGER PRIMARY KEY (rowid>?)"},
		{findWord, "checkouts USING COVERING INDEX sqlite_autoindex_checkouts_2 (provider_order_id=?)"},
		{findAddress, "SCAN checkouts USING INDEX checkouts_search"},
		{findTrouble(checkout.TroubleCRM), "jobs_due (kind=?)"},
		{findTrouble(checkout.TroubleEvents), "jobs_failed (settled_ms>? AND settled_ms<?)"},
		{findTrouble(checkout.TroubleMandates), "checkouts_attention (attention_ms>? AND attention_ms<?)"},
		{countTrouble(checkout.TroubleCRM), "jobs_due (kind=?)"},
		{countTrouble(checkout.TroubleNotices), "jobs_failed (settled_ms>? AND settled_ms<?)"},
		{countTrouble(checkout.TroubleUnfinished), "checkouts_attention (attention_ms>? AND attention_ms<?)"},
	} {
		var plan []string
		must(t, db.read(t.Context(), func(c *conn) error {
			return c.query(t.Context(), `EXPLAIN QUERY PLAN `+tt.statement, make([]any, 50), func(step []driver.Value) error {
				plan = append(plan, fmt.Sprint(step[3]))
				return nil
			})
		}))
		if !slices.ContainsFunc(plan, func(step string) bool { return strings.HasSuffix(step, tt.want) }) {
			t.Errorf("%s\nhas the plan\n\t%s\nwhich does not use %s", tt.statement, strings.Join(plan, "\n\t"), tt.want)
		}
	}
}

func TestTheTablesHaveNoMoreColumnsAndIndexesThanTheyMay(t *testing.T) {
	db := open(t, file(t), Options{})
	must(t, db.read(t.Context(), func(c *conn) error {
		columns, err := all(t.Context(), c, itself[value[string]], `SELECT name FROM pragma_table_xinfo('checkouts')`)
		indexes, indexErr := all(t.Context(), c, itself[value[string]], `SELECT name FROM sqlite_schema
			WHERE type = 'index' AND tbl_name IN ('checkouts', 'jobs', 'moments')`)
		if len(columns) > 44 || len(indexes) > 12 {
			t.Errorf("%d columns of checkouts, want at most 44; %d indexes, want at most 12", len(columns), len(indexes))
		}
		must(t, err, indexErr)
		return nil
	}))
}
