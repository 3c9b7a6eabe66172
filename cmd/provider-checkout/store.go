package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/postgres"
	"github.com/provider-checkout/provider-checkout/adapters/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
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
	Secrets() [][]byte // in use: those given, or the store's own
	Close() error
}

// observer has the callbacks for a SQLite store's background work; see sqlite.Options. The zero observer ignores it.
type observer struct {
	commit  func(writes int)
	checked func(error)
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

func (c *call) open(ctx context.Context, env catalogue.Environment, o observer, mustExist bool) (records, error) {
	scheme, path, _ := strings.Cut(c.store, ":")
	inPostgres := scheme == "postgres" || scheme == "postgresql"
	if path == "" || !inPostgres && scheme != "sqlite" {
		// The rest may contain a password, so the error does not repeat it.
		return nil, cli.UsageError(fmt.Sprintf("--store must be sqlite:PATH or postgres://…; %q is no store that this program has", scheme))
	}
	if !inPostgres && mustExist {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no store at %s; apply and serve make one", path)
		}
	}
	secrets, err := c.secrets()
	if err != nil {
		return nil, err
	}
	if inPostgres { // its server batches commits and checks its files itself
		return postgres.Open(ctx, c.store, postgres.Options{Secrets: secrets, Environment: env, MustExist: mustExist, Rand: rand.Reader})
	}
	return sqlite.Open(ctx, path, sqlite.Options{Secrets: secrets, Environment: env, Rand: rand.Reader,
		OnCommit: o.commit, OnChecked: o.checked})
}

// secrets returns the operator's secrets, or nil if there are none.
func (c *call) secrets() ([][]byte, error) {
	list, file := c.Env(secretVariable), c.Env(secretFileVariable)
	switch {
	case list != "" && file != "":
		return nil, cli.UsageError("set only one of " + secretVariable + " and " + secretFileVariable)
	case list != "":
		secrets, err := checkout.ParseSecrets(list, ",")
		return secrets, inSource(secretVariable, err)
	case file != "":
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", secretFileVariable, err)
		}
		secrets, err := checkout.ParseSecrets(string(text), "\n")
		return secrets, inSource(file, err)
	}
	return nil, nil
}

// inSource adds the source of the secrets to an error about them.
func inSource(source string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	return nil
}
