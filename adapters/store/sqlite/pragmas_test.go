package sqlite

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
)

// The settings of a connection can be read only on that connection.
func TestConnections(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), Options{})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	defer db.Close()
	writer, readers := db.writer.conn, db.readers.db
	for _, tt := range []struct {
		name string
		on   interface {
			QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
		}
		pragma string
		want   string
	}{
		{"every commit reaches the disk", writer, "synchronous", "2"},
		{"readers and the writer do not wait for each other", writer, "journal_mode", "wal"},
		{"foreign keys are enforced", writer, "foreign_keys", "1"},
		{"what is deleted is overwritten", writer, "secure_delete", "1"},
		{"a wait for a lock ends with its context", writer, "busy_timeout", "100"},
		{"a page that many commits change is copied once", writer, "wal_autocheckpoint", "4000"},
		{"a log that grew is truncated", writer, "journal_size_limit", "33554432"},
		{"the file's schema runs no function with an effect", writer, "trusted_schema", "0"},
		{"nor for a reader", readers, "trusted_schema", "0"},
		{"a reader waits for a lock", readers, "busy_timeout", "2000"},
		{"a reader caches a megabyte", readers, "cache_size", "-1024"},
		{"readers only read", readers, "query_only", "1"},
		{"the file is marked as a store", writer, "application_id", "1346595633"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			if err := tt.on.QueryRowContext(t.Context(), "PRAGMA "+tt.pragma).Scan(&got); err != nil || got != tt.want {
				t.Errorf("%s = %s, %v; want %s", tt.pragma, got, err, tt.want)
			}
		})
	}
	if _, err := db.readers.db.ExecContext(t.Context(), `DELETE FROM store`); err == nil {
		t.Error("a reader wrote")
	}
	if n := db.writer.db.Stats().MaxOpenConnections; n != 1 {
		t.Errorf("writers = %d, want 1", n)
	}
}
