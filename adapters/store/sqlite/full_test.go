package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/ports"
)

// SQLite says of a file that may not grow what it says of a full disk. What Ready writes fits into it.
func TestNotReadyAfterAWriteThatDidNotFit(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	limit := func(pages string) {
		if _, err := db.writer.conn.ExecContext(t.Context(), `PRAGMA max_page_count = `+pages); err != nil {
			t.Fatal(err)
		}
	}
	write := func() error {
		return db.writer.do(t.Context(), func(ctx context.Context, tx *tx) error {
			_, err := tx.exec(ctx, `CREATE TABLE large AS SELECT zeroblob(1000000) AS bytes`)
			return err
		})
	}
	limit("1") // which SQLite takes for as many as there are
	for range 2 {
		if err := write(); !errors.Is(err, ports.ErrBusy) {
			t.Errorf("a write that does not fit: got error %v, want ErrBusy", err)
		}
		if err := db.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "full") {
			t.Errorf("Ready = %v, want an error that says that the disk is full", err)
		}
	}
	if err := db.Ready(t.Context()); err != nil {
		t.Errorf("Ready, though no further write failed: %v", err)
	}
	limit("1000000")
	if err := errors.Join(write(), db.Ready(t.Context())); err != nil {
		t.Errorf("once it fits: %v", err)
	}
}
