package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
)

// backup copies a SQLite store, which may be served meanwhile, to a new file.
type backup struct {
	StoreFlags
	Out string `required:"" placeholder:"FILE" help:"to write, which must not be there; only its owner may read it (required)"`
}

func (f *backup) Run(ctx context.Context, c *call) error {
	path, inPostgres, err := c.place()
	switch {
	case err != nil:
	case inPostgres:
		err = errors.New("a PostgreSQL store is backed up with its server's own tools, such as pg_basebackup")
	default:
		err = mustExist(path)
	}
	if err != nil {
		return err
	}
	if err := sqlite.Backup(ctx, path, f.Out); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already; a backup never takes the place of a file", f.Out)
	} else if err != nil {
		return err
	}
	keep := path + ".secret"
	if given, _ := c.source(secretVariable); given != (source{}) {
		keep = "the operator's secret"
	}
	_, err = fmt.Fprintf(c.Stdout, "wrote %s, checked and synced\nkeep elsewhere: %s, without which it cannot be used\n", f.Out, keep)
	return err
}
