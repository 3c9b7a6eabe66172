package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/provider-checkout/provider-checkout/ports"
)

// Conditions that the server reports (PostgreSQL's manual, appendix A).
const (
	connectionErrors     = "08"    // the class; from a pooler that has lost the server, too
	protocolViolation    = "08P01" // also from a pooler, at the login while it has no server
	divisionByZero       = "22012"
	uniqueViolation      = "23505"
	readOnlyTransaction  = "25006"
	noPassword           = "28000"
	wrongPassword        = "28P01"
	noDatabase           = "3D000"
	noSchema             = "3F000"
	serializationFailure = "40001"
	completionUnknown    = "40003"
	deadlockDetected     = "40P01"
	noTable              = "42P01"
	duplicateSchema      = "42P06"
	duplicateTable       = "42P07"
	duplicateObject      = "42710"
	duplicateFunction    = "42723"
	tooManyConnections   = "53300"
	lockNotAvailable     = "55P03"
	queryCanceled        = "57014"
	adminShutdown        = "57P01"
	crashShutdown        = "57P02"
	cannotConnectNow     = "57P03"
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
func is(err error, codes ...string) bool { return slices.Contains(codes, condition(err)) }

// isLoss reports whether a pooler has lost the server. The connection to the pooler itself is open.
func isLoss(err error) bool { return strings.HasPrefix(condition(err), connectionErrors) }

// mapError wraps an error of the server in the error of package ports that it means.
func mapError(err error) error {
	switch {
	case is(err, uniqueViolation):
		return fmt.Errorf("%w: %w", ports.ErrDuplicate, err)
	case is(err, readOnlyTransaction, serializationFailure, deadlockDetected, tooManyConnections, lockNotAvailable, queryCanceled,
		adminShutdown, crashShutdown, cannotConnectNow), isLoss(err):
		return fmt.Errorf("%w: %w", ports.ErrBusy, err)
	}
	return err
}

// connectError returns the reason why there is no connection, and whether to try again. Errors of the driver quote the connection
// string; this one has no part of it.
func connectError(err error) (retryable bool, _ error) {
	why, retryable := "there is no connection", true
	errno, isErrno := errors.AsType[syscall.Errno](err)
	_, isTLS := errors.AsType[*tls.CertificateVerificationError](err)
	_, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case is(err, noPassword, wrongPassword):
		why, retryable = "the server refuses the user or the password", false
	case is(err, noDatabase):
		why, retryable = "the server has no such database", false
	case is(err, tooManyConnections):
		why = "the server has too many connections"
	case isLoss(err):
		why = "the pooler has no server"
	case is(err, cannotConnectNow, adminShutdown, crashShutdown):
		why = "the server is starting or stopping"
	case condition(err) != "":
		why, retryable = "the server refuses with SQLSTATE "+condition(err), false
	case isTLS:
		why, retryable = "the server's certificate is not accepted", false
	case isDNS:
		why = "the host is not found"
	case isErrno:
		why = errno.Error()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		why = "timed out"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		why = "the server closed the connection"
	}
	if retryable {
		return true, fmt.Errorf("%w: connect: %s", ports.ErrBusy, why)
	}
	return false, fmt.Errorf("connect: %s", why)
}
