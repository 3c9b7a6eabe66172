package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
)

func TestReadyWritesToTheDisk(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	logged := func() int64 {
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := logged()
	if err := db.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := logged(); after <= before {
		t.Errorf("the log has %d bytes after %d: nothing was written", after, before)
	}
}

func TestNotReady(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, db *sqlite.DB, other *sql.DB)
		want  string
	}{
		{"a closed store", func(t *testing.T, db *sqlite.DB, _ *sql.DB) {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}, "closed"},
		{"a store that another process holds the lock of", func(t *testing.T, _ *sqlite.DB, other *sql.DB) {
			do(t, other, `BEGIN IMMEDIATE`)
		}, context.DeadlineExceeded.Error()},
		{"a store whose schema is older than the program", func(t *testing.T, _ *sqlite.DB, other *sql.DB) {
			do(t, other, `DELETE FROM provider_checkout_schema`)
		}, "version 0 of the schema is older"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := file(t)
			db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			other, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			other.SetMaxOpenConns(1)
			tt.spoil(t, db, other)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if err := db.Ready(ctx); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Ready = %v, want an error with %q", err, tt.want)
			}
			_ = errors.Join(other.Close(), db.Close())
		})
	}
}

func do(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
