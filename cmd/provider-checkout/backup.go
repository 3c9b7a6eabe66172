package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/progress"
	"github.com/provider-checkout/provider-checkout/events"
)

// errServersOwn refuses to copy a store that this program does not keep the files of.
var errServersOwn = errors.New("a PostgreSQL store is backed up and restored with its server's own tools: see cmd/provider-checkout/docs/postgres-backup.md")

// backup copies a SQLite store, which may be served meanwhile, to a new file.
func backup(ctx context.Context, c *call) error {
	path, inPostgres, err := c.place()
	switch {
	case err != nil:
		return err
	case inPostgres:
		return errServersOwn
	}
	if err := mustExist(path); err != nil {
		return err
	}
	said, copyStore := c.Stdout, sqlite.Backup
	if c.out == standard {
		said, copyStore = c.Stderr, c.stream
	}
	stop := progress.On(c.Stderr).Clock("copying and checking " + path)
	contents, err := copyStore(ctx, path, c.out)
	stop()
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already; a backup never takes the place of a file", c.out)
	} else if err != nil {
		return err
	}
	secret, key := "the operator's secret, as serve is given it", "the evidence key, as serve is given it"
	if _, err := os.Stat(path + ".secret"); err == nil && !c.given(secretVariable) {
		secret = path + ".secret"
	}
	if _, err := os.Stat(path + ".evidence"); err == nil && !c.given(evidenceVariable) {
		key = path + ".evidence"
	}
	_, err = fmt.Fprintf(said, "wrote %s, checked: %s\nkeep elsewhere: %s, without which it cannot be restored; and %s, without which nothing more is sealed\n",
		outputName(c.out), summary(contents), secret, key)
	return err
}

// stream writes a backup to standard output. It is made and checked in a temporary folder first: bytes that have left cannot be
// taken back.
func (c *call) stream(ctx context.Context, path, _ string) (sqlite.Contents, error) {
	dir, err := os.MkdirTemp("", "backup-*")
	if err != nil {
		return sqlite.Contents{}, err
	}
	defer os.RemoveAll(dir)
	whole := filepath.Join(dir, "backup.db")
	contents, err := sqlite.Backup(ctx, path, whole)
	if err != nil {
		return contents, err
	}
	f, err := os.Open(whole)
	if err != nil {
		return contents, err
	}
	defer f.Close()
	os.RemoveAll(dir) // a reader that goes away ends this process, which must leave no copy; the open file stays readable
	_, err = io.Copy(c.Stdout, f)
	return contents, err
}

// restore makes a SQLite store of a backup.
func restore(ctx context.Context, c *call) error {
	path, inPostgres, err := c.place()
	switch {
	case err != nil:
		return err
	case inPostgres:
		return errServersOwn
	}
	secrets, err := c.secrets()
	if err != nil {
		return err
	}
	from, remove, err := c.backupFile()
	if err != nil {
		return err
	}
	defer remove()
	operator, err := operatorName(c.Env, user.Current)
	if err != nil {
		return err
	}
	keys, err := c.evidenceKeys()
	if err != nil {
		return err
	}
	stop := progress.On(c.Stderr).Clock("checking and copying " + inputName(c.file))
	contents, err := sqlite.Restore(ctx, from, path, secrets)
	stop()
	if err != nil {
		return err
	}
	db, err := c.openRecords(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	head, err := db.EvidenceHead(ctx)
	if err != nil {
		return err
	}
	lines := []string{"restored " + path + ": " + summary(contents),
		"what came after its latest event is not in it: providers that send their creates and confirms again get it anew",
		"API keys that were revoked since are valid again, and those that were issued since are gone: see to them before you serve it",
		"students who were erased since are back: erase them again; and apply the provider file again if it has changed"}
	if contents.Pending > 0 {
		lines = append(lines, fmt.Sprintf("%d events are pending, and are sent once it is served, with the event_id and body that they had: some may come a second time", contents.Pending))
	}
	lines = append(lines, evidenceAfterRestore(path, head, keys)...)
	_, err = fmt.Fprintln(c.Stdout, strings.Join(lines, "\n"))
	return errors.Join(err, c.recordRestore(ctx, db, operator, contents))
}

// backupFile returns the file of --in, or a temporary file with the contents of standard input, and a function that removes it.
func (c *call) backupFile() (path string, remove func() error, err error) {
	if c.file != standard {
		if err := mustExist(c.file); err != nil {
			return "", nil, fmt.Errorf("there is no backup at %s", c.file)
		}
		return c.file, func() error { return nil }, nil
	}
	f, err := os.CreateTemp("", "restore-*.db") // 0600
	if err != nil {
		return "", nil, err
	}
	remove = func() error { return os.Remove(f.Name()) }
	_, err = io.Copy(f, c.Stdin)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return f.Name(), remove, nil
}

// evidenceAfterRestore returns the steps after which the log of a restored store is sealed again.
func evidenceAfterRestore(path string, head evidence.Head, keys evidence.Keys) (lines []string) {
	if len(head.Checkpoint) == 0 {
		return nil
	}
	if !keys.Signed(head.Checkpoint) {
		lines = append(lines, fmt.Sprintf("its evidence log was signed by the key %s: put that key into %s.evidence, or give it, or nothing more is sealed",
			evidence.Signer(head.Checkpoint), path))
	}
	return append(lines, fmt.Sprintf("its evidence log ends with record %d: where the file of --checkpoint-file has more, move it away before you serve the store, and keep it: it shows that more was recorded", head.Size),
		"agreements verify --all checks every agreement in it, PDF included")
}

// recordRestore records in the evidence log of the store that it was made of a backup.
func (c *call) recordRestore(ctx context.Context, db records, operator string, contents sqlite.Contents) error {
	acting, err := operatorOn(db, db.Secrets(), operator, c.reason)
	if err != nil {
		return err
	}
	return acting.Record(ctx, operate.Operation{Name: "restore", Target: filepath.Base(inputName(c.file)), Changes: []string{"+ " + summary(contents)}})
}

// summary returns the counts of a backup's contents.
func summary(c sqlite.Contents) string {
	latest := "no event"
	if !c.Latest.IsZero() {
		latest = "the latest event of " + events.Timestamp(c.Latest)
	}
	return fmt.Sprintf("%d checkouts, %d agreements, %d PDFs, %d events, %s", c.Checkouts, c.Agreements, c.Documents, c.Events, latest)
}
