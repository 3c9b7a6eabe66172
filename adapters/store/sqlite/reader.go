package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/provider-checkout/provider-checkout/ports"
)

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
