package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
)

// errServersOwn refuses to copy a store that this program does not keep the files of.
var errServersOwn = errors.New("a PostgreSQL store is backed up with its server's own tools, such as pg_basebackup")

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
	out := c.requiredFlag("out", "`FILE` to write, which must not be there; only its owner may read it")
	return func(ctx context.Context) error {
		path, err := c.sqlitePath()
		if err == nil {
			err = mustExist(path)
		}
		if err != nil {
			return err
		}
		if err := sqlite.Backup(ctx, path, *out); errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s is there already; a backup never takes the place of a file", *out)
		} else if err != nil {
			return err
		}
		keep := path + ".secret"
		if given, _ := c.source(secretVariable); given != (source{}) {
			keep = "the operator's secret"
		}
		_, err = fmt.Fprintf(c.Stdout, "wrote %s, checked and synced\nkeep elsewhere: %s, without which it cannot be used\n", *out, keep)
		return err
	}
}
