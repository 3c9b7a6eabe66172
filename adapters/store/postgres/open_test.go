package postgres_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// openFails reports unless the store is refused in one line that says so.
func openFails(t *testing.T, url string, o postgres.Options, says string) {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, o)
	if err == nil {
		db.Close()
		t.Fatalf("Open: got a store, want an error that says %q", says)
	}
	if text := err.Error(); !strings.Contains(text, says) || strings.Contains(text, "\n") {
		t.Errorf("Open: got error %q, want one line that says %q", text, says)
	}
}

func TestInvalidOptionsAreRefusedBeforeConnecting(t *testing.T) {
	const nowhere = "postgres://127.0.0.1:1/x"
	openFails(t, nowhere, postgres.Options{Environment: catalogue.Production}, "production needs the operator's secret")
	openFails(t, nowhere, under([]byte("short")), "at least 32")
	openFails(t, nowhere, postgres.Options{Environment: "test"}, "not an environment")
}

func TestMustExistMakesNoStore(t *testing.T) {
	place := postgrestest.URL(t)
	existing := postgres.Options{MustExist: true}
	openFails(t, place, existing, "there is no store in this database")
	var tables int
	query := `SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()`
	if err := connect(t, place).QueryRow(t.Context(), query).Scan(&tables); err != nil || tables != 0 {
		t.Errorf("tables = %d, %v; want none", tables, err)
	}
	open(t, place, postgres.Options{})
	open(t, place, existing)
}

func TestVersions(t *testing.T) {
	place := postgrestest.URL(t)
	db := open(t, place, postgres.Options{})
	shell := connect(t, place)
	t.Run("the program of the version before goes on", func(t *testing.T) {
		execute(t, shell, `INSERT INTO provider_checkout_schema SELECT max(version) + 1, '' FROM provider_checkout_schema`)
		insert(t, open(t, place, postgres.Options{}), 1)
		if err := db.Ready(t.Context()); err != nil {
			t.Errorf("Ready: %v", err)
		}
	})
	t.Run("while a newer program migrates, this one is ready", func(t *testing.T) {
		execute(t, shell, `BEGIN; LOCK TABLE provider_checkout_schema IN SHARE ROW EXCLUSIVE MODE`)
		defer execute(t, shell, `ROLLBACK`)
		if err := db.Ready(t.Context()); err != nil {
			t.Errorf("Ready: %v", err)
		}
	})
	t.Run("an older program is refused", func(t *testing.T) {
		execute(t, shell, `INSERT INTO provider_checkout_schema SELECT max(version) + 1, '' FROM provider_checkout_schema`)
		openFails(t, place, postgres.Options{}, "run the newer program")
	})
	t.Run("a schema older than the program is not ready", func(t *testing.T) {
		execute(t, shell, `DELETE FROM provider_checkout_schema`)
		if err := db.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "is older") {
			t.Errorf("Ready: got error %v, want one that says so", err)
		}
	})
}

func TestStoreOfADevelopmentVersionIsRefused(t *testing.T) {
	for name, statement := range map[string]string{
		"with another first migration":    `UPDATE provider_checkout_schema SET checksum = 'another'`,
		"without checksums of migrations": `ALTER TABLE provider_checkout_schema DROP COLUMN checksum`,
	} {
		t.Run(name, func(t *testing.T) {
			place := postgrestest.URL(t)
			open(t, place, postgres.Options{})
			execute(t, connect(t, place), statement)
			openFails(t, place, postgres.Options{}, "a development version made this store, and no release can read it: start with an empty one")
		})
	}
}

// A start that fails because of a table of the host leaves nothing behind.
func TestFailedStartLeavesNothingBehind(t *testing.T) {
	place := postgrestest.URL(t)
	shell := connect(t, place)
	execute(t, shell, `CREATE TABLE checkouts (note text)`)
	openFails(t, place, postgres.Options{}, `relation "checkouts" already exists`)
	if got := tables(t, shell, "current_schema()"); len(got) != 1 {
		t.Errorf("tables = %q, want that of the host alone", got)
	}
	execute(t, shell, `DROP TABLE checkouts`)
	open(t, place, postgres.Options{})
}

