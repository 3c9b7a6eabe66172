package timestamp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const lookEvery = 10 * time.Minute

// Daily keeps, once a day, what Newest returns in a folder, and the authority's answer about it beside it, as
// checkpoint-2026-12-01 and checkpoint-2026-12-01.tsr. A day is one of UTC.
type Daily struct {
	Authority *Authority
	Folder    string
	Newest    func(context.Context) ([]byte, error) // nothing yet: nil
	Write     func(path string, data []byte) error  // of a file, completely or not at all
	Now       func() time.Time
}

// Run is the task that keeps what is newest, once a day; one process at a time runs it (service.Task). After a failure it is run
// again ten minutes later too.
func (d Daily) Run(ctx context.Context, _ string) (cursor string, pause time.Duration, err error) {
	return "", lookEvery, d.Keep(ctx)
}

// Keep keeps what is newest, unless that was done today.
func (d Daily) Keep(ctx context.Context) error {
	path := filepath.Join(d.Folder, "checkpoint-"+d.Now().UTC().Format(time.DateOnly))
	if _, err := os.Stat(path + ".tsr"); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	newest, err := d.Newest(ctx)
	if err != nil || len(newest) == 0 {
		return err
	}
	answer, err := d.Authority.Stamp(ctx, newest)
	if err != nil {
		return err
	}
	err = d.Write(path, newest)
	if err == nil { // the answer last: it says that the day is done
		err = d.Write(path+".tsr", answer)
	}
	if err != nil {
		return fmt.Errorf("keep a time stamp: %w", err)
	}
	return nil
}
