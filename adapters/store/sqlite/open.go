// Package sqlite keeps everything in one SQLite file. An auditor can read it with SQLite's own shell: schema.sql describes each table
// and column.
//
// One connection writes, and commits together what arrives at once; each write is on the disk before it is acknowledged. A few
// connections read. Several processes may have one store open.
//
// While the disk is full, or cannot be written, or the file was moved, deleted or replaced, the store is not ready and its
// writes fail as busy. It recovers by itself once that is mended. A file that is written over in place is the same file, and is not
// noticed.
//
// The file is the store's own. A file of another application is refused.
package sqlite

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The methods of ports.Admin are described there.
var _ ports.Admin = (*DB)(nil)

// Options are the options with which a store is opened.
type Options struct {
	// Environment is the environment for which the store is opened. The first one is recorded; a store of the other one is refused. It is
	// empty for operator's commands, which record and refuse nothing.
	Environment catalogue.Environment
	// Secrets are the operator's secrets, of at least 32 bytes each: the first encrypts, all decrypt. Without them the
	// store uses the text of <file>.secret, and makes that file for a new store. A store of production needs them.
	Secrets [][]byte
	// ReadOnly opens a store that exists for reading alone: without a secret, and without a write to its file. Every write fails, and no
	// provider has its webhook secrets.
	ReadOnly bool
	Now      func() time.Time // the store's clock; time.Now if nil
	Rand     io.Reader        // the source of secrets and nonces; crypto/rand if nil
}

// DB is a ports.Admin in one SQLite file.
type DB struct {
	path    string
	now     func() time.Time // in UTC to the millisecond
	writer  *writer          // nil if the store is read only
	readers *readers

	environment catalogue.Environment
	secrets     [][]byte
	encrypter   *secrets.Encrypter // nil if the store is read only
}

// Open opens the store, and makes it if it does not exist, with files that only their owner can read. It fails if the file is
// damaged, is no store or has another schema, and if none of Secrets is the store's. If the store's secret is among them but not the
// first, the webhook secrets are encrypted again under the first. Damage is looked for in a file of up to 16 MB; in a larger one Backup
// looks.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	clock := o.Now
	if clock == nil {
		clock = time.Now
	}
	db := &DB{path: path, now: func() time.Time { return clock().UTC().Truncate(time.Millisecond) }}
	open := db.open
	if o.ReadOnly {
		open = db.openReadOnly
	}
	if err := open(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, inaccessible(damaged(err))), db.Close())
	}
	return db, nil
}

// inaccessible says in our words why the files of a store cannot be opened.
func inaccessible(err error) error {
	switch {
	case is(err, sqlite3.SQLITE_CANTOPEN):
		return errors.New("the file, or the log beside it (-wal, -shm), cannot be opened: see the owner and the mode of the files and of the folder")
	case is(err, sqlite3.SQLITE_READONLY):
		return errors.New("the file, or its folder, cannot be written: see the owner and the mode of both")
	}
	return err
}

// forWriting are the parameters of the writer: the log is checkpointed every 16 MB, so that a page that many commits change is copied
// into the file once. If a long read made the log grow, it is truncated to 32 MB. What is deleted is overwritten: it may be a person's.
const forWriting = "mode=rw&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(4000)&_pragma=journal_size_limit(33554432)&_pragma=secure_delete(ON)"

func (db *DB) open(ctx context.Context, o Options) error {
	request := secrets.Request{Environment: o.Environment, Secrets: o.Secrets, Rand: o.Rand}
	if err := request.Check(); err != nil {
		return err
	}
	path, err := find(db.path, true)
	if err != nil {
		return err
	}
	p, err := placeOf(path, "")
	if err != nil {
		return err
	}
	c, err := p.connect(forWriting)
	if err != nil {
		return err
	}
	if err = setUp(ctx, c); err == nil {
		p, err = placeOf(path, "", "-wal", "-shm")
	}
	if err != nil {
		return errors.Join(err, c.Close())
	}
	db.writer, db.readers = newWriter(c, p), newReaders(p, "ro")
	if err := db.authorize(ctx, request); err != nil {
		return err
	}
	for _, name := range []string{path, path + "-wal", path + "-shm", db.path + secretSuffix} { // a copy may have another mode
		if err := privatefile.Protect(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // there may be no secret
			return err
		}
	}
	return nil
}

// openReadOnly opens a store to read it. A disk that cannot be written may have a store without a log, which SQLite opens only as a
// file that never changes.
func (db *DB) openReadOnly(ctx context.Context, _ Options) error {
	path, err := find(db.path, false)
	if err != nil {
		return err
	}
	p, err := placeOf(path, "")
	if err != nil {
		return err
	}
	mode := "ro"
	if !exists(path+"-wal") && !writable(filepath.Dir(path)) {
		mode = "ro&immutable=1"
	}
	db.readers = newReaders(p, mode)
	return db.read(ctx, func(c *conn) error {
		if _, err := one(ctx, c, header.check, selectHeader); err != nil {
			return err
		}
		s, err := one(ctx, c, itself[stamp], selectStamp)
		db.environment = catalogue.Environment(s.environment)
		return err
	})
}

// writable reports whether a file can be made in a folder.
func writable(folder string) bool {
	f, err := privatefile.New(folder)
	return err == nil && f.Close() == nil
}

//go:embed schema.sql
var schema string

