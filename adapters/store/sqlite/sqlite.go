// Package sqlite keeps everything in one SQLite file. An auditor can read it with SQLite's own shell: the files in
// migrations say what each table and column holds.
//
// One connection writes, and commits together what arrives at once; each write is on the disk before it is acknowledged. A
// pool of read-only connections reads. Several processes may have one store open.
//
// While the disk is full, or cannot be written, or the file was moved, deleted or replaced, the store is not ready and its
// writes fail as busy. It recovers by itself once that is mended. What is found in the file's place meanwhile, beside the log of
// another file, is not opened. A file that is written over in place is the same file, and is not noticed.
//
// The file is the store's own. A file of another application is refused; tables that a host adds to the store's
// file are left alone.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/adapters/store/migration"
	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

var _ ports.Admin = (*DB)(nil)

// Options are the options with which a store is opened.
type Options struct {
	// Secrets are the operator's secrets, of at least 32 bytes each: the first encrypts, all decrypt. Without them the
	// store uses the text of <file>.secret, and makes that file for a new store. A store of production needs them.
	Secrets [][]byte
	// Environment is the environment for which the store is opened. The first one is recorded; a store of the other one is refused. It is
	// empty for operator's commands, which record and refuse nothing.
	Environment catalogue.Environment
	// CRM is the name of the CRM outside of the store, which is recorded with the environment; empty where the store is
	// the CRM. A store that was opened with another CRM is refused: the records of its checkouts are there.
	CRM string
	// Rand is the source of secrets and nonces; crypto/rand if nil.
	Rand io.Reader
	// OnExposed is called for each file of the store, and for its secret, that everybody could open until Open has changed
	// its mode. It may be nil.
	OnExposed func(path string)

	// ReadOnly opens a store that exists for reading alone: without a secret, and without a write to its file. Every write fails, and no
	// provider has its webhook secrets. Its schema must not be older than the program's.
	ReadOnly bool

	migrations []migration.Migration // instead of this program's, in tests
}

// DB is a ports.Admin in one SQLite file.
type DB struct {
	path    string
	schema  int // the version that this program knows
	writer  writer
	readers *pool
	*sqlstore.Store
}

// Open opens the store, and makes it if it does not exist, with files that only their owner can read. It fails if the file is
// damaged, is no store, was made by a development version, or has a schema that is two versions newer than the program; and
// if none of Secrets is the store's. If the store's secret is among them but not the first, the webhook secrets are encrypted again
// under the first. Damage is looked for in a file of up to 16 MB; in a larger one Backup looks.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	db := &DB{path: path}
	db.Store = sqlstore.New(engine{db}, dialect)
	if err := db.open(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, err), db.Close())
	}
	return db, nil
}

func (db *DB) open(ctx context.Context, o Options) error {
	request := secrets.Request{Environment: o.Environment, CRM: o.CRM, Secrets: o.Secrets, Rand: o.Rand}
	if err := request.Check(); err != nil {
		return err
	}
	if o.migrations == nil {
		var err error
		if o.migrations, err = ownMigrations(); err != nil {
			return err
		}
	}
	db.schema = len(o.migrations)
	if o.ReadOnly {
		return db.openReadOnly(ctx, o.migrations)
	}
	if err := createFile(ctx, db.path); err != nil {
		return err
	}
	if err := db.writer.open(ctx, db.path, o.migrations); err != nil {
		return err
	}
	if err := db.Authorize(ctx, request, ownSecret{db.path + secretSuffix, request.Rand}); err != nil {
		return err
	}
	if err := db.makePrivate(o.OnExposed); err != nil {
		return err
	}
	var err error
	db.readers, err = openReaders(ctx, db.writer.place)
	return err
}

// openReadOnly opens the connections that read.
func (db *DB) openReadOnly(ctx context.Context, own []migration.Migration) error {
	if err := checkLog(ctx, db.path); err != nil {
		return err
	}
	place, err := placeOf(db.path)
	if err != nil {
		return err
	}
	if db.readers, err = openReaders(ctx, place); err != nil {
		return err
	}
	if err := checkFile(ctx, db.readers.db); err != nil {
		return err
	}
	ran, err := ranMigrations(ctx, db.readers)
	if err != nil {
		return err
	}
	return migration.Ran(own, ran)
}

// makePrivate keeps others from opening the files of the store, which somebody may have made before Open could.
func (db *DB) makePrivate(onExposed func(path string)) error {
	for _, suffix := range []string{"", "-wal", "-shm", secretSuffix} {
		exposed, err := privatefile.Protect(db.path + suffix)
		switch {
		case errors.Is(err, fs.ErrNotExist): // there is no secret beside it
		case err != nil:
			return err
		case exposed && onExposed != nil:
			onExposed(db.path + suffix)
		}
	}
	return nil
}

// Pool returns how many connections are in use, and how many there may be.
func (db *DB) Pool() (inUse, limit int) {
	readers := db.readers.db.Stats()
	return 1 + readers.InUse, 1 + readers.MaxOpenConnections // the writer keeps its connection
}

// Schema returns the number of the schema that this program knows.
func (db *DB) Schema() int { return db.schema }

// Close waits for the writes under way and closes the store.
func (db *DB) Close() error {
	return errors.Join(db.readers.close(), db.writer.close()) // the last connection checkpoints the log
}

// pool is connections that read, with their statements.
type pool struct {
	db *sql.DB
	statements
}

func newPool(db *sql.DB) *pool { return &pool{db: db, statements: statements{on: db}} }

func (p *pool) close() error {
	if p == nil {
		return nil
	}
	return errors.Join(p.statements.close(), p.db.Close())
}
