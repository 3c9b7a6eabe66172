// Package sqlite keeps everything in one SQLite file.
package sqlite

import (
	"context"
	"io"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Options is how a store is opened.
type Options struct {
	// Secrets are the operator's secrets, of at least 32 bytes each: the first seals, all open.
	// Without them the store uses <file>.secret, and makes it if there is none; a store that
	// is stamped production is refused without them.
	Secrets [][]byte
	// Environment stamps a new store, and refuses a store of the other one. Empty for
	// operator's commands, which do neither.
	Environment catalogue.Environment
	Rand        io.Reader
}

// DB is a ports.Store in one SQLite file.
type DB struct {
	ports.Store // TODO: remove
}

// Open opens the store, and makes it if there is none. Files that it makes are the owner's alone.
func Open(ctx context.Context, path string, o Options) (*DB, error) { panic("todo") }

// Secrets returns the operator's secrets in force: those given, or the file's own.
func (db *DB) Secrets() [][]byte { panic("todo") }

// Close closes the store.
func (db *DB) Close() error { panic("todo") }
