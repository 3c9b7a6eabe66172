package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	maxConns       = 20 // unless the connection string says pool_max_conns; a server accepts 100 by default
	warmConns      = 4  // of a server, before its first request
	connectTimeout = 3 * time.Second
	pingTimeout    = time.Second
	acquireTimeout = 3 * time.Second
)

// errAddress is the error for a connection string that cannot be parsed. It may hold a password anywhere, so nothing of it is repeated.
var errAddress = errors.New("the connection string cannot be read; it must be such as postgres://USER:PASSWORD@HOST:PORT/DATABASE")

// CheckAddress returns an error if a connection string cannot be read.
func CheckAddress(url string) error {
	if _, err := pgxpool.ParseConfig(url); err != nil || url == "" {
		return errAddress
	}
	return nil
}

// connect makes the pool.
func (db *DB) connect(ctx context.Context, url string) error {
	config, err := pgxpool.ParseConfig(url)
	if err != nil || url == "" {
		return errAddress
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = maxConns
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	config.PingTimeout = pingTimeout
	config.ShouldPing = db.shouldPing
	config.ConnConfig.OnNotice = func(c *pgconn.PgConn, _ *pgconn.Notice) { c.CustomData()[noticedKey] = true }
	if db.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return errors.New("the connection pool cannot be made") // its error may quote the configuration
	}
	return nil
}

// shouldPing reports whether a connection is checked before it is used: if it was idle for long, or since another one
// was lost, because a server that restarts closes all of them.
func (db *DB) shouldPing(_ context.Context, p pgxpool.ShouldPingParams) bool {
	sinceLoss := time.Since(db.opened) - time.Duration(db.lastLoss.Load())
	return p.IdleDuration > time.Second || p.IdleDuration > sinceLoss
}

// lost records that a connection was lost.
func (db *DB) lost() { db.lastLoss.Store(int64(time.Since(db.opened))) }

// acquire waits for a connection, and reports whether to try again.
func (db *DB) acquire(ctx context.Context) (_ *pgxpool.Conn, again bool, _ error) {
	limited, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	c, err := db.pool.Acquire(limited)
	for is(err, tooManyConnections) && limited.Err() == nil { // for the role, or for the server: one of the pool's may be free soon
		wait(limited, rand.N(lossPause))
		c, err = db.pool.Acquire(limited)
	}
	switch {
	case err == nil:
		return c, false, nil
	case ctx.Err() != nil:
		return nil, false, ctx.Err()
	case limited.Err() != nil:
		return nil, false, fmt.Errorf("%w: no connection in %v", ports.ErrBusy, acquireTimeout)
	}
	again, err = connectError(err)
	return nil, again, err
}

// warm opens some connections at once, so that the first requests need not wait for that. It is not an error that there are
// fewer.
func (db *DB) warm(ctx context.Context) {
	var opening sync.WaitGroup
	for range min(warmConns, db.pool.Config().MaxConns) {
		opening.Go(func() {
			if c, _, err := db.acquire(ctx); err == nil {
				_ = (&conn{c.Conn(), db}).proveConnection(ctx)
				defer c.Release()
				wait(ctx, lossPause) // so that each of them is opened
			}
		})
	}
	opening.Wait()
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
