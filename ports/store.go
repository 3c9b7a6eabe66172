package ports

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Store is a store for a service.
//
// The writes of a method that returned nil survive the death of the process, of the machine and of the store itself, and every
// later read in any process sees them. Text comes back byte for byte, and times in UTC to the millisecond.
//
// A method stores everything that it is given, or nothing. A method with decide passes it what is on record now and stores its
// result: nothing else changes those records in between. decide may run more than once, of which the last run counts, must not
// block and must not call the store. Its error is returned as it is, its panic reaches the caller, and nothing is stored then.
type Store interface {
	Checkouts
	Queue
	Journal
	Configuration
	Retention

	// Ready returns nil if the store takes writes now, which it tests by a durable write that changes nothing, and if its
	// schema is not older than this program's.
	Ready(ctx context.Context) error
}

// Checkouts keeps checkouts with their agreements and documents, which enter with a change. A change of a checkout is stored with
// its events, other jobs and moments.
type Checkouts interface {
	// InsertCheckout stores the change. ErrDuplicate if the provider already used the order id or the idempotency key, if the
	// checkout's id is taken, or if two of its events have one id or one name. Every checkout has a key, and
	// two of one provider never have the same, whether it came in a header or is the default (checkout.DefaultKey). Of concurrent
	// inserts that make each other duplicates, one succeeds.
	InsertCheckout(ctx context.Context, change checkout.Change, entry checkout.JobEntry) error

	// Checkout returns the checkout, or ErrNotFound.
	Checkout(ctx context.Context, id string) (checkout.Checkout, error)

	// FindCheckout returns the checkout that a reference names, or ErrNotFound.
	FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error)

	// UpdateCheckout stores the change that decide makes of the checkout. Jobs of the change whose ids are on record, in any
	// state, are left out. The identity of a checkout (id, provider, order, key) never changes. A change that removes the
	// checkout, which has no agreement and no events, removes its jobs and its journal, and leaves its order, its key and its
	// id free. ErrNotFound if there is no such checkout; ErrDuplicate if this provider or another one has the agreement's
	// number, an event is on record, the checkout would have two events of one name, or it
	// has an agreement or document already; another error for a document without an agreement. Of concurrent changes of a
	// provider with one number one succeeds.
	UpdateCheckout(ctx context.Context, id string, entry checkout.JobEntry,
		decide func(checkout.Checkout) (checkout.Change, error)) error

	// Agreement returns the agreement with this number (PPA-…), or ErrNotFound.
	Agreement(ctx context.Context, number string) (agreement.Agreement, error)

	// Document returns the PDF of the agreement with this number, or ErrNotFound, also if it was never rendered.
	Document(ctx context.Context, number string) (agreement.Document, error)
}

