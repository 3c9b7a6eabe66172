package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/provider-checkout/provider-checkout/ports"
)

// Conditions of the server that it matters to tell apart (PostgreSQL's manual, appendix A).
const (
	connectionException    = "08000"
	connectionDoesNotExist = "08003"
	connectionFailure      = "08006"
	transactionUnknown     = "08007"
	protocolViolation      = "08P01" // a pooler's word, too, at the login while its server is away

	uniqueViolation      = "23505"
	notNullViolation     = "23502"
	readOnlyTransaction  = "25006"
	serializationFailure = "40001"
	completionUnknown    = "40003"
	deadlockDetected     = "40P01"
	undefinedTable       = "42P01"
	duplicateTable       = "42P07"
	duplicateObject      = "42710"
	tooManyConnections   = "53300"
	lockNotAvailable     = "55P03"
	queryCanceled        = "57014"
	adminShutdown        = "57P01"
	crashShutdown        = "57P02"
	cannotConnectNow     = "57P03"
	noPassword           = "28000"
	wrongPassword        = "28P01"
	noDatabase           = "3D000"
)

var (
	// errLost is a connection that ended while the server was busy with it.
	errLost = errors.New("the connection was lost")
	// errDoubt is a write that nobody can tell the outcome of: neither done nor not done.
	errDoubt = errors.New("the connection was lost during the commit, and its outcome is not known")
)

// condition returns the condition that the server reported, or "".
func condition(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

func is(err error, codes ...string) bool {
	c := condition(err)
	for _, code := range codes {
		if c == code {
			return true
		}
	}
	return false
}

// isLoss tells whether a pooler in between reports that it has lost the server, or has none, though the
// connection to itself stands.
func isLoss(err error) bool {
	return is(err, connectionException, connectionDoesNotExist, connectionFailure, transactionUnknown)
}

// meaning gives an error of the server its meaning to package ports.
func meaning(err error) error {
	switch {
	case err == nil:
		return nil
	case is(err, uniqueViolation):
		return fmt.Errorf("%w: %w", ports.ErrDuplicate, err)
	case is(err, readOnlyTransaction, serializationFailure, deadlockDetected, tooManyConnections,
		lockNotAvailable, queryCanceled, adminShutdown, crashShutdown, cannotConnectNow):
		return fmt.Errorf("%w: %w", ports.ErrBusy, err)
	}
	return err
}

// connectError says why there is no connection without a word of the connection string, which errors of
// the driver quote. again tells whether it may come by itself.
func connectError(err error) (told error, again bool) {
	why, again := "there is no connection", true
	errno, isErrno := errors.AsType[syscall.Errno](err)
	_, isTLS := errors.AsType[*tls.CertificateVerificationError](err)
	_, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case is(err, noPassword, wrongPassword):
		why, again = "the server refuses the user or the password", false
	case is(err, noDatabase):
		why, again = "the server has no such database", false
	case is(err, tooManyConnections):
		why = "the server has too many connections"
	case isLoss(err), is(err, protocolViolation):
		why = "the pooler has no server"
	case is(err, cannotConnectNow, adminShutdown, crashShutdown):
		why = "the server is starting or stopping"
	case condition(err) != "":
		why, again = "the server refuses with SQLSTATE "+condition(err), false
	case isTLS:
		why, again = "the server's certificate is not accepted", false
	case isDNS:
		why = "the host is not found"
	case isErrno:
		why = errno.Error()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		why = "timed out"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		why = "the server hung up"
	}
	if again {
		return fmt.Errorf("%w: connect: %s", ports.ErrBusy, why), true
	}
	return fmt.Errorf("connect: %s", why), false
}
