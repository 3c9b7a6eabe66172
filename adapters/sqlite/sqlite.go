// Package sqlite keeps everything in one SQLite file, which an auditor can read with SQLite's own
// shell: migrations/0001_initial.sql says what stands where. One connection writes, what comes at
// once in one transaction, which is on the disk before any of it is acknowledged; a pool of
// read-only connections reads.
// Several processes may have one store open.
package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/provider-checkout/provider-checkout/adapters/internal/seal"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

var _ ports.Store = (*DB)(nil)

// Options is how a store is opened.
type Options struct {
	// Secrets are the operator's secrets, of at least 32 bytes each: the first seals, all open.
	// Without them the store uses the text of <file>.secret, and makes it if there is none; a
	// store that is stamped production, or is opened for production, is refused without them.
	Secrets [][]byte
	// Environment stamps a new store, and refuses a store of the other one. Empty for
	// operator's commands, which do neither.
	Environment catalogue.Environment
	// Rand is where secrets and nonces come from: crypto/rand where it is nil.
	Rand io.Reader
	// OnCommit is told after each commit how many writes it took together. It may be nil, and must
	// not block.
	OnCommit func(writes int)
	// OnChecked is told once how it ended that a large file was read through while it was served:
	// with nil if all of it is sound, with an error that wraps ErrDamaged, or with what cut it short, be
	// it that the store was closed. It may be nil. Of a small file Open itself tells.
	OnChecked func(error)
}

// DB is a ports.Store in one SQLite file.
type DB struct {
	path    string
	writer  writer
	readers pool
	secrets [][]byte
	box     *seal.Box

	inspection inspection
}

// Open opens the store, and makes it if there is none. Files that it makes are the owner's
// alone. A file that is damaged, that is no store, or whose schema is two versions newer is
// refused; damage in a large file is looked for while it is served, and OnChecked and Ready tell of it. Refused
// is also a secret that is not the store's: unless the store's is among those given, for then what
// it seals is sealed anew under the first of them.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	db := &DB{path: path}
	if err := db.open(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, err), db.Close())
	}
	return db, nil
}

func (db *DB) open(ctx context.Context, o Options) error {
	if err := seal.Check(o.Environment, o.Secrets); err != nil {
		return err
	}
	if err := createFile(db.path); err != nil {
		return err
	}
	db.writer.onCommit = o.OnCommit
	if err := db.writer.open(ctx, db.path); err != nil {
		return err
	}
	if err := db.admit(ctx, o); err != nil {
		return err
	}
	var err error
	if db.readers, err = openReaders(ctx, db.path); err != nil {
		return err
	}
	if err := db.readers.prepare(ctx, hotReads()); err != nil {
		return err
	}
	large, err := isLarge(db.path)
	if large {
		db.inspection.start(db.checkTables, o.OnChecked)
	}
	return err
}

// Secrets returns the operator's secrets in force: those given, or the file's own.
func (db *DB) Secrets() [][]byte { return db.secrets }

// Close closes the store. The writer comes last, for it folds the log into the file.
func (db *DB) Close() error {
	db.inspection.end()
	return errors.Join(db.readers.close(), db.writer.close())
}

// hotWrites and hotReads are the statements of every create, replay, poll and confirm.
func hotWrites() []string {
	return []string{begin, commit, rollback, insertCheckout, updateCheckout, selectCheckout, insertEvent, insertAgreement, insertDocument,
		drawNumber, takeEvent, settleEvent}
}

func hotReads() []string {
	return []string{selectCheckout, selectByOrder, selectByKey, selectPending, selectProvider, selectCourse, selectAPIKey}
}

// pool is connections, and the statements that are prepared on them.
type pool struct {
	db       *sql.DB
	prepared map[string]*sql.Stmt
}

func (p *pool) prepare(ctx context.Context, statements []string) (err error) {
	p.prepared, err = prepare(ctx, p.db, statements)
	return err
}

// prepare prepares statements on a database or on one connection to it.
func prepare(ctx context.Context, on interface {
	PrepareContext(context.Context, string) (*sql.Stmt, error)
}, statements []string) (map[string]*sql.Stmt, error) {
	prepared := make(map[string]*sql.Stmt, len(statements))
	for _, text := range statements {
		stmt, err := on.PrepareContext(ctx, text)
		if err != nil {
			return nil, fmt.Errorf("prepare %s: %w", text, err)
		}
		prepared[text] = stmt
	}
	return prepared, nil
}

func (p *pool) close() error {
	if p.db == nil {
		return nil
	}
	return p.db.Close()
}