// Queue keeps the jobs of checkouts and of the service itself. Most enter with a Change. A job is due once it is pending, its
// time has come, or is further ahead than checkout.JobKind.LongestPause and MaxLease allow for, it is not leased, and it is no event
// behind another pending event of its checkout. Settled jobs stay on record.
//
// The caller's clock (Now) decides when a job is due and when a lease is over, except on a store that several machines share:
// there the clock of the store does, and Now is ignored; the time from CreatedAt to Due counts from the entry of the job: a
// change enters at JobEntry.Now, and a job that no change brings at its CreatedAt.
type Queue interface {
	// Enqueue stores jobs that no change brings, and returns the jobs whose ids were not on record, in the order given. Jobs
	// on record stay as they are. An id that comes twice counts the first time. Of concurrent calls with one id, one returns it.
	Enqueue(ctx context.Context, jobs []checkout.Job) (fresh []checkout.Job, err error)

	// Lease leases due jobs to the caller, the longest due first. Every lease of a job raises its token, from 1 on. Of
	// concurrent calls one gets a job. An event is not due while an event of its checkout that entered before it is pending. A
	// job of kind checkout.JobNotify is not due while a job of its kind and checkout that entered before it is due, or
	// any other of them is leased: a job that waits for its next attempt holds up no other.
	Lease(ctx context.Context, q checkout.JobQuery) ([]checkout.Lease, error)

	// Extend has a lease last for d from now on; 0 gives the job back, due at once. ErrNotFound if the job has another token
	// or is not pending: then nothing changes.
	Extend(ctx context.Context, l checkout.Lease, now time.Time, d time.Duration) error

	// Settle stores the outcome of the holder's attempt, with the change that decide makes of the job's checkout as
	// Checkouts.UpdateCheckout does; without a change if decide is nil. ErrNotFound if the job has another token or is not
	// pending; decide is not called then. A change that removes the checkout removes all its jobs.
	Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome, entry checkout.JobEntry,
		decide func(checkout.Checkout) (checkout.Change, error)) error

	// Jobs returns the jobs that the filter admits, at most limit, the newest first: by the time of their creation, or in a
	// filter of one checkout by the order in which they entered, whatever the clocks said that made them.
	Jobs(ctx context.Context, f checkout.JobFilter, limit int) ([]checkout.JobRecord, error)

	// Backlog returns, by kind, how many jobs are pending, leased or not, and when the oldest of them was created. Kinds
	// without a pending job are left out.
	Backlog(ctx context.Context) (map[checkout.JobKind]checkout.Backlog, error)
}

// Journal keeps what happened: the moments of checkouts, and their events. Most enter with a Change.
type Journal interface {
	// Note appends moments that no change brings. A moment of a checkout that does not exist is left out, and one whose Times is 0
	// counts as 1.
	Note(ctx context.Context, noted []checkout.Noted) error

	// Moments returns the journal of a checkout in the order of the positions.
	Moments(ctx context.Context, checkoutID string) ([]checkout.Moment, error)

	// Events returns the first events of a provider behind ListQuery.After, in the order of the cursors, and fewer than the limit only
	// at the end of the list. An event enters the list by the commit of its change, in the order of the commits: once a call in any
	// process has returned a cursor, every event that comes later comes behind it. An event may wait in the list for transactions
	// that began before its own.
	Events(ctx context.Context, q checkout.ListQuery) ([]checkout.ListedEvent, error)
}

// Configuration reads the operator's configuration, and notes the use of keys.
type Configuration interface {
	// Provider returns the provider, without its courses, or ErrNotFound.
	Provider(ctx context.Context, code string) (catalogue.Provider, error)

	// Providers returns every provider in the order of the codes.
	Providers(ctx context.Context) ([]catalogue.Provider, error)

	// Course returns a course of a provider, or ErrNotFound.
	Course(ctx context.Context, provider, code string) (catalogue.Course, error)

	// UseKeys stores that the keys with these ids were used on a day (YYYY-MM-DD), unless they were used on a later one. An id that
	// does not exist is left out.
	UseKeys(ctx context.Context, ids []string, day string) error

	// Key returns the API key with this hash, revoked or not, or ErrNotFound. It writes nothing. A key needs no
	// configuration of its provider.
	Key(ctx context.Context, hash [32]byte) (catalogue.Key, error)
}

// Retention finds and erases personal data that was kept for long enough.
type Retention interface {
	// OldCheckouts looks at no more than limit checkouts, in an order that never changes, from the cursor that the last call
	// returned, or from the first for "". It returns the ids of the confirmed checkouts that were created before confirmed and
	// are not erased, of the other checkouts that were created before open and are not erased, and next, which is "" at the end.
	OldCheckouts(ctx context.Context, cursor string, limit int, confirmed, open time.Time) (ids []string, next string, err error)

	// EraseCheckouts passes the checkouts with these ids that exist, in any order, to decide, and stores the result: the
	// checkouts; for each its agreement as Agreement.Erased returns it, its document without its bytes, its jobs without
	// receipts and reasons of failures, and the moment; and the act.
	EraseCheckouts(ctx context.Context, ids []string, decide func([]checkout.Checkout) (checkout.Erasure, error)) error
}
