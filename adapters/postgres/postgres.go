package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-checkout/provider-checkout/adapters/internal/seal"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

var _ ports.Store = (*DB)(nil)

// Options is how a store is opened.
type Options struct {
	// Secrets are the operator's secrets, of at least 32 bytes each: the first seals, all open.
	// Without them the store uses its own, and makes it if there is none; a store that is stamped
	// production, or is opened for production, is refused without them.
	Secrets [][]byte
	// Environment stamps a new store, and refuses a store of the other one. Empty for
	// operator's commands, which do neither.
	Environment catalogue.Environment
	// MustExist refuses a database that holds no store yet, rather than making one.
	MustExist bool
	// Rand is where secrets and nonces come from: crypto/rand where it is nil.
	Rand io.Reader
}

// DB is a ports.Store in a PostgreSQL database.
type DB struct {
	pool    *pgxpool.Pool
	secrets [][]byte
	box     *seal.Box

	began    time.Time
	lastLoss atomic.Int64 // since began, in nanoseconds: when a connection was found to be lost
}

// Open opens the store that a connection string names (postgres://user:password@host:port/database),
// and makes it if there is none. A schema that is two versions newer than this program is refused,
// and so is a secret that is not the store's: unless the store's is among those given, for then what
// it seals is sealed anew under the first of them. No error repeats any part of the connection string.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	db := &DB{began: time.Now()}
	if err := db.open(ctx, url, o); err != nil {
		db.close()
		return nil, fmt.Errorf("open store in PostgreSQL: %w", err)
	}
	return db, nil
}

func (db *DB) open(ctx context.Context, url string, o Options) error {
	if err := seal.Check(o.Environment, o.Secrets); err != nil {
		return err
	}
	config, err := db.poolConfig(url)
	if err != nil {
		return err
	}
	if db.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return errors.New("the connection pool cannot be made") // its error may quote the configuration
	}
	if err := db.checkServer(ctx); err != nil {
		return err
	}
	if err := db.migrate(ctx, o.MustExist); err != nil {
		return err
	}
	return db.admit(ctx, o)
}

// Secrets returns the operator's secrets in force: those given, or the store's own.
func (db *DB) Secrets() [][]byte { return db.secrets }

// Close waits for the calls under way and closes every connection.
func (db *DB) Close() error {
	db.close()
	return nil
}

func (db *DB) close() {
	if db.pool != nil {
		db.pool.Close()
	}
}
