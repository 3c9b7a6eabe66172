package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// ErrUnknown is the error of a write that may have been committed: its outcome could not be found out in time. A caller may
// make the same call again.
var ErrUnknown = fmt.Errorf("the server did not answer the commit, and its outcome is not known: %w", context.DeadlineExceeded)

// Engine runs a store's operations on its database.
type Engine interface {
	Source

	// Do calls f with a transaction, and again with another one while an attempt fails for a reason that may pass. What f
	// passed to Commit is on record if Do returns nil. Otherwise nothing is, unless the error is ErrUnknown.
	Do(ctx context.Context, f func(context.Context, Tx) error) error

	// Snapshot calls read with the store as it is at its first read.
	Snapshot(ctx context.Context, read func(Snapshot) error) error
}

// Tx is the transaction of one attempt at an operation. Until Lock is called, Read reads outside of it.
type Tx interface {
	Source

	// Lock begins the transaction, unless an earlier call has, and runs the statements that lock and read what the operation is about.
	Lock(ctx context.Context, b *Batch) error

	// Commit runs the statements that write, and has the transaction committed. It is called once, at the end. It returns
	// ports.ErrDuplicate if what they insert is on record.
	Commit(ctx context.Context, b *Batch) error

	// Again reports whether an earlier attempt may have been committed. This one must find out before it does anything a second
	// time.
	Again() bool

	// Answer returns nil if a request that is refused may be answered from the checkout, as it was locked and read. It ends the
	// transaction.
	Answer(ctx context.Context, c checkout.Checkout) error
}

// Snapshot is a store as it is at one time.
type Snapshot interface {
	Source

	// Pages passes the keys that a query returns to visit, at most PageSize at once. However many they are, memory is bounded.
	Pages(ctx context.Context, query string, args []any, visit func([]CheckoutKey) error) error
}

// Batch is statements that are sent together. In a statement @. stands before the name of each table, and parameters are
// question marks.
type Batch struct {
	Statements []Statement
	uniques    []Statement // each returns a row if what the batch inserts is on record
}

// Statement is one statement of a Batch.
type Statement struct {
	Text    string
	Args    []any
	Collect func(Rows) error // of the rows that it returns; nil if it returns no rows
	Count   *int64           // the number of rows that it changed; may be nil
}

// Write adds a statement that returns no rows.
func (b *Batch) Write(text string, args ...any) { b.count(nil, text, args...) }

// count adds a statement of which the number of rows that it changed is wanted.
func (b *Batch) count(n *int64, text string, args ...any) {
	b.add(Statement{Text: text, Args: args, Count: n})
}

// usual is the number of statements for which a batch has room at first: a create has as many.
const usual = 4

func (b *Batch) add(s Statement) {
	if b.Statements == nil {
		b.Statements = make([]Statement, 0, usual)
	}
	b.Statements = append(b.Statements, s)
}

// unique adds that what the batch inserts is on record if the query returns a row.
func (b *Batch) unique(query string, args ...any) {
	b.uniques = append(b.uniques, Statement{Text: query, Args: args})
}

// Get adds a statement that returns rows, and passes each to got.
func Get[T any](b *Batch, scan func(Row) (T, error), got func(T), text string, args ...any) {
	b.add(Statement{Text: text, Args: args, Collect: func(rows Rows) error {
		for rows.Next() {
			v, err := scan(rows)
			if err != nil {
				return Unreadable{err}
			}
			got(v)
		}
		return rows.Err()
	}})
}

// Dialect is the difference between the databases.
type Dialect struct {
	// Epoch and Place are the columns of a checkout.Cursor of a job, of which Epoch may be 0, Listed the columns of the order of the
	// cursors, and Behind the condition that a job is behind a cursor and no job can enter before it any more.
	Epoch, Place, Listed, Behind string
	// SameEmail compares the column email with a parameter, the letters A to Z in any case.
	SameEmail string
	// ByKey is the condition by which a checkout is found by its provider and its idempotency key.
	ByKey string
	// ForUpdate locks the rows that a query returns, and SkipLocked leaves out rows that others lock.
	ForUpdate, SkipLocked string
	// Least is the function that returns the least of its arguments. A cluster takes no clock in CASE or COALESCE.
	Least string
	// Clock is the database's clock in milliseconds, which then decides when a job is due and when a lease is over; "" where
	// the caller's clock does.
	Clock string
	// Server says that the database is a server with many writers: what an operation may need is read with its locks, in one
	// round trip; the store numbers the jobs of each checkout, where SQLite numbers all jobs as they enter; and a subquery of
	// FROM needs LATERAL to see the tables before it.
	Server bool
	// PendingOfKind is the condition that a job e is pending and of the kind of the job j.
	PendingOfKind string
}

// Store implements most of ports.Admin over an engine. An engine adds the methods that concern its files or its server.
type Store struct {
	engine     Engine
	dialect    Dialect
	statements statements
	secrets    [][]byte
	encrypter  *secrets.Encrypter
	// Distributed says that the jobs are spread over several nodes, each of which looks at all of its own.
	Distributed bool
	onCommit    func(error)
}

// New returns a store that is not authorized yet: it reads and writes no provider.
func New(e Engine, d Dialect) *Store {
	return &Store{engine: e, dialect: d, statements: d.statements(), onCommit: func(error) {}}
}

// OnCommit has committed called after each commit, and with the error of a write of which nothing may be on record: the database
// did not take it. It must not block. OnCommit must be called before the store is used.
func (s *Store) OnCommit(committed func(error)) { s.onCommit = committed }

// committing is a transaction that notes whether it was to be committed.
type committing struct {
	Tx
	asked *bool
}

// Commit implements [Tx].
func (t committing) Commit(ctx context.Context, b *Batch) error {
	*t.asked = true
	return t.Tx.Commit(ctx, b)
}

// Do calls f in attempts, as Engine.Do does. The error names what was being done.
func (s *Store) Do(ctx context.Context, doing string, f func(context.Context, Tx) error) error {
	var refusal refused // of the latest attempt
	asked := false
	err := s.engine.Do(ctx, func(ctx context.Context, t Tx) error {
		refusal = refused{}
		err := f(ctx, committing{t, &asked})
		if errors.As(err, &refusal) {
			return nil // nothing was written
		}
		return err
	})
	switch {
	case errors.Is(err, ports.ErrDuplicate), errors.Is(err, ports.ErrNotFound), err == nil && !asked:
	default:
		s.onCommit(err)
	}
	if err == nil && refusal.error != nil {
		return refusal.error
	}
	return wrap(err, "%s", doing)
}

// refused is an error of a decide function, which is returned as it is.
type refused struct{ error }

// wrap returns err, if it is one, with what was being done.
func wrap(err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(doing+": %w", append(args, err)...)
}

// Has reports whether a query returns a row.
func Has(ctx context.Context, src Source, query string, args ...any) (bool, error) {
	list, err := All(ctx, src, func(Row) (struct{}, error) { return struct{}{}, nil }, query, args...)
	return len(list) > 0, err
}

// Taken reports whether something that the batch inserts is on record.
func (b *Batch) Taken(ctx context.Context, src Source) (found bool, err error) {
	for _, u := range b.uniques {
		if found, err = Has(ctx, src, u.Text, u.Args...); found || err != nil {
			return found, err
		}
	}
	return false, nil
}
