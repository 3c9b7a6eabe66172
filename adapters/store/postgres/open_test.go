package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// openFails checks that a store is refused, in words.
func openFails(t *testing.T, place string, o postgres.Options, says string) {
	t.Helper()
	db, err := postgres.Open(t.Context(), place, o)
	if err == nil {
		db.Close()
		t.Errorf("Open with %+v: got a store, want an error that says %q", o, says)
	} else if !strings.Contains(err.Error(), says) {
		t.Errorf("Open with %+v: got error %v, want one that says %q", o, err, says)
	}
}

// shell connects as an auditor does, until the test ends.
func shell(t testing.TB, place string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// ask returns the one value that a query has.
func ask[T any](t testing.TB, conn *pgx.Conn, query string, args ...any) (v T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

const countTables = `SELECT count(*) FROM information_schema.tables WHERE table_schema = `

// insert stores create number n.
func insert(t testing.TB, db *postgres.DB, n int) {
	t.Helper()
	if _, err := db.InsertCheckout(t.Context(), storetest.Opened(n), 0); err != nil {
		t.Fatalf("InsertCheckout: %v", err)
	}
}

// No error may repeat any part of a connection string, wherever the password is in it.
func TestErrorsDoNotRepeatTheConnectionString(t *testing.T) {
	server, err := url.Parse(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{
		"postgres://hunter2:hunter2@127.0.0.1:1/hunter2", "postgres://u:p@hunter2.invalid/hunter2", "host=/hunter2 password=hunter2",
		"postgres://postgres@" + server.Host + "/hunter2?sslmode=disable", "postgres://hunter2:hunter2@" + server.Host + "/postgres?sslmode=disable",
		"postgres://hunter2:hunter2@" + server.Host + "/postgres?sslmode=require", server.String() + "&hunter2=hunter2",
		"postgres://u:hunter2/p@host/db", "postgres://u:12/hunter2@host/db", "postgres://u:hunter2#p@host/db", "postgres://u:hunter2%p@host/db",
		"postgres://u:[hunter2@host/db", "postgres://u:p@host:hunter2/db", "postgres://u:p@host/db?pool_max_conns=hunter2",
		"postgres://u:p@host/db?sslmode=verify-full&sslrootcert=hunter2", "hunter2",
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			db, err := postgres.Open(t.Context(), place, postgres.Options{})
			if err == nil {
				db.Close()
				t.Fatal("Open: got a store")
			}
			if text := err.Error(); strings.Contains(text, "hunter2") || strings.Contains(text, "\n") {
				t.Errorf("Open: got error %q, want one line without the connection string", text)
			}
		})
	}
}

func TestNoServerIsBusy(t *testing.T) {
	if _, err := postgres.Open(t.Context(), "postgres://127.0.0.1:1/x", postgres.Options{}); !errors.Is(err, ports.ErrBusy) {
		t.Errorf("Open: got error %v, want ErrBusy", err)
	}
}

func TestWhatIsNoStoreIsRefusedAndLeftAlone(t *testing.T) {
	place := postgrestest.URL(t)
	conn := shell(t, place)
	openFails(t, place, postgres.Options{MustExist: true}, "there is no store in this database")
	openFails(t, place, postgres.Options{ReadOnly: true}, "there is no store in this database")
	openFails(t, place, postgres.Options{Environment: catalogue.Production}, "production needs the operator's secret")
	execute(t, place, `CREATE TABLE checkouts (note text)`)
	openFails(t, place, postgres.Options{}, `relation "checkouts" already exists`)
	if n := ask[int](t, conn, countTables+`current_schema()`); n != 1 {
		t.Errorf("there are %d tables, want that of the host alone", n)
	}
	execute(t, place, `DROP TABLE checkouts`)
	open(t, place, postgres.Options{})
	execute(t, place, `UPDATE store SET version = 1`)
	openFails(t, place, postgres.Options{MustExist: true}, "version 1 of the schema, and this program knows version 2")
}

// A store belongs to an environment and to its secrets. The first secret that is given encrypts from then on.
func TestSecrets(t *testing.T) {
	place := postgrestest.URL(t)
	one, two := bytes.Repeat([]byte("1"), 32), bytes.Repeat([]byte("2"), 32)
	options := func(secrets ...[]byte) postgres.Options {
		return postgres.Options{Environment: catalogue.Sandbox, Secrets: secrets}
	}
	own := open(t, place, options())
	if len(own.Secrets()) != 1 || !bytes.Equal(own.Secrets()[0], open(t, place, options()).Secrets()[0]) {
		t.Error("the store's own secret is not the same again")
	}
	c := catalogue.Configuration{Provider: catalogue.Provider{Code: "KOWHAI", Environment: catalogue.Sandbox,
		Destination: catalogue.Destination{URL: "https://kowhai.example", Secret: "whsec_hunter2"}}}
	err := own.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error) {
		return []catalogue.Configuration{c, {Provider: catalogue.Provider{Code: "TUI", Environment: catalogue.Sandbox}}}, nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	openFails(t, place, options(one), "secret")
	for i, secrets := range [][][]byte{{one, own.Secrets()[0]}, {one}, {two, one}, {two}} {
		providers, err := open(t, place, options(secrets...)).Providers(t.Context())
		if err != nil || len(providers) != 2 || providers[0].Destination.Secret != c.Provider.Destination.Secret {
			t.Errorf("secrets %d: %+v, %v", i, providers, err)
		}
	}
	openFails(t, place, options(one), "secret")
	openFails(t, place, options(), "secret")
	openFails(t, place, postgres.Options{Environment: catalogue.Production, Secrets: [][]byte{two}}, "sandbox")
	if text := ask[string](t, shell(t, place), `SELECT concat(s, p) FROM store s, providers p WHERE p.code = 'KOWHAI'`); strings.Contains(text, "hunter2") {
		t.Errorf("on record is %s", text)
	}
}

// A role with SELECT alone, as the manual makes it, reads everything but the store's own secret, also where the connection string demands
// a server that takes writes.
func TestReadOnlyNeedsNoMoreThanSelect(t *testing.T) {
	place := postgrestest.URL(t)
	insert(t, open(t, place, postgres.Options{}), 1)
	conn := shell(t, place)
	schema := ask[string](t, conn, `SELECT current_schema()`)
	role := "reader_" + schema
	execute(t, place, `CREATE ROLE `+role+` LOGIN PASSWORD 'reader'; GRANT USAGE ON SCHEMA `+schema+` TO `+role+`;
		GRANT SELECT ON ALL TABLES IN SCHEMA `+schema+` TO `+role+`; REVOKE SELECT ON sandbox_records FROM `+role)
	t.Cleanup(func() { execute(t, place, `DROP OWNED BY `+role+`; DROP ROLE `+role) })
	u, err := url.Parse(place)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "reader")
	openFails(t, u.String(), postgres.Options{}, "permission denied")
	reader := open(t, u.String()+"&target_session_attrs=read-write", postgres.Options{ReadOnly: true})
	hits, err := reader.Find(t.Context(), checkout.Query{Text: storetest.Opened(1).Next.ID}, 9)
	if err != nil || len(hits) != 1 {
		t.Fatalf("Find = %+v, %v", hits, err)
	}
	for call, err := range map[string]error{
		"Moments":   second(reader.Moments(t.Context(), hits[0].Checkout.ID)),
		"Troubles":  second(reader.Troubles(t.Context(), time.Now())),
		"Jobs":      second(reader.Jobs(t.Context(), checkout.JobFilter{}, 9)),
		"Acts":      second(reader.Acts(t.Context(), checkout.ActFilter{}, 9)),
		"Providers": second(reader.Providers(t.Context())),
		"Export": reader.Export(t.Context(), "", checkout.Visitor{Checkout: func(checkout.CheckoutRecord) error { return nil },
			Unreadable: func(_ string, err error) error { return err }}),
	} {
		if err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
	for _, db := range []*postgres.DB{reader, open(t, place, postgres.Options{ReadOnly: true})} {
		if _, err := db.InsertCheckout(t.Context(), storetest.Opened(2), 0); err == nil || !strings.Contains(err.Error(), "read only") {
			t.Errorf("InsertCheckout: got error %v, want that the store is read only", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// A call that finds every connection in use is refused as busy, rather than left to wait.
func TestNoFreeConnectionIsBusy(t *testing.T) {
	place := postgrestest.URL(t)
	db := open(t, place+"&pool_max_conns=1", postgres.Options{})
	insert(t, db, 1)
	err := db.Export(t.Context(), "", checkout.Visitor{
		Checkout: func(r checkout.CheckoutRecord) error {
			if _, err := db.Checkout(t.Context(), r.Checkout.ID); !errors.Is(err, ports.ErrBusy) {
				t.Errorf("Checkout: got error %v, want ErrBusy", err)
			}
			return nil
		},
		Unreadable: func(_ string, err error) error { return err },
	})
	if err != nil {
		t.Errorf("Export: %v", err)
	}
}
