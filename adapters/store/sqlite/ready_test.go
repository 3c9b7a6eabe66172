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
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// A quiet server that asks for jobs writes nothing.
func TestLeaseOfNothingWritesNothing(t *testing.T) {
	writes := 0
	db := open(t, file(t), sqlite.Options{})
	db.OnCommit(func(error) { writes++ })
	now := time.Now()
	if _, err := db.Enqueue(t.Context(), []checkout.Job{{ID: "pull", Kind: checkout.JobPull, CreatedAt: now, Due: now.Add(time.Minute)}}); err != nil {
		t.Fatal(err)
	}
	before := writes
	for _, want := range []int{0, 1} {
		q := checkout.JobQuery{Now: now.Add(time.Duration(want) * time.Minute), For: time.Second, Kinds: checkout.JobKinds(), Limit: 9}
		if got, err := db.Lease(t.Context(), q); err != nil || len(got) != want || writes != before+want {
			t.Errorf("leased %+v with %d writes, %v; want %d of both", got, writes-before, err, want)
		}
	}
}

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
			limit := time.Minute
			if tt.want == context.DeadlineExceeded.Error() {
				limit = 300 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
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

func TestCommitsAndFailuresAreCounted(t *testing.T) {
	db := open(t, file(t), sqlite.Options{})
	committed, failed := 0, 0
	db.OnCommit(func(err error) {
		if err != nil {
			failed++
			return
		}
		committed++
	})
	job := []checkout.Job{{ID: "pull", Kind: checkout.JobPull, CreatedAt: time.Now()}}
	if _, err := db.Enqueue(t.Context(), job); err != nil || committed != 1 || failed != 0 {
		t.Errorf("a write: %d commits, %d failures, %v", committed, failed, err)
	}
	missing := db.Extend(t.Context(), checkout.Lease{Job: job[0], Token: 9}, time.Now(), time.Second)
	if !errors.Is(missing, ports.ErrNotFound) || committed != 1 || failed != 0 {
		t.Errorf("a lease that is lost: %d commits, %d failures, %v", committed, failed, missing)
	}
	if inUse, limit := db.Pool(); inUse < 1 || limit <= inUse || db.Schema() < 1 {
		t.Errorf("%d of %d connections, schema %d", inUse, limit, db.Schema())
	}
	db.Close()
	if _, err := db.Enqueue(t.Context(), job); err == nil || failed != 1 {
		t.Errorf("a closed store: %d failures, %v", failed, err)
	}
}
