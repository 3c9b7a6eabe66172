package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/provider-checkout/provider-checkout/ports"
)

// readers are the connections that read. Each is opened when it is first needed, and caches a megabyte of pages.
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
func (db *DB) read(ctx context.Context, f func(*conn) error) error {
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
	if c == nil {
		var err error
		if c, err = r.place.connect(r.mode, "busy_timeout = 2000", "cache_size = -1024", "query_only = ON", "trusted_schema = OFF"); err != nil {
			r.idle <- nil
			return damaged(err)
		}
	}
	defer func() { r.idle <- c }()
	return f(c)
}

// questionTime bounds a question of an operator.
const questionTime = 2 * time.Second

// ask is read for a question about all checkouts.
func (db *DB) ask(ctx context.Context, f func(context.Context, *conn) error) error {
	short, cancel := context.WithTimeout(ctx, questionTime)
	defer cancel()
	err := db.read(short, func(c *conn) error { return f(short, c) })
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("the question takes too long: %w", ports.ErrBusy)
	}
	return err
}

// get returns the first row of a query as a value of the domain.
func get[R, V any, P row[R]](ctx context.Context, db *DB, what string, convert func(R) (V, error), query string, args ...any) (v V, err error) {
	err = db.read(ctx, func(c *conn) error {
		r, err := one[R, P](ctx, c, query, args...)
		if err == nil {
			v, err = convert(r)
		}
		return err
	})
	return v, wrap(err, what)
}

// collect returns the rows of a query as values of the domain.
func collect[R, V any, P row[R]](ctx context.Context, c *conn, convert func(R) (V, error), query string, args ...any) (list []V, err error) {
	found, err := all[R, P](ctx, c, query, args...)
	for _, r := range found {
		v, convertErr := convert(r)
		list, err = append(list, v), errors.Join(err, convertErr)
	}
	return list, err
}

// wrap says what an error is about.
func wrap(err error, what string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// snapshot is read with the store as it is at one time.
func (db *DB) snapshot(ctx context.Context, f func(*conn) error) error {
	return db.read(ctx, func(c *conn) error {
		if _, err := c.exec(`BEGIN`); err != nil {
			return err
		}
		defer c.exec(rollback) // it wrote nothing
		return f(c)
	})
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
