package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

var _ ports.Admin = (*DB)(nil)

// ErrNoStore: the database has no store.
var ErrNoStore = errors.New("there is no store in this database; apply and serve make one")

// Options are the options with which a store is opened.
type Options struct {
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
	readOnly  bool
	encrypter *secrets.Encrypter // nil if the store is read only

	environment catalogue.Environment
	secrets     [][]byte

	commitTimeout time.Duration
	stalled       atomic.Bool  // the latest commit was not answered in time
	doubts        atomic.Int64 // see conn.proveVisible; 0 for a command, which answers nobody
}

// Open opens the store that a connection string names (postgres://user:password@host:port/database), and makes it if
// it does not exist. Its tables are in the first schema of the search path, which a search_path in the connection string sets. Open
// fails if the store has another schema than this program, and if none of Secrets is the store's. If the store's
// secret is among them but not the first, the webhook secrets are encrypted again under the first. No error repeats any part of the
// connection string.
//
// It uses up to 20 connections, or as many as pool_max_conns in the connection string says.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	db := &DB{readOnly: o.ReadOnly, commitTimeout: commitTimeout}
	err := db.connect(ctx, url)
	if err == nil {
		err = db.open(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store in PostgreSQL: %w", err), db.Close())
	}
	return db, nil
}

// open makes the store if it is missing, and authorizes the request.
func (db *DB) open(ctx context.Context, o Options) error {
	request := secrets.Request{Environment: o.Environment, Secrets: o.Secrets, Rand: o.Rand}
	if err := request.Check(); err != nil {
		return err
	}
	if err := db.checkSchema(ctx, !o.ReadOnly && !o.MustExist); err != nil || o.ReadOnly {
		return err
	}
	if o.Environment != "" {
		db.doubts.Store(1)
	}
	return db.authorize(ctx, request)
}

// Environment returns the environment that is recorded; "" before the first.
func (db *DB) Environment() catalogue.Environment { return db.environment }

// Secrets returns the secrets in use: the operator's, or the store's own; nil if the store is read only.
func (db *DB) Secrets() [][]byte { return db.secrets }

// Close waits for the calls under way and closes every connection.
func (db *DB) Close() error {
	if db.pool != nil {
		db.pool.Close()
	}
	return nil
}
