package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/memory"
	"github.com/provider-checkout/provider-checkout/adapters/postgres"
	"github.com/provider-checkout/provider-checkout/adapters/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/storetest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

func TestStore(t *testing.T) {
	storetest.Store(t, emptied(t))
}

func TestSameAsMemory(t *testing.T) {
	storetest.Same(t, emptied(t), func(*testing.T) ports.Store { return memory.New() })
}

func TestOpening(t *testing.T) {
	storetest.Opening(t, func(t *testing.T) storetest.Place {
		url := postgrestest.URL(t)
		return func(env catalogue.Environment, secrets ...[]byte) (storetest.Opened, error) {
			return postgres.Open(context.WithoutCancel(t.Context()), url, postgres.Options{Environment: env, Secrets: secrets})
		}
	})
}

// emptied opens one store, and empties it whenever a new one is asked for: the schema takes longer to
// make than most promises to prove.
func emptied(t *testing.T) storetest.Open {
	url := postgrestest.URL(t)
	db, shell := open(t, url, postgres.Options{}), connect(t, url)
	return func(t *testing.T) ports.Store {
		execute(t, shell, empty)
		return db
	}
}

const empty = `DELETE FROM documents; DELETE FROM agreements; DELETE FROM events; DELETE FROM checkouts;
	DELETE FROM plan_options; DELETE FROM courses; DELETE FROM providers; DELETE FROM api_keys;
	UPDATE agreement_numbers SET last = 0`

func open(t *testing.T, url string, o postgres.Options) *postgres.DB {
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

// connect opens the database as an auditor would.
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
