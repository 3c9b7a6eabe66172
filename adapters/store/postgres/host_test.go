package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// hostPool returns the pool of a host, with the settings in its connection string.
func hostPool(t testing.TB, place string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.WithoutCancel(t.Context()), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func newStore(t testing.TB, pool *pgxpool.Pool, o postgres.Options) *postgres.DB {
	t.Helper()
	db, err := postgres.New(t.Context(), pool, o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return db
}

// A host has tables of the same names as the store's, and sessions with settings of its own. Neither meets the store.
func TestNewBesideTheTablesOfAHost(t *testing.T) {
	place := postgrestest.New(t).URL(t)
	conn := shell(t, place)
	names := []string{"agreements", "api_keys", "checkouts", "courses", "documents", "jobs", "moments", "providers", "store"}
	for _, name := range names {
		execute(t, place, fmt.Sprintf(`CREATE TABLE %s (note text); INSERT INTO %s VALUES ('the host''s')`, name, name))
	}
	pool := hostPool(t, place+"&statement_timeout=77s&lock_timeout=0&synchronous_commit=off&pool_max_conns=1")
	db := newStore(t, pool, postgres.Options{})
	insert(t, db, 1)
	if _, err := db.Lease(t.Context(), checkout.JobQuery{Limits: map[checkout.JobKind]int{checkout.JobSync: 1}, For: time.Second}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]string{"statement_timeout": "77s", "lock_timeout": "0", "synchronous_commit": "off",
		"search_path": ask[string](t, conn, `SHOW search_path`)} {
		var got string
		if err := pool.QueryRow(t.Context(), `SELECT current_setting($1)`, setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s of the host's session is %s, %v; want %s", setting, got, err, want)
		}
	}
	for _, name := range names {
		if notes := ask[int](t, conn, `SELECT count(note) FROM `+name); notes != 1 {
			t.Errorf("the host's table %s has %d rows, want its own", name, notes)
		}
	}
	if n := ask[int](t, conn, countTables+`current_schema()`); n != len(names) {
		t.Errorf("the host has %d tables, want %d", n, len(names))
	}
	again := newStore(t, pool, postgres.Options{MustExist: true})
	if c, err := again.Checkout(t.Context(), storetest.Opened(1).Next.ID); err != nil || c.OrderID != storetest.Opened(1).Next.OrderID {
		t.Errorf("Checkout = %+v, %v; want what was stored", c, err)
	}
}

// In a host's pool, in a schema whose name needs quotes, and without prepared statements, as a pooler by transaction needs it, every
// promise is kept.
func TestNewKeepsEveryPromise(t *testing.T) {
	testlevel.Full(t)
	n := 0
	o := opener()
	o.Open = func(t *testing.T, _ func() time.Time) ports.Admin {
		n++
		place := postgrestest.QuickURL(t)
		schema := fmt.Sprintf(`The "store's" schema. %d`, n)
		quoted := pgx.Identifier{schema}.Sanitize()
		t.Cleanup(func() { execute(t, place, `DROP SCHEMA `+quoted+` CASCADE`) })
		execute(t, place, `CREATE SCHEMA `+quoted)
		u, err := url.Parse(place)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set("search_path", quoted) // of the shell
		u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
		pool := hostPool(t, u.String()+"&pool_max_conns=8&default_query_exec_mode=exec")
		return &opened{newStore(t, pool, postgres.Options{Schema: schema, Environment: catalogue.Sandbox}), u.String()}
	}
	o.Reopen = nil
	storetest.Run(t, o)
}

// Whatever the settings of the host's sessions are, a write of the store is on the disk when it is acknowledged, and no process that hangs
// keeps a lock.
func TestWritesSetWhatTheyNeed(t *testing.T) {
	place := postgrestest.QuickURL(t)
	for set, durable := range map[string]string{"off": "on", "local": "on", "remote_write": "on", "on": "on", "remote_apply": "remote_apply"} {
		t.Run("over synchronous_commit = "+set, func(t *testing.T) {
			schema := ask[string](t, shell(t, place), `SELECT current_schema()`) + "_" + set
			pool := hostPool(t, place+"&lock_timeout=0&pool_max_conns=1&client_min_messages=error&default_transaction_isolation=serializable"+
				"&synchronous_commit="+set)
			db := newStore(t, pool, postgres.Options{Schema: schema})
			t.Cleanup(func() { execute(t, place, `DROP SCHEMA `+schema+` CASCADE`) })
			execute(t, place, fmt.Sprintf(noteSettings, schema))
			insert(t, db, 1)
			known := storetest.Opened(1).Next
			_, _, err := db.UpdateCheckout(t.Context(), known, 0, func(c checkout.Checkout) (checkout.Change, error) {
				c.Setup.Try++
				return checkout.Change{At: c.CreatedAt, Next: c}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Enqueue(t.Context(), []checkout.Job{checkout.StoreJob(checkout.JobRetain, known.CreatedAt)}, nil); err != nil {
				t.Fatal(err)
			}
			rows, _ := shell(t, place).Query(t.Context(), `SELECT settings FROM `+schema+`.seen`)
			seen, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil || len(seen) < 4 {
				t.Fatalf("seen %q, %v; want each statement", seen, err)
			}
			want := durable + " 3s 5s 5s warning read committed"
			if slices.ContainsFunc(seen, func(got string) bool { return got != want }) {
				t.Errorf("statements ran with %q, want %s", seen, want)
			}
		})
	}
}

// noteSettings notes under which settings each statement ran that wrote to a schema.
const noteSettings = `CREATE TABLE %[1]s.seen (settings text);
	CREATE FUNCTION %[1]s.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO %[1]s.seen VALUES (concat_ws(' ', current_setting('synchronous_commit'), current_setting('lock_timeout'),
			current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout'),
			current_setting('client_min_messages'), current_setting('transaction_isolation')));
		RETURN NULL;
	END $$;
	CREATE TRIGGER note AFTER INSERT OR UPDATE ON %[1]s.checkouts EXECUTE FUNCTION %[1]s.note();
	CREATE TRIGGER note AFTER INSERT OR UPDATE ON %[1]s.jobs EXECUTE FUNCTION %[1]s.note()`

func TestNewRefuses(t *testing.T) {
	place := postgrestest.New(t).URL(t)
	pool := hostPool(t, place)
	execute(t, place, `CREATE SCHEMA taken; CREATE TABLE taken.checkouts (note text); CREATE ROLE host LOGIN;
		CREATE SCHEMA provider_checkout AUTHORIZATION host`)
	for says, o := range map[string]postgres.Options{
		"there is no store in this database":     {MustExist: true},
		"cannot be the name of a schema":         {Schema: strings.Repeat("x", 64)},
		"production needs the operator's secret": {Environment: catalogue.Production},
		`relation "checkouts" already exists`:    {Schema: "taken"},
	} {
		if _, err := postgres.New(t.Context(), pool, o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("New with %+v: got error %v, want one that says %q", o, err, says)
		}
	}
	if n := ask[int](t, shell(t, place), countTables+`'taken'`); n != 1 {
		t.Errorf("there are %d tables, want that of the host alone", n)
	}
	// A role that may not make schemas uses a schema that was made for it.
	role := hostPool(t, strings.Replace(place, "postgres@", "host@", 1))
	insert(t, newStore(t, role, postgres.Options{}), 1)
	if _, err := postgres.New(t.Context(), role, postgres.Options{Schema: "other"}); err == nil {
		t.Error("New in a schema that the role may not make: got a store")
	}
}
