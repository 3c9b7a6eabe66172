package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/out/jsonlines"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

const (
	secretVariable = "PROVIDER_CHECKOUT_SECRET"
	signerVariable = "PROVIDER_CHECKOUT_SIGNER"
)

// records is an open store.
type records interface {
	site.Store
	Environment() catalogue.Environment // "" of a new store
	Secrets() [][]byte                  // in use: the operator's, or the store's own
	Close() error
}

// opening is the manner in which a store is opened.
type opening struct {
	environment catalogue.Environment // "" for a command that serves no environment
	mustExist   bool                  // so that a mistyped path does not create an empty store
	readOnly    bool                  // without the operator's secret; nothing is written
}

// reader is an open store for a command that reads records.
type reader struct{ records }

// openReader opens the store of a command that has a reader as a parameter.
func openReader(ctx context.Context, c *call) (reader, error) {
	db, err := c.open(ctx, opening{mustExist: true, readOnly: true})
	return reader{db}, err
}

// openRecords opens the store of a command that has records as a parameter, or an operator on them.
func openRecords(ctx context.Context, c *call) (records, error) {
	return c.open(ctx, opening{mustExist: true})
}

// open opens the store until the end of the call, and creates it if it does not exist, unless it must.
func (c *call) open(ctx context.Context, how opening) (db records, err error) {
	defer func() {
		if err == nil {
			c.close = db.Close
		}
	}()
	path, inPostgres, err := c.place()
	if err != nil {
		return nil, err
	}
	if !inPostgres && how.mustExist {
		if err := mustExist(path); err != nil {
			return nil, err
		}
	}
	var secrets [][]byte
	if !how.readOnly {
		if secrets, err = c.secrets(); err != nil {
			return nil, err
		}
	}
	if inPostgres { // its server batches commits and checks its files itself
		return postgres.Open(ctx, c.store, postgres.Options{Secrets: secrets, Environment: how.environment, MustExist: how.mustExist,
			ReadOnly: how.readOnly, Rand: rand.Reader})
	}
	return sqlite.Open(ctx, path, sqlite.Options{Secrets: secrets, Environment: how.environment, ReadOnly: how.readOnly, Rand: rand.Reader})
}

// place returns the path of a SQLite store, or that the store is in PostgreSQL. Its error repeats nothing of the store's address, which may
// have a password anywhere in it.
func (c *call) place() (path string, inPostgres bool, err error) {
	scheme, path, _ := strings.Cut(c.store, ":")
	inPostgres = scheme == "postgres" || scheme == "postgresql"
	switch {
	case inPostgres:
		err = postgres.CheckAddress(c.store)
	case path == "" || scheme != "sqlite":
		err = errors.New("it must be sqlite:PATH or postgres://…")
	}
	if err != nil {
		return "", false, usageError(c.name("store") + " cannot be used: " + err.Error())
	}
	return path, inPostgres, nil
}

// errNoStore: there is no file of a store.
var errNoStore = errors.New("there is no store")

// mustExist returns errNoStore if there is no store at a path.
func mustExist(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		return fmt.Errorf("%s is missing, and %[1]s-wal has its latest writes: put the file back beside it", path)
	}
	return fmt.Errorf("%w at %s; apply and serve make one, or name yours with --store", errNoStore, path)
}

// secrets returns the operator's secrets, or nil if no secret is given.
func (c *call) secrets() ([][]byte, error) {
	return parsed(c, secretVariable, func(l setting) ([][]byte, error) { return checkout.ParseSecrets(l.text, l.separator) })
}

// export writes everything on record as JSON Lines. A checkout that cannot be
// read is reported on stderr, and the other checkouts are still written.
type export struct{ StoreFlags }

func (*export) Run(ctx context.Context, c *call, db reader) error {
	out := bufio.NewWriter(c.Stdout)
	unreadable := 0
	err := db.Export(ctx, "", jsonlines.NewVisitor(out, db.Environment(), func(checkoutID string, err error) error {
		unreadable++
		_, failed := fmt.Fprintf(c.Stderr, "checkout %s cannot be read: %s\n", checkoutID, oneLine(err.Error()))
		return failed
	}))
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if unreadable > 0 {
		return fmt.Errorf("%s could not be read; everything else is written", counted(unreadable, "checkout"))
	}
	return nil
}

// backup copies a SQLite store, which may be served meanwhile, to a new file.
type backup struct {
	StoreFlags
	Out string `required:"" placeholder:"FILE" help:"to write, which must not be there; only its owner may read it (required)"`
}

func (f *backup) Run(ctx context.Context, c *call) error {
	path, inPostgres, err := c.place()
	switch {
	case err != nil:
	case inPostgres:
		err = errors.New("a PostgreSQL store is backed up with its server's own tools, such as pg_basebackup")
	default:
		err = mustExist(path)
	}
	if err != nil {
		return err
	}
	if err := sqlite.Backup(ctx, path, f.Out); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already; a backup never takes the place of a file", f.Out)
	} else if err != nil {
		return err
	}
	keep := path + ".secret"
	if given, _ := c.setting(secretVariable); given.name != "" {
		keep = "the operator's secret"
	}
	_, err = fmt.Fprintf(c.Stdout, "wrote %s, checked and synced\nkeep elsewhere: %s, without which it cannot be used\n", f.Out, keep)
	return err
}

// distributeStore spreads a store in PostgreSQL over the nodes of its cluster.
type distributeStore struct{ StoreFlags }

func (*distributeStore) Run(ctx context.Context, c *call, db records) error {
	cluster, ok := db.(interface{ Distribute(context.Context) error })
	if !ok {
		return errors.New("a SQLite store is one file on one machine: only a store in PostgreSQL can be distributed")
	}
	if err := cluster.Distribute(ctx); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.Stdout, "the store is distributed: everything of a provider is on one node")
	return err
}
