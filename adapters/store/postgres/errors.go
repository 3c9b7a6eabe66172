package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/provider-checkout/provider-checkout/ports"
)

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
	case is(err, uniqueViolation):
		return fmt.Errorf("%w: %w", ports.ErrDuplicate, err)
	case isTransient(err):
		return fmt.Errorf("%w: %w", ports.ErrBusy, err)
	}
	return err
}
