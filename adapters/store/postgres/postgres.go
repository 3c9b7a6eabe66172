package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

var _ ports.Admin = (*DB)(nil)

// DefaultSchema is the schema of a store that New opens, unless Options name another.
const DefaultSchema = "provider_checkout"

// ErrNoStore: the database has no store.
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
	// ReadOnly opens a store that exists for reading alone: without a secret, so that a role with SELECT alone may do so. Every write
	// fails, and no provider has its webhook secrets.
	ReadOnly bool
	// MustExist fails with ErrNoStore instead of making a store.
	MustExist bool
	// Rand is the source of secrets and nonces; crypto/rand if nil.
	Rand io.Reader
}

// DB is a ports.Admin in a PostgreSQL database.
type DB struct {
	pool      *pgxpool.Pool
	shared    bool // the pool is the host's
	readOnly  bool
	schema    string
	encrypter *secrets.Encrypter // nil if the store is read only

	environment catalogue.Environment
	secrets     [][]byte
	// serving: what is read is answered to others, so that it must be proven.
	serving       bool
	commitTimeout time.Duration

	opened     time.Time
	lastLoss   atomic.Int64 // since opened, in nanoseconds: when a connection was found to be lost
	stalled    atomic.Bool  // the latest commit was not answered in time
	doubts     atomic.Int64 // commits whose wait for a standby may have been broken
	settled    atomic.Int64 // of them: they were proven
	statements sync.Map     // from a statement as it is written to the statement as it is sent
}

// Open opens the store that a connection string names (postgres://user:password@host:port/database), and makes it if
// it does not exist. It fails if the store has another schema than this program, and if none of Secrets is the store's. If the store's
// secret is among them but not the first, the webhook secrets are encrypted again under the first. No error repeats any part of the
// connection string.
//
// It opens up to 20 connections, or as many as pool_max_conns in the connection string says, and for an environment the first
// four of them at once.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	db := newDB(o)
	err := db.connect(ctx, url)
	if err == nil {
		err = db.open(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store in PostgreSQL: %w", err), db.Close())
	}
	return db, nil
}

// New opens the store over a pool of the host, as Open does, and leaves the pool open when it is closed. The pool's sessions stay as
// they are: each transaction that writes sets for itself alone what it needs.
func New(ctx context.Context, pool *pgxpool.Pool, o Options) (*DB, error) {
	o.Schema = cmp.Or(o.Schema, DefaultSchema)
	db := newDB(o)
	db.pool, db.shared = pool, true
	if err := db.open(ctx, o); err != nil {
		return nil, fmt.Errorf("open store in PostgreSQL: %w", err)
	}
	return db, nil
}

func newDB(o Options) *DB {
	return &DB{schema: o.Schema, readOnly: o.ReadOnly, opened: time.Now(), commitTimeout: commitTimeout}
}

// maxNameLength is the largest length in bytes of a name that PostgreSQL does not truncate.
const maxNameLength = 62

// open checks the server, makes the store if it is missing, and authorizes the request.
func (db *DB) open(ctx context.Context, o Options) error {
	request := secrets.Request{Environment: o.Environment, Secrets: o.Secrets, Rand: o.Rand}
	if err := request.Check(); err != nil {
		return err
	}
	if len(db.schema) > maxNameLength || strings.ContainsRune(db.schema, 0) {
		return fmt.Errorf("%q cannot be the name of a schema", db.schema)
	}
	if err := db.checkSchema(ctx, !o.ReadOnly && !o.MustExist); err != nil {
		return err
	}
	if o.ReadOnly {
		return db.readEnvironment(ctx)
	}
	if err := db.authorize(ctx, request); err != nil {
		return err
	}
	if db.serving = o.Environment != ""; db.serving && !db.shared {
		db.warm(ctx)
	}
	return nil
}

// table returns the name of a table of the store as SQL has it.
func (db *DB) table(name string) string {
	if db.schema == "" {
		return name
	}
	return pgx.Identifier{db.schema}.Sanitize() + "." + name
}

// sql returns a statement as it is sent: with the schema before each table. It is made once, so that its text, which prepared
// statements are found by, is always the same string.
func (db *DB) sql(statement string) string {
	if text, ok := db.statements.Load(statement); ok {
		return text.(string)
	}
	text, _ := db.statements.LoadOrStore(statement, strings.ReplaceAll(statement, "@.", db.table("")))
	return text.(string)
}

// Environment returns the environment that is recorded; "" before the first.
func (db *DB) Environment() catalogue.Environment { return db.environment }

// Secrets returns the secrets in use: the operator's, or the store's own; nil if the store is read only.
func (db *DB) Secrets() [][]byte { return db.secrets }

// Pool returns how many connections of the pool are in use, and how many there may be.
func (db *DB) Pool() (inUse, limit int) {
	s := db.pool.Stat()
	return int(s.AcquiredConns()), int(s.MaxConns())
}

// Close waits for the calls under way and closes every connection, unless the pool is the host's.
func (db *DB) Close() error {
	if db.pool != nil && !db.shared {
		db.pool.Close()
	}
	return nil
}
