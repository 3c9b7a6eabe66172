package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

// hostPool returns the pool of a host, with the settings in its connection string.
func hostPool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.WithoutCancel(t.Context()), url)
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
	url := postgrestest.New(t).URL(t)
	shell := connect(t, url)
	names := []string{"agreements", "api_keys", "checkouts", "courses", "documents", "jobs", "moments", "providers", "store"}
	for _, name := range names {
		execute(t, shell, fmt.Sprintf(`CREATE TABLE %s (note text); INSERT INTO %s VALUES ('the host''s')`, name, name))
	}
	pool := hostPool(t, url+"&statement_timeout=77s&lock_timeout=0&synchronous_commit=off&pool_max_conns=1")
	db := newStore(t, pool, postgres.Options{})
	insert(t, db, 1)
	if err := confirm(t.Context(), db, 1, func() {}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]string{"statement_timeout": "77s", "lock_timeout": "0", "synchronous_commit": "off",
		"search_path": shellSetting(t, shell, "search_path")} {
		var got string
		if err := pool.QueryRow(t.Context(), `SELECT current_setting($1)`, setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s of the host's session is %s, %v; want %s", setting, got, err, want)
		}
	}
	for _, name := range names {
		var notes int
		if err := shell.QueryRow(t.Context(), `SELECT count(note) FROM `+name).Scan(&notes); err != nil || notes != 1 {
			t.Errorf("rows of the host's table %s: %d, %v; want its own", name, notes, err)
		}
	}
	if got := tables(t, shell, "current_schema()"); !slices.Equal(got, names) {
		t.Errorf("tables of the host: %q, want %q", got, names)
	}
	again := newStore(t, pool, postgres.Options{MustExist: true})
	if c, err := again.Checkout(t.Context(), opened(1).Next.ID); err != nil || c.OrderID != opened(1).Next.OrderID {
		t.Errorf("Checkout = %+v, %v; want what was stored", c, err)
	}
}

func shellSetting(t *testing.T, shell *pgx.Conn, name string) (value string) {
	t.Helper()
	if err := shell.QueryRow(t.Context(), `SELECT current_setting($1)`, name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// oddSchema needs quotes in every statement.
const oddSchema = `The "store's" schema.`

func TestNewKeepsEveryPromise(t *testing.T) {
	url := postgrestest.New(t).URL(t)
	host := connect(t, url)
	for _, mode := range []string{"cache_statement", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			pool := hostPool(t, onItsClock(url)+"&default_query_exec_mode="+mode)
			s := newTimed(t, newStore(t, pool, postgres.Options{Schema: oddSchema + mode}), host)
			shell := connect(t, url)
			execute(t, shell, `SET search_path = `+pgx.Identifier{oddSchema + mode}.Sanitize())
			empty := emptier(t, shell)
			fresh := func(t *testing.T) ports.Admin {
				empty(t)
				s.restart(t)
				return s
			}
			storetest.Store(t, fresh)
			storetest.OwnClock(t, fresh)
		})
	}
}

func TestOpeningWithASchema(t *testing.T) {
	url := postgrestest.New(t).URL(t)
	setClock(t, connect(t, url), storetest.Began())
	url = onItsClock(url)
	n := 0
	storetest.Opening(t, func(t *testing.T) storetest.Place {
		n++
		schema := fmt.Sprint(oddSchema, n)
		return func(env catalogue.Environment, secrets ...[]byte) (storetest.OpenedStore, error) {
			o := postgres.Options{Schema: schema, Environment: env, Secrets: secrets}
			if n%2 == 0 {
				return postgres.Open(context.WithoutCancel(t.Context()), url, o)
			}
			return postgres.New(context.WithoutCancel(t.Context()), hostPool(t, url+"&pool_max_conns=4"), o)
		}
	})
}

