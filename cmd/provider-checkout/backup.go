package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/progress"
	"github.com/provider-checkout/provider-checkout/events"
)

// errServersOwn refuses to copy a store that this program does not keep the files of.
var errServersOwn = errors.New("a PostgreSQL store is backed up and restored with its server's own tools: see cmd/provider-checkout/docs/postgres-backup.md")

// sqlitePath returns the path of the store, which must be a file.
func (c *call) sqlitePath() (string, error) {
	path, inPostgres, err := c.place()
	if err == nil && inPostgres {
		err = errServersOwn
	}
	return path, err
}

// backup copies a SQLite store, which may be served meanwhile, to a new file.
func backup(c *call) action {
	c.storeFlag()
	out := c.requiredFlag("out", "`FILE` to write, which must not be there; only its owner may read it; - is standard output")
	return func(ctx context.Context) error {
		path, err := c.sqlitePath()
		if err == nil {
			err = mustExist(path)
		}
		if err != nil {
			return err
		}
		line := progress.On(c.Stderr)
		line.Show("copying and checking %s", path)
		said := c.Stdout
		var contents sqlite.Contents
		if *out == standard {
			said = c.Stderr
			contents, err = sqlite.BackupTo(ctx, path, c.Stdout)
		} else {
			contents, err = sqlite.Backup(ctx, path, *out)
		}
		line.End()
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s is there already; a backup never takes the place of a file", *out)
		} else if err != nil {
			return err
		}
		keep := func(what, variable, file string) string {
			given, _ := c.source(variable)
			if _, err := os.Stat(file); err == nil && given == (source{}) {
				return file
			}
			return what + ", as serve is given it"
		}
		_, err = fmt.Fprintf(said, "wrote %s, checked: %s\nkeep elsewhere: %s, without which it cannot be restored; and %s, without which nothing more is sealed\n",
			outputName(*out), summary(contents), keep("the operator's secret", secretVariable, path+".secret"),
			keep("the evidence key", evidenceVariable, path+".evidence"))
		return err
	}
}

// restore makes a SQLite store of a backup.
func restore(c *call) action {
	c.changeFlags()
	file := c.requiredFlag("in", "`FILE` that backup wrote; - is standard input")
	return func(ctx context.Context) error {
		path, err := c.sqlitePath()
		if err != nil {
			return err
		}
		secrets, err := c.secrets()
		if err != nil {
			return err
		}
		if _, err := operatorName(c.Env, user.Current); err != nil { // before anything is made
			return cli.UsageError(err.Error())
		}
		keys, err := c.evidenceKeys()
		if err != nil {
			return err
		}
		line := progress.On(c.Stderr)
		line.Show("checking and copying %s", inputName(*file))
		var contents sqlite.Contents
		if *file == standard {
			contents, err = sqlite.RestoreFrom(ctx, c.Stdin, path, secrets)
		} else if err = mustExist(*file); err != nil {
			err = fmt.Errorf("there is no backup at %s", *file)
		} else {
			contents, err = sqlite.Restore(ctx, *file, path, secrets)
		}
		line.End()
		if err != nil {
			return err
		}
		return c.operating(func(ctx context.Context, db records, operator operate.Operator) error {
			head, err := db.EvidenceHead(ctx)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.Stdout, strings.Join(afterRestore(path, contents, head, keys), "\n"))
			return errors.Join(err, operator.Record(ctx, evidence.Operation{Name: "restore", Subject: filepath.Base(inputName(*file)),
				Changes: []string{"+ " + summary(contents)}}))
		})(ctx)
	}
}

// afterRestore returns what is to be done before a restored store is served, a line each.
func afterRestore(path string, contents sqlite.Contents, head evidence.Head, keys evidence.Keys) []string {
	lines := []string{"restored " + path + ": " + summary(contents),
		"what came after its latest event is not in it: providers that send their creates and confirms again get it anew",
		"API keys that were revoked since are valid again, and those that were issued since are gone: see to them before you serve it",
		"students who were erased since are back: erase them again; and apply the provider file again if it has changed"}
	if contents.Pending > 0 {
		lines = append(lines, "sent once it is served, under the same event_id and with the same body: "+counted(contents.Pending, "pending event")+
			"; a receiver may get one a second time")
	}
	if len(head.Checkpoint) == 0 {
		return lines
	}
	if !keys.Signed(head.Checkpoint) {
		lines = append(lines, fmt.Sprintf("its evidence log was signed by the key %s: put that key into %s.evidence, or give it, or nothing more is sealed",
			evidence.Signer(head.Checkpoint), path))
	}
	return append(lines, fmt.Sprintf("its evidence log ends with record %d: where the file of --checkpoint-file has more, move it away before you serve the store, and keep it: it shows that more was recorded", head.Size),
		"agreements verify --all checks every agreement in it, PDF included")
}

// summary returns the counts of a backup's contents.
func summary(c sqlite.Contents) string {
	latest := "no event"
	if !c.Latest.IsZero() {
		latest = "the latest event of " + events.Timestamp(c.Latest)
	}
	return fmt.Sprintf("%s, %s, %s, %s, %s", counted(c.Checkouts, "checkout"), counted(c.Agreements, "agreement"), counted(c.Documents, "PDF"),
		counted(c.Events, "event"), latest)
}
