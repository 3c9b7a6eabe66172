package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
)

// statements prepares each statement once, when it is first run.
type statements struct {
	on interface {
		PrepareContext(context.Context, string) (*sql.Stmt, error)
		QueryContext(context.Context, string, ...any) (*sql.Rows, error)
		ExecContext(context.Context, string, ...any) (sql.Result, error)
	}
	mu       sync.RWMutex
	prepared map[string]*sql.Stmt // by their text
}

// maxPrepared is the number of statements that are kept. A filter or a query for jobs has a text of its own.
const maxPrepared = 100

// unqualified returns the statement as SQLite takes it: its tables have no schema.
func unqualified(statement string) string { return strings.ReplaceAll(statement, "@.", "") }

// get returns the prepared statement; nil if there are too many.
func (s *statements) get(ctx context.Context, text string) (*sql.Stmt, error) {
	s.mu.RLock()
	stmt, full := s.prepared[text], len(s.prepared) >= maxPrepared
	s.mu.RUnlock()
	if stmt != nil || full {
		return stmt, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt := s.prepared[text]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.on.PrepareContext(ctx, unqualified(text))
	if err != nil {
		return nil, err
	}
	if s.prepared == nil {
		s.prepared = map[string]*sql.Stmt{}
	}
	s.prepared[text] = stmt
	return stmt, nil
}

func (s *statements) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	stmt, err := s.get(ctx, text)
	switch {
	case err != nil:
		return nil, err
	case stmt == nil:
		return s.on.QueryContext(ctx, unqualified(text), args...)
	}
	return stmt.QueryContext(ctx, args...)
}

func (s *statements) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	stmt, err := s.get(ctx, text)
	switch {
	case err != nil:
		return nil, err
	case stmt == nil:
		return s.on.ExecContext(ctx, unqualified(text), args...)
	}
	return stmt.ExecContext(ctx, args...)
}

// Read implements [sqlstore.Source].
func (s *statements) Read(ctx context.Context, query string, args []any, collect func(sqlstore.Rows) error) error {
	rows, err := s.query(ctx, query, args...)
	if err != nil {
		return mapError(err)
	}
	defer rows.Close()
	return mapError(collect(rows))
}

// close closes the statements: SQLite checkpoints the log when the last connection closes, unless a statement is left open.
func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, stmt := range s.prepared {
		errs = append(errs, stmt.Close())
	}
	s.prepared = nil
	return errors.Join(errs...)
}
