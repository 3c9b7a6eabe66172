package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/ports"
)

// conn is a connection of the driver with its statements, each prepared once. One goroutine uses it at a time.
type conn struct {
	driver.Conn
	prepared map[string]statement
	bound    []driver.NamedValue // the arguments of a statement
}

// statement is a prepared statement.
type statement interface {
	driver.StmtExecContext
	driver.StmtQueryContext
	Close() error
}

// connect opens a connection of a file, with parameters of the driver.
func connect(path, parameters string) (*conn, error) {
	name := url.URL{Path: filepath.ToSlash(path)}
	raw, err := new(sqlite.Driver).Open("file:" + name.EscapedPath() + "?_dqs=0&_pragma=busy_timeout(2000)&_pragma=trusted_schema(OFF)&" + parameters)
	if err != nil {
		return nil, mapError(err)
	}
	return &conn{Conn: raw, prepared: map[string]statement{}}, nil
}

// Close closes the statements and the connection.
func (c *conn) Close() error {
	var errs []error
	for _, s := range c.prepared {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.Conn.Close())...)
}

// prepare returns the prepared statement with a text.
func (c *conn) prepare(text string) (statement, error) {
	if s, ok := c.prepared[text]; ok {
		return s, nil
	}
	raw, err := c.Conn.Prepare(text)
	if err != nil {
		return nil, mapError(err)
	}
	s := raw.(statement)
	c.prepared[text] = s
	return s, nil
}

// exec runs a statement that writes, and returns the number of rows that it changed.
func (c *conn) exec(text string, args ...any) (int64, error) {
	s, err := c.prepare(text)
	if err != nil {
		return 0, err
	}
	result, err := s.ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return 0, mapError(err)
	}
	return result.RowsAffected()
}

// query runs a statement that reads, and calls visit with each row until ctx ends.
func (c *conn) query(ctx context.Context, text string, args []any, visit func([]driver.Value) error) error {
	s, err := c.prepare(text)
	if err != nil {
		return err
	}
	found, err := s.QueryContext(ctx, c.bind(args))
	if err != nil {
		return mapError(err)
	}
	defer found.Close()
	values := make([]driver.Value, len(found.Columns()))
	for err == nil {
		if err = found.Next(values); errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = visit(values)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return mapError(err)
}

// bind returns the arguments of a statement, which are values or fields of a row, until the next call.
func (c *conn) bind(args []any) []driver.NamedValue {
	c.bound = c.bound[:0]
	for i, arg := range args {
		c.bound = append(c.bound, driver.NamedValue{Ordinal: i + 1, Value: rows.Value(arg)})
	}
	return c.bound
}

// row is a pointer to a row that is scanned.
type row[R any] interface {
	*R
	Fields() []any
}

// scan returns a row with the values of its columns.
func scan[R any, P row[R]](values []driver.Value) (r R, err error) {
	for i, field := range P(&r).Fields() {
		n, ok := values[i].(int64)
		switch p := field.(type) {
		case *int64:
			*p = n
		case *int:
			*p = int(n)
		case *bool:
			*p = n != 0
		case *string:
			*p, ok = values[i].(string)
		case *[]byte:
			*p, ok = values[i].([]byte)
			ok = ok || values[i] == nil // the driver's empty bytes
		case rows.Column:
			err, ok = p.Scan(values[i]), true
		}
		if !ok {
			err = fmt.Errorf("a %T does not fit a %T", values[i], field)
		}
		if err != nil {
			return r, fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return r, nil
}

// all returns the rows of a query, each as to makes it.
func all[R, V any, P row[R]](ctx context.Context, c *conn, to func(R) (V, error), query string, args ...any) (list []V, err error) {
	err = c.query(ctx, query, args, func(values []driver.Value) error {
		r, err := scan[R, P](values)
		if err != nil {
			return err
		}
		v, err := to(r)
		list = append(list, v)
		return err
	})
	return list, err
}

// itself returns a row as it is.
func itself[R any](r R) (R, error) { return r, nil }

// one returns the first row of a query as to makes it, or ErrNotFound.
func one[R, V any, P row[R]](ctx context.Context, c *conn, to func(R) (V, error), query string, args ...any) (v V, err error) {
	list, err := all[R, V, P](ctx, c, to, query, args...)
	if err == nil && len(list) == 0 {
		err = ports.ErrNotFound
	}
	if err != nil {
		return v, err
	}
	return list[0], nil
}

// value is a row of one column.
type value[T any] struct{ v T }

func (r *value[T]) Fields() []any { return []any{&r.v} }

// is reports whether an error is SQLite's with one of these codes. A primary code stands for its extended codes, too.
func is(err error, codes ...int) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (slices.Contains(codes, e.Code()) || slices.Contains(codes, e.Code()&0xff))
}

// mapError wraps an error of SQLite in the error of package ports that it means.
func mapError(err error) error {
	switch {
	case is(err, sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY):
		return fmt.Errorf("%w: %w", ports.ErrDuplicate, err)
	case is(err, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
		return fmt.Errorf("%w: %w", ports.ErrBusy, err)
	}
	return err
}

// readers are the connections that read. Each is opened when it is first needed.
type readers struct {
	place place
	mode  string
	idle  chan *conn // one value for each connection; nil for a connection that is not open
}

func newReaders(p place, mode string) *readers {
	r := &readers{place: p, mode: mode, idle: make(chan *conn, max(4, 2*runtime.GOMAXPROCS(0)))}
	for range cap(r.idle) {
		r.idle <- nil
	}
	return r
}

// read calls f with a connection that reads.
func (db *DB) read(ctx context.Context, f func(*conn) error) (err error) {
	r := db.readers
	var c *conn
	var open bool
	select {
	case c, open = <-r.idle:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !open {
		return errClosed
	}
	defer func() { r.idle <- c }()
	if c == nil {
		if c, err = r.place.connect("mode=" + r.mode); err != nil {
			return damaged(err)
		}
	}
	return f(c)
}

// questionTime bounds a question of an operator.
const questionTime = 2 * time.Second

// ask is list for a question about all checkouts.
func ask[R, V any, P row[R]](ctx context.Context, db *DB, what string, to func(R) (V, error), query string, args ...any) ([]V, error) {
	short, cancel := context.WithTimeout(ctx, questionTime)
	defer cancel()
	found, err := list[R, V, P](short, db, what, to, query, args...)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%s: the question takes too long: %w", what, ports.ErrBusy)
	}
	return found, err
}

// get returns the first row of a query as to makes it, or ErrNotFound.
func get[R, V any, P row[R]](ctx context.Context, db *DB, what string, to func(R) (V, error), query string, args ...any) (v V, err error) {
	err = db.read(ctx, func(c *conn) error {
		v, err = one[R, V, P](ctx, c, to, query, args...)
		return err
	})
	return v, wrap(err, what)
}

// list returns the rows of a query, each as to makes it.
func list[R, V any, P row[R]](ctx context.Context, db *DB, what string, to func(R) (V, error), query string, args ...any) (list []V, err error) {
	err = db.read(ctx, func(c *conn) error {
		list, err = all[R, V, P](ctx, c, to, query, args...)
		return err
	})
	return list, wrap(err, what)
}

// wrap adds to an error the call that it is about.
func wrap(err error, what string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// close waits for the reads under way, and closes the connections.
func (r *readers) close() error {
	if r == nil {
		return nil
	}
	var errs []error
	for range cap(r.idle) {
		c, open := <-r.idle
		if !open {
			return nil
		}
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	close(r.idle)
	return errors.Join(errs...)
}
