package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

const (
	secretVariable     = "PROVIDER_CHECKOUT_SECRET"
	secretFileVariable = "PROVIDER_CHECKOUT_SECRET_FILE"

	secretHelp = "The operator's secret, of 32 bytes or more, comes from " + secretVariable + " (a comma-separated list: the\n" +
		"first signs, all verify) or from the file that " + secretFileVariable + " names (one a\n" +
		"line). Without it a sandbox uses the store's own, in <file>.secret or a table of PostgreSQL.\n" +
		"SIGTERM drains and ends."
)

// records is an open store.
type records interface {
	site.Store
	Secrets() [][]byte // in use: the operator's, or the store's own
	Close() error
}

// observer has the callbacks for a SQLite store's background work; see sqlite.Options. The zero observer ignores it.
type observer struct {
	commit  func(writes int)
	exposed func(path string)
}

// openStore opens the store, and creates it if it does not exist. env is empty for a command
// that serves no environment.
func (c *call) openStore(ctx context.Context, env catalogue.Environment, o observer) (records, error) {
	return c.open(ctx, env, o, false)
}

// openRecords opens a store that must exist, so that a mistyped path does not create an empty one.
func (c *call) openRecords(ctx context.Context) (records, error) {
	return c.open(ctx, "", observer{}, true)
}

// onRecords returns a command that runs on an open store.
func onRecords(run func(context.Context, *call, records) error) func(context.Context, *call) error {
	return func(ctx context.Context, c *call) error {
		db, err := c.openRecords(ctx)
		if err != nil {
			return err
		}
		defer db.Close()
		return run(ctx, c, db)
	}
}

// operating returns a command that runs on an open store and acts as an operator.
func operating(run func(context.Context, *call, records, operate.Operator) error) func(context.Context, *call) error {
	return onRecords(func(ctx context.Context, c *call, db records) error {
		operator, err := c.acting(db)
		if err != nil {
			return err
		}
		return run(ctx, c, db, operator)
	})
}

func (c *call) open(ctx context.Context, env catalogue.Environment, o observer, existing bool) (records, error) {
	path, inPostgres, err := c.place()
	if err != nil {
		return nil, err
	}
	if !inPostgres && existing {
		if err := mustExist(path); err != nil {
			return nil, err
		}
	}
	secrets, err := c.secrets()
	if err != nil {
		return nil, err
	}
	if inPostgres { // its server batches commits and checks its files itself
		return postgres.Open(ctx, c.store, postgres.Options{Secrets: secrets, Environment: env, CRM: c.outsideCRM(), MustExist: existing, Rand: rand.Reader})
	}
	return sqlite.Open(ctx, path, sqlite.Options{Secrets: secrets, Environment: env, CRM: c.outsideCRM(), Rand: rand.Reader,
		OnCommit: o.commit, OnExposed: o.exposed})
}

// place returns the path of a SQLite store, or that the store is in PostgreSQL.
func (c *call) place() (path string, inPostgres bool, err error) {
	scheme, path, _ := strings.Cut(c.store, ":")
	inPostgres = scheme == "postgres" || scheme == "postgresql"
	if path == "" || !inPostgres && scheme != "sqlite" {
		// The rest may contain a password, so the error does not repeat it.
		return "", false, cli.UsageError(fmt.Sprintf("--store must be sqlite:PATH or postgres://…; %q is no store that this program has", scheme))
	}
	return path, inPostgres, nil
}

// mustExist returns an error if there is no store at a path.
func mustExist(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		return fmt.Errorf("%s is missing, and %[1]s-wal has its latest writes: put the file back beside it", path)
	}
	return fmt.Errorf("there is no store at %s; apply and serve make one, or name yours with --store", path)
}

// secrets returns the operator's secrets, or nil if no secret is given.
func (c *call) secrets() ([][]byte, error) {
	list, err := c.secretList(secretVariable)
	if err != nil || list.source == "" {
		return nil, err
	}
	secrets, err := checkout.ParseSecrets(list.text, list.separator)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", list.source, err)
	}
	return secrets, nil
}
