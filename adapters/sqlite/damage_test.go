package sqlite

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file that is too large to be looked through first is served; once damage is found it is not ready.
func TestDamageInALargeFileIsFoundWhileItIsServed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = db.inTx(t.Context(), func(ctx context.Context, tx *tx) error {
		_, err := tx.exec(ctx, `CREATE TABLE ballast (bytes BLOB)`)
		for range 20 {
			if err == nil {
				_, err = tx.exec(ctx, `INSERT INTO ballast VALUES (zeroblob(1048576))`)
			}
		}
		_, mark := tx.exec(ctx, `CREATE TABLE victim (text TEXT)`)
		for range 100 {
			_, more := tx.exec(ctx, `INSERT INTO victim VALUES ('victim of the test')`)
			mark = errors.Join(mark, more)
		}
		return errors.Join(err, mark)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) <= checkedAtOnce {
		t.Fatalf("void: the file has %d bytes", len(data))
	}
	at := bytes.LastIndex(data, []byte("victim of the test")) &^ 4095
	copy(data[at:], bytes.Repeat([]byte{0xa5}, 4096))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if db, err = Open(t.Context(), path, Options{}); err != nil {
		t.Fatalf("a large damaged file is not served at once: %v", err)
	}
	defer db.Close()
	db.inspection.ended.Wait()
	if err := db.Ready(t.Context()); !errors.Is(err, errDamaged) {
		t.Errorf("Ready = %v, want the damage", err)
	}
}
