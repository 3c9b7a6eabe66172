package upgrade_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// place is where a store of the earlier version is, and how the operator opens it.
type place struct {
	store  string // value of --store
	secret string // of the operator; "" where the store has its own
	open   func(context.Context) (store, error)
}

type store interface {
	site.Store
	Secrets() [][]byte
	Close() error
}

// eachStore runs a test over a copy of each store of the earlier version.
func eachStore(t *testing.T, test func(t *testing.T, p place, was history)) {
	for _, kind := range []struct {
		name string
		copy func(*testing.T) place
	}{
		{"sqlite", copySQLite},
		{"postgres", copyPostgres},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			test(t, kind.copy(t), readHistory(t, kind.name))
		})
	}
}

func copySQLite(t *testing.T) place {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	for name, data := range map[string][]byte{path: unzip(t, "sqlite.gz"), path + ".secret": readFile(t, "sqlite.secret")} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return place{store: "sqlite:" + path, open: func(ctx context.Context) (store, error) {
		return sqlite.Open(ctx, path, sqlite.Options{Environment: catalogue.Sandbox, Rand: rand.Reader})
	}}
}

func copyPostgres(t *testing.T) place {
	t.Helper()
	const secret = "fixture-secret-of-32-bytes-or-more"
	server := postgrestest.URL(t)
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	// The dump names the schema of every table.
	dump := strings.ReplaceAll(string(unzip(t, "postgres.sql.gz")), "public.", u.Query().Get("search_path")+".")
	if _, err := conn.PgConn().Exec(t.Context(), dump).ReadAll(); err != nil {
		t.Fatal(err)
	}
	return place{store: server, secret: secret, open: func(ctx context.Context) (store, error) {
		return postgres.Open(ctx, server, postgres.Options{Secrets: [][]byte{[]byte(secret)}, Environment: catalogue.Sandbox, Rand: rand.Reader})
	}}
}