// Whatever the settings of the host's sessions are, a write of the store is on the disk when it is acknowledged, and no
// process that hangs keeps a lock.
func TestWritesSetWhatTheyNeed(t *testing.T) {
	url := postgrestest.New(t).URL(t)
	shell := connect(t, url)
	for set, durable := range durability {
		t.Run("over synchronous_commit = "+set, func(t *testing.T) {
			schema := "over_" + set
			pool := hostPool(t, url+"&lock_timeout=0&pool_max_conns=1&client_min_messages=error&default_transaction_isolation=serializable"+
				"&synchronous_commit="+set)
			db := newStore(t, pool, postgres.Options{Schema: schema})
			execute(t, shell, fmt.Sprintf(noteSettings, schema))
			insert(t, db, 1)
			if err := confirm(t.Context(), db, 1, func() {}); err != nil {
				t.Fatal(err)
			}
			if err := replace(t.Context(), db, 1, func() {}); err != nil {
				t.Fatal(err)
			}
			if err := settle(t.Context(), db, 1); err != nil {
				t.Fatal(err)
			}
			rows, err := shell.Query(t.Context(), `SELECT settings FROM `+schema+`.seen`)
			if err != nil {
				t.Fatal(err)
			}
			seen, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil || len(seen) < 5 {
				t.Fatalf("seen %q, %v; want each statement", seen, err)
			}
			for _, got := range seen {
				if want := durable + " 3s 5s 5s warning read committed"; got != want {
					t.Errorf("a statement ran with %s, want %s", got, want)
				}
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
	CREATE TRIGGER note AFTER INSERT OR UPDATE ON %[1]s.jobs EXECUTE FUNCTION %[1]s.note();
	CREATE TRIGGER note AFTER INSERT OR UPDATE ON %[1]s.providers EXECUTE FUNCTION %[1]s.note()`

func TestNewRefuses(t *testing.T) {
	url := postgrestest.New(t).URL(t)
	shell := connect(t, url)
	pool := hostPool(t, url)
	for _, tt := range []struct {
		name    string
		options postgres.Options
		says    string
	}{
		{"a store that must exist", postgres.Options{MustExist: true}, "there is no store in this database"},
		{"a name that PostgreSQL would cut off", postgres.Options{Schema: strings.Repeat("x", 64)}, "cannot be the name of a schema"},
		{"production without a secret", postgres.Options{Environment: catalogue.Production}, "production needs the operator's secret"},
	} {
		if _, err := postgres.New(t.Context(), pool, tt.options); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("New of %s: got error %v, want one that says %q", tt.name, err, tt.says)
		}
	}
	execute(t, shell, `CREATE SCHEMA taken; CREATE TABLE taken.checkouts (note text)`)
	if _, err := postgres.New(t.Context(), pool, postgres.Options{Schema: "taken"}); err == nil {
		t.Error("New over a table of the host: got a store")
	}
	if got := tables(t, shell, "'taken'"); !slices.Equal(got, []string{"checkouts"}) {
		t.Errorf("tables = %q, want that of the host alone", got)
	}
	var schemas int
	if err := shell.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'provider%'`).Scan(&schemas); err != nil || schemas != 0 {
		t.Errorf("schemas left behind: %d, %v; want none", schemas, err)
	}
}

// A role that may not make schemas uses a schema that was made for it.
func TestNewInASchemaThatWasMadeForIt(t *testing.T) {
	url := postgrestest.New(t).URL(t)
	shell := connect(t, url)
	execute(t, shell, `CREATE ROLE host LOGIN; CREATE SCHEMA provider_checkout AUTHORIZATION host`)
	pool := hostPool(t, strings.Replace(url, "postgres@", "host@", 1))
	insert(t, newStore(t, pool, postgres.Options{}), 1)
	if _, err := postgres.New(t.Context(), pool, postgres.Options{Schema: "other"}); err == nil {
		t.Error("New in a schema that the role may not make: got a store")
	}
}

func BenchmarkStoreInHostPool(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) ports.Admin {
		url := postgrestest.QuickURL(b)
		return newStore(b, hostPool(b, url+"&pool_max_conns=20"), postgres.Options{Schema: url[strings.Index(url, "search_path=")+len("search_path="):]})
	})
}