const (
	// applicationID marks a SQLite file as a store, and schemaVersion is the version of schema.sql, which has both.
	applicationID = 0x50436b31
	schemaVersion = 2
	// maxCheckedSize is the size in bytes up to which a file is checked for damage when it is opened. Every backup is checked.
	maxCheckedSize = 16 << 20
)

// setUp checks the file, turns write-ahead logging on, and makes the schema of a new store. Only a store's file is changed. Of processes
// that make one store at once, one does, and the others wait.
func setUp(ctx context.Context, c *conn) error {
	f, err := one(ctx, c, itself[header], selectHeader)
	if err == nil && f != (header{size: f.size}) {
		_, err = f.check()
	}
	if err == nil && f.size <= maxCheckedSize {
		err = checkPages(ctx, c, `PRAGMA quick_check(1)`)
	}
	if err != nil {
		return err
	}
	for range 100 { // SQLite does not wait for the lock that it needs to change the journal
		if _, err = c.exec(`PRAGMA journal_mode = WAL`); !errors.Is(err, ports.ErrBusy) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err == nil {
		_, err = c.exec(begin)
	}
	if err == nil {
		f, err = one(ctx, c, itself[header], selectHeader)
	}
	if err == nil && f.tables == 0 {
		_, err = c.exec(schema)
	} else if err == nil {
		_, err = f.check()
	}
	if err == nil {
		_, err = c.exec(commit)
	}
	return err
}

// header has the marks of a file.
type header struct{ application, version, tables, size int64 }

func (h *header) Fields() []any { return []any{&h.application, &h.version, &h.tables, &h.size} }

const selectHeader = `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema), page_count * page_size
	FROM pragma_application_id, pragma_user_version, pragma_page_count, pragma_page_size`

// check returns an error unless the file is a store of this program.
func (h header) check() (_ header, err error) {
	switch {
	case h.application != applicationID:
		err = errors.New("a file that is not of Provider Checkout")
	case h.version != schemaVersion:
		err = fmt.Errorf("its schema has version %d, and this program has version %d: use the program that made it", h.version, schemaVersion)
	}
	return h, err
}

// ErrDamaged is wrapped by errors about a damaged file.
var ErrDamaged = errors.New("damaged: restore it from a backup")

// damaged says in our words why a file cannot be read.
func damaged(err error) error {
	switch {
	case is(err, sqlite3.SQLITE_NOTADB):
		return errors.New("not a SQLite database")
	case is(err, sqlite3.SQLITE_CORRUPT):
		return ErrDamaged
	}
	return err
}

// checkPages runs a PRAGMA quick_check or integrity_check. Damage that no query happens to read would otherwise stay unnoticed.
func checkPages(ctx context.Context, c *conn, pragma string) error {
	verdict, err := one(ctx, c, itself[value[string]], pragma)
	if err == nil && verdict.v != "ok" {
		err = fmt.Errorf("%w: %s", ErrDamaged, strings.Join(strings.Fields(verdict.v), " "))
	}
	return err
}

// Environment returns the environment that is recorded; "" before the first.
func (db *DB) Environment() catalogue.Environment { return db.environment }

// Secrets returns the secrets in use: the operator's, or the store's own; nil if the store is read only.
func (db *DB) Secrets() [][]byte { return db.secrets }

// Close waits for the calls under way and closes the store.
func (db *DB) Close() error {
	return errors.Join(db.readers.close(), db.writer.close()) // the last connection checkpoints the log
}

// stamp is the record of the servers that may open a store.
type stamp struct{ environment, fingerprint string }

func (s *stamp) Fields() []any { return []any{&s.environment, &s.fingerprint} }

const (
	selectStamp = `SELECT environment, secret_fingerprint FROM store`
	updateStamp = `UPDATE store SET environment = ?, secret_fingerprint = ?`
)

// authorize grants the request to open the store, and records it.
func (db *DB) authorize(ctx context.Context, request secrets.Request) error {
	return db.do(ctx, false, func(t *tx) {
		s, _ := first[stamp](t, selectStamp)
		was := secrets.Stamp{Environment: catalogue.Environment(s.environment), Fingerprint: s.fingerprint}
		grant, err := request.Authorize(was, func(isNew bool) ([]byte, error) { return ownSecret(db.path+secretSuffix, isNew, request.Rand) })
		if err == nil {
			db.environment, db.secrets, db.encrypter = grant.Stamp.Environment, grant.Secrets, grant.Encrypter
			if grant.Reencrypt {
				err = db.replace(ctx, t, rows.Unchanged)
			}
		}
		if err != nil {
			t.fail(err)
		} else if grant.Stamp != was {
			t.exec(updateStamp, string(grant.Stamp.Environment), grant.Stamp.Fingerprint)
		}
	})
}

// secretSuffix follows the name of the store in the name of its own secret.
const secretSuffix = ".secret"

// ownSecret returns the text of a file. A new store gets a file with the hexadecimal text of 32 random bytes. Its caller holds the
// store's write lock, so no other process makes one meanwhile.
func ownSecret(path string, isNew bool, random io.Reader) ([]byte, error) {
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		return bytes.TrimSpace(text), nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read secret: %w", err)
	case !isNew:
		return nil, fmt.Errorf("%s is missing, and no other secret was given: put it back, or give the operator's secret", path)
	}
	secret, err := secrets.NewSecret(random)
	if err == nil { // it must be on the disk before the stamp that names it
		err = privatefile.Write(path, []byte(secret+"\n"))
	}
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	return []byte(secret), nil
}
