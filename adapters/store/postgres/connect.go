package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	maxConns       = 20 // unless the connection string says pool_max_conns; a server accepts 100 by default
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
	config.ConnConfig.OnNotice = func(c *pgconn.PgConn, _ *pgconn.Notice) { c.CustomData()[noticedKey] = true }
	if db.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return errors.New("the connection pool cannot be made") // its error may quote the configuration
	}
	return nil
}

// acquire waits for a connection, and reports whether to try again.
func (db *DB) acquire(ctx context.Context) (_ *pgxpool.Conn, again bool, _ error) {
	limited, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	c, err := db.pool.Acquire(limited)
	for is(err, tooManyConnections) && limited.Err() == nil { // for the role, or for the server: one of the pool's may be free soon
		wait(limited, rand.N(retryPause))
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
	why, again := connectError(err)
	if again {
		return nil, true, fmt.Errorf("%w: connect: %s", ports.ErrBusy, why)
	}
	return nil, false, fmt.Errorf("connect: %s", why)
}

// connectError returns the reason why there is no connection, and whether to try again. Errors of the driver quote the connection
// string; the reason has no part of it.
func connectError(err error) (why string, again bool) {
	errno, isErrno := errors.AsType[syscall.Errno](err)
	_, isTLS := errors.AsType[*tls.CertificateVerificationError](err)
	_, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case is(err, noPassword, wrongPassword):
		return "the server refuses the user or the password", false
	case is(err, noDatabase):
		return "the server has no such database", false
	case isTransient(err):
		return "the server, or the pooler, takes no connection now: SQLSTATE " + condition(err), true
	case condition(err) != "":
		return "the server refuses with SQLSTATE " + condition(err), false
	case isTLS:
		return "the server's certificate is not accepted", false
	case isDNS:
		return "the host is not found", true
	case isErrno:
		return errno.Error(), true
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "timed out", true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closed the connection", true
	}
	return "there is no connection", true
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
