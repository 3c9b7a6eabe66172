package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/adapters/store/migration"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

var _ ports.Admin = (*DB)(nil)

// DefaultSchema is the schema of a store that New opens, unless Options name another.
const DefaultSchema = "provider_checkout"

// ErrNoStore means that nobody made a store in the database yet.
var ErrNoStore = errors.New("there is no store in this database; apply and serve make one")

// Options are the options with which a store is opened.
type Options struct {
	// Schema is the schema of all tables. It is made if it does not exist. If it is empty, New uses DefaultSchema, and Open the
	// first schema of the search path, which must exist. The role needs CREATE on the database to make it, or else to own it.
	Schema string
	// Secrets are the operator's secrets, of at least 32 bytes each: the first encrypts, all decrypt. Without them the
	// store uses one of its own, and makes it for a new store. A store of production needs them.
	Secrets [][]byte
	// Environment is the environment for which the store is opened. The first one is recorded; a store of the other one is refused. It is
	// empty for operator's commands, which record and refuse nothing.
	Environment catalogue.Environment
	// CRM is the name of the CRM outside of the store, which is recorded with the environment; empty where the store is
	// the CRM. A store that was opened with another CRM is refused: the records of its checkouts are there.
	CRM string
	// ReadOnly opens a store that exists for reading alone: without a secret, and in transactions that are READ ONLY, so that a role
	// with SELECT alone may do so. Every write fails, and no provider has its webhook secrets. Its schema must not be older than the
	// program's.
	ReadOnly bool
	// MustExist fails with ErrNoStore instead of making a store.
	MustExist bool
	// Rand is the source of secrets and nonces; crypto/rand if nil.
	Rand io.Reader

	migrations []migration.Migration // instead of this program's, in tests
}

// DB is a ports.Admin in a PostgreSQL database.
type DB struct {
	*sqlstore.Store
	pool   *pgxpool.Pool
	shared bool // the pool is the host's
	schema *schema
	newest int // the version of the schema that this program knows
	// serving says that what is read is answered to others, so that it must be proven.
	serving       bool
	commitTimeout time.Duration

	opened   time.Time
	lastLoss atomic.Int64 // since opened, in nanoseconds: when a connection was found to be lost
	stalled  atomic.Bool  // the latest commit was not answered in time
}

// Open opens the store that a connection string names (postgres://user:password@host:port/database), and makes it if
// it does not exist. It fails if a development version made the store, if its schema is two versions newer than the program, and
// if none of Secrets is the store's. If the store's secret is among them but not the first, the webhook secrets are encrypted
// again under the first. No error repeats any part of the connection string.
//
// It opens up to 20 connections, or as many as pool_max_conns in the connection string says, and for an environment the first
// four of them at once.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	db := newDB(o)
	err := o.request().Check()
	if err == nil {
		err = db.connect(ctx, url, o.ReadOnly)
	}
	if err == nil {
		err = db.open(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store in PostgreSQL: %w", err), db.Close())
	}
	return db, nil
}

// New opens the store over a pool of the host, as Open does, and leaves the pool open when it is closed.
//
// The pool's sessions stay as they are. Each transaction that writes sets, for itself alone, what it needs: READ COMMITTED,
// synchronous_commit on (or the host's remote_apply), warnings, and time-outs of 5 seconds for a statement, 3 for a lock and 5
// for a transaction in which nothing happens. Reads have the time-outs of the pool and of their context. A call
// needs one connection; decide functions run while it is held.
func New(ctx context.Context, pool *pgxpool.Pool, o Options) (*DB, error) {
	o.Schema = cmp.Or(o.Schema, DefaultSchema)
	db := newDB(o)
	db.pool, db.shared = pool, true
	err := o.request().Check()
	if err == nil {
		err = db.open(ctx, o)
	}
	if err != nil {
		return nil, fmt.Errorf("open store in PostgreSQL: %w", err)
	}
	return db, nil
}

func newDB(o Options) *DB {
	db := &DB{schema: &schema{name: o.Schema}, opened: time.Now(), commitTimeout: commitTimeout}
	db.Store = sqlstore.New(engine{db}, dialect)
	return db
}

func (o Options) request() secrets.Request {
	return secrets.Request{Environment: o.Environment, CRM: o.CRM, Secrets: o.Secrets, Rand: o.Rand}
}

// open checks the server, migrates the schema and authorizes the request.
func (db *DB) open(ctx context.Context, o Options) error {
	if err := db.schema.check(); err != nil {
		return err
	}
	if err := db.checkServer(ctx); err != nil {
		return err
	}
	if o.migrations == nil {
		var err error
		if o.migrations, err = migration.Read(migrations, "migrations"); err != nil {
			return err
		}
	}
	db.newest = len(o.migrations)
	if o.ReadOnly {
		return db.openReadOnly(ctx, o.migrations)
	}
	if err := db.migrate(ctx, o.migrations, o.MustExist); err != nil {
		return err
	}
	if err := db.Authorize(ctx, o.request(), ownSecret{o.Rand}); err != nil {
		return err
	}
	if err := db.findNodes(ctx); err != nil {
		return err
	}
	if db.serving = o.Environment != ""; db.serving && !db.shared {
		db.warm(ctx)
	}
	return nil
}

func (db *DB) openReadOnly(ctx context.Context, own []migration.Migration) error {
	ran, err := db.ranMigrations(ctx)
	switch {
	case err != nil:
		return err
	case len(ran) == 0:
		return ErrNoStore
	}
	if err := migration.Ran(own, ran); err != nil {
		return err
	}
	return db.findNodes(ctx)
}

// Pool returns how many connections of the pool are in use, and how many there may be.
func (db *DB) Pool() (inUse, limit int) {
	s := db.pool.Stat()
	return int(s.AcquiredConns()), int(s.MaxConns())
}

// Schema returns the number of the schema that this program knows.
func (db *DB) Schema() int { return db.newest }

// Close waits for the calls under way and closes every connection, unless the pool is the host's.
func (db *DB) Close() error {
	if db.pool != nil && !db.shared {
		db.pool.Close()
	}
	return nil
}