// No error may repeat any part of a connection string, wherever the password is in it.
func TestErrorsDoNotRepeatTheConnectionString(t *testing.T) {
	server, err := url.Parse(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, url string }{
		{"no server", "postgres://hunter2:hunter2@127.0.0.1:1/hunter2"},
		{"no host", "postgres://u:p@hunter2.invalid/hunter2"},
		{"no socket", "host=/hunter2 password=hunter2"},
		{"no database", "postgres://postgres@" + server.Host + "/hunter2?sslmode=disable"},
		{"no user", "postgres://hunter2:hunter2@" + server.Host + "/postgres?sslmode=disable"},
		{"no TLS", "postgres://hunter2:hunter2@" + server.Host + "/postgres?sslmode=require"},
		{"no such parameter of the server", server.String() + "&hunter2=hunter2"},
		{"a slash in the password", "postgres://u:hunter2/p@host/db"},
		{"a slash after digits in the password", "postgres://u:12/hunter2@host/db"},
		{"a hash in the password", "postgres://u:hunter2#p@host/db"},
		{"a percent sign in the password", "postgres://u:hunter2%p@host/db"},
		{"a bracket in the password", "postgres://u:[hunter2@host/db"},
		{"a port in words", "postgres://u:p@host:hunter2/db"},
		{"a setting in words", "postgres://u:p@host/db?pool_max_conns=hunter2"},
		{"a certificate that is not there", "postgres://u:p@host/db?sslmode=verify-full&sslrootcert=hunter2"},
		{"no connection string", "hunter2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db, err := postgres.Open(t.Context(), tt.url, postgres.Options{})
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

// A role with SELECT alone, as the manual makes it, reads everything but the store's own secret.
func TestReadOnlyNeedsNoMoreThanSelect(t *testing.T) {
	place := postgrestest.QuickURL(t)
	db := open(t, place, postgres.Options{})
	insert(t, db, 1)
	const role = "checkout_reader"
	shell := connect(t, place)
	var schema string
	if err := shell.QueryRow(t.Context(), `SELECT current_schema()`).Scan(&schema); err != nil {
		t.Fatal(err)
	}
	execute(t, shell, `CREATE ROLE `+role+` LOGIN PASSWORD 'reader'; GRANT USAGE ON SCHEMA `+schema+` TO `+role+`;
		GRANT SELECT ON ALL TABLES IN SCHEMA `+schema+` TO `+role+`; REVOKE SELECT ON store, sandbox_records FROM `+role)
	defer execute(t, shell, `DROP OWNED BY `+role+`; DROP ROLE `+role)
	u, err := url.Parse(place)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "reader")
	openFails(t, u.String(), postgres.Options{Schema: schema}, "permission denied")
	reader := open(t, u.String(), postgres.Options{Schema: schema, ReadOnly: true})
	hits, err := reader.Find(t.Context(), checkout.Query{Text: opened(1).Next.ID}, 9)
	if err != nil || len(hits) != 1 {
		t.Fatalf("Find = %+v, %v", hits, err)
	}
	for call, err := range map[string]error{
		"Moments":   second(reader.Moments(t.Context(), hits[0].Checkout.ID)),
		"Troubles":  second(reader.Troubles(t.Context(), time.Now())),
		"Jobs":      second(reader.Jobs(t.Context(), checkout.JobFilter{}, 9)),
		"Acts":      second(reader.Acts(t.Context(), checkout.ActFilter{}, 9)),
		"Providers": second(reader.Providers(t.Context())),
	} {
		if err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
	if err := reader.InsertCheckout(t.Context(), opened(2), pending()); err == nil {
		t.Error("it writes")
	}
	owner := open(t, place, postgres.Options{ReadOnly: true})
	if err := owner.InsertCheckout(t.Context(), opened(2), pending()); err == nil || !strings.Contains(err.Error(), "read-only transaction") {
		t.Errorf("a role that may write gets %v, want a transaction that is read only", err)
	}
	openFails(t, postgrestest.QuickURL(t), postgres.Options{ReadOnly: true}, "there is no store")
}

func second[T any](_ T, err error) error { return err }

func TestNoServerIsBusy(t *testing.T) {
	_, err := postgres.Open(t.Context(), "postgres://127.0.0.1:1/x", postgres.Options{})
	if !errors.Is(err, ports.ErrBusy) {
		t.Errorf("Open: got error %v, want ErrBusy", err)
	}
}
