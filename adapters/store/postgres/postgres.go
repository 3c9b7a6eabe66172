package postgres

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The methods of ports.Admin are described there.
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

//go:embed schema.sql
var schemaSQL string

// version is that of schema.sql.
const version = 2

const (
	selectMade  = `SELECT current_setting('server_encoding'), version, environment FROM store WHERE id = 1`
	selectStamp = `SELECT environment, secret_fingerprint, own_secret FROM store WHERE id = 1`
	updateStamp = `UPDATE store SET environment = $1, secret_fingerprint = $2, own_secret = $3 WHERE id = 1`
	lockStore   = `SELECT 1 FROM store WHERE id = 1 FOR UPDATE`
)

// made is the state of a store in the database.
type made struct {
	Encoding    string
	Version     int64
	Environment string
}

// checkSchema checks the version of the store, and makes it if it is missing.
func (db *DB) checkSchema(ctx context.Context, mayMake bool) error {
	return db.call(ctx, "schema", func(ctx context.Context, c *conn) error {
		found, err := one(ctx, c, itself[made], selectMade)
		if is(err, noTable) && mayMake {
			_, failed := c.PgConn().Exec(ctx, schemaSQL).ReadAll()              // in one transaction
			if found, err = one(ctx, c, itself[made], selectMade); err != nil { // else another process may have made it
				err = cmp.Or(failed, err)
			}
		}
		switch {
		case is(err, noTable):
			return ErrNoStore
		case err != nil:
			return err
		case found.Encoding != "UTF8":
			return fmt.Errorf("the database's encoding is %s, not UTF8", found.Encoding)
		case found.Version != version:
			return fmt.Errorf("the store has version %d of the schema, and this program knows version %d", found.Version, version)
		}
		db.environment = catalogue.Environment(found.Environment)
		return nil
	})
}

// stamp is the record of the servers that may open a store.
type stamp struct{ Environment, Fingerprint, OwnSecret string }

// authorize grants the request to open the store, and records it.
func (db *DB) authorize(ctx context.Context, request secrets.Request) error {
	return db.locked(ctx, "secret", func(ctx context.Context, c *conn, b *batch) error {
		s, err := one(ctx, c, itself[stamp], selectStamp)
		if err != nil {
			return err
		}
		next := s
		was := secrets.Stamp{Environment: catalogue.Environment(s.Environment), Fingerprint: s.Fingerprint}
		grant, err := request.Authorize(was, func(isNew bool) ([]byte, error) {
			var err error
			switch {
			case next.OwnSecret == "" && !isNew:
				err = errors.New("it is encrypted under the operator's secret, and none was given")
			case next.OwnSecret == "":
				next.OwnSecret, err = secrets.NewSecret(request.Rand)
			}
			return []byte(next.OwnSecret), err
		})
		if err != nil {
			return err
		}
		db.environment, db.secrets, db.encrypter = grant.Stamp.Environment, grant.Secrets, grant.Encrypter
		if grant.Stamp.Environment == catalogue.Production || string(grant.Secrets[0]) != next.OwnSecret {
			next.OwnSecret = "" // nobody needs it any more
		}
		if next.Environment, next.Fingerprint = string(grant.Stamp.Environment), grant.Stamp.Fingerprint; next != s {
			b.Queue(updateStamp, next.Environment, next.Fingerprint, next.OwnSecret)
		}
		if !grant.Reencrypt {
			return nil
		}
		return c.replace(ctx, b, rows.Unchanged)
	})
}

// locked runs f in a transaction that holds the store's own row, and commits what f adds to the batch.
func (db *DB) locked(ctx context.Context, what string, f func(context.Context, *conn, *batch) error) error {
	return db.call(ctx, what, func(ctx context.Context, c *conn) error {
		begin := db.batch()
		begin.Queue(lockStore)
		if err := c.SendBatch(ctx, &begin.Batch).Close(); err != nil {
			return err
		}
		rest := &batch{timeout: db.commitTimeout}
		if err := f(ctx, c, rest); err != nil {
			return err
		}
		return c.commit(ctx, rest)
	})
}

func (db *DB) Ready(ctx context.Context) error {
	return db.write(ctx, "write to the store", func(b *batch) { b.Queue(`UPDATE store SET version = version WHERE id = 1`) })
}

// A store can be spread over the nodes of a cluster of Citus, an extension of PostgreSQL: everything of a provider is on one node, each
// node has a copy of what belongs to no provider alone, and the acts stay where they are.
var (
	copied = []string{"store", "providers", "courses", "api_keys", "sandbox_records"}
	spread = []string{"checkouts", "agreements", "documents", "jobs", "moments"} // the others beside the first
)

// Distribute spreads the store, empty or filled, over the nodes of the server's Citus cluster: all of it or nothing. Nobody may use the
// store meanwhile. It does nothing if the store is distributed already.
func (db *DB) Distribute(ctx context.Context) error {
	return db.locked(ctx, "distribute the store", func(ctx context.Context, c *conn, b *batch) error {
		done, err := one(ctx, c, itself[value[bool]],
			`SELECT count(*) > 0 FROM pg_dist_partition WHERE logicalrelid = CAST($1 AS regclass)`, spread[0])
		switch {
		case is(err, noTable):
			return errors.New("the server has no Citus: the store stays on one node")
		case err != nil || done.V:
			return err
		}
		b.timeout = 24 * time.Hour // longer than any store takes
		b.Queue(`SELECT set_config('statement_timeout', '0', true)`)
		for _, table := range copied {
			b.Queue(`SELECT create_reference_table(CAST($1 AS regclass))`, table)
		}
		beside := "none"
		for _, table := range spread {
			b.Queue(`SELECT create_distributed_table(CAST($1 AS regclass), 'provider_code', colocate_with => $2)`, table, beside)
			beside = spread[0]
		}
		return nil
	})
}
