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
	"slices"
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

// Conditions that the server reports (PostgreSQL's manual, appendix A); two characters are a class of them.
const (
	connectionErrors   = "08" // also from a pooler that has no server, or has lost it
	divisionByZero     = "22012"
	uniqueViolation    = "23505"
	readOnlyServer     = "25006"
	noPassword         = "28000"
	wrongPassword      = "28P01"
	noDatabase         = "3D000"
	conflicts          = "40"
	completionUnknown  = "40003"
	noTable            = "42P01"
	exhausted          = "53"
	tooManyConnections = "53300"
	lockNotAvailable   = "55P03"
	interventions      = "57" // a time-out, a shutdown, a start
)

var (
	errLost     = errors.New("the connection was lost")
	errReadOnly = errors.New("the store was opened to be read only")
)

// condition returns the condition that the server reported, or "".
func condition(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// is reports whether the server reported one of the conditions.
func is(err error, conditions ...string) bool {
	reported := condition(err)
	return slices.ContainsFunc(conditions, func(c string) bool { return strings.HasPrefix(reported, c) })
}

// isTransient reports whether the server may do later what it did not do now.
func isTransient(err error) bool {
	return is(err, connectionErrors, readOnlyServer, conflicts, exhausted, lockNotAvailable, interventions)
}

// mapError wraps an error of the server in the error of package ports that it means.
func mapError(err error) error {
	switch {
	case is(err, divisionByZero): // of an update that must change a row
		return fmt.Errorf("%w: %w", ports.ErrNotFound, err)
	case is(err, uniqueViolation):
		return fmt.Errorf("%w: %w", ports.ErrDuplicate, err)
	case isTransient(err):
		return fmt.Errorf("%w: %w", ports.ErrBusy, err)
	}
	return err
}
