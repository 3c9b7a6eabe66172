package ports

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
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
	Lists
	Configuration
	Evidence
	Retention

	// Ready returns nil if the store takes writes now, which it tests by a durable write that changes nothing, and if its
	// schema is not older than this program's.
	Ready(ctx context.Context) error
}

// Checkouts keeps checkouts with their agreements and documents, which enter with a change. A change of a checkout is stored with
// its events, other jobs and moments.
type Checkouts interface {
	// InsertCheckout stores the change. ErrDuplicate if the provider already used the order id or the idempotency key, if the
	// checkout's id is taken, or if two of its events have one id, or one name that does not recur. Every checkout has a key, and
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
	// number, its evidence or an event is on record, the checkout would have two events of one name that does not recur, or it
	// has an agreement or document already; another error for a document without an agreement. Of concurrent changes with one number one
	// succeeds, also of two providers if both come with their evidence, whose id has the number, as every confirm does.
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
	// With jobs that an operator brings comes did, the entry of the operation, which is stored unless every job is on record; a nil
	// did records nothing. ErrDuplicate if its id is taken.
	Enqueue(ctx context.Context, jobs []checkout.Job, did *evidence.Entry) (fresh []checkout.Job, err error)

	// Lease leases due jobs to the caller, the longest due first. Every lease of a job raises its token, from 1 on. Of
	// concurrent calls one gets a job. An event is not due while an event of its checkout that entered before it is pending. A
	// job of kind checkout.JobNotify or JobRedeliver is not due while a job of its kind and checkout that entered before it is due, or
	// any other of them is leased: a job that waits for its next attempt holds up no other.
	Lease(ctx context.Context, q checkout.JobQuery) ([]checkout.Lease, error)

	// Extend has a lease last for d from now on; 0 gives the job back, due at once. ErrNotFound if the job has another token
	// or is not pending: then nothing changes.
	Extend(ctx context.Context, l checkout.Lease, now time.Time, d time.Duration) error

	// Settle stores the outcome of the holder's attempt, with the change that decide makes of the job's checkout as
	// Checkouts.UpdateCheckout does; without a change if decide is nil. ErrNotFound if the job has another token or is not
	// pending; decide is not called then. A change that removes the checkout removes all its jobs. The attempts of a job that sends
	// an event again (checkout.JobRedeliver), their failure and their log are stored with the event too; a failed event is
	// delivered once that job is done.
	Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome, entry checkout.JobEntry,
		decide func(checkout.Checkout) (checkout.Change, error)) error

	// Jobs returns the jobs that the filter admits, at most limit, the newest first: by the time of their creation, or in a
	// filter of one checkout by the order in which they entered, whatever the clocks said that made them.
	Jobs(ctx context.Context, f checkout.JobFilter, limit int) ([]checkout.JobRecord, error)

	// Backlog returns, by kind, how many jobs are pending, leased or not, and when the oldest of them was created. Kinds
	// without a pending job are left out. Under JobSeal are the entries of the evidence log that are not sealed.
	Backlog(ctx context.Context) (map[checkout.JobKind]checkout.Backlog, error)
}

// Journal keeps the moments of checkouts. Most enter with a Change.
type Journal interface {
	// Note appends moments that no change brings. A moment of a checkout that does not exist is left out, and one whose Times is 0
	// counts as 1.
	Note(ctx context.Context, noted []checkout.Noted) error

	// Moments returns the journal of a checkout in the order of the positions.
	Moments(ctx context.Context, checkoutID string) ([]checkout.Moment, error)
}

// Lists reads the lists of a provider page by page, while entries are added. An entry enters a list, or moves to its end, by the
// commit of its change, and once a call in any process has returned a cursor, every entry that comes later comes behind it. A method
// returns the first entries behind ListQuery.After in the order of the cursors, and fewer than the limit only at the end of the
// list. What a call finds new in a list enters it in the order of the times, as much as it returns.
type Lists interface {
	// Events returns events of the provider in the order of their creation.
	Events(ctx context.Context, q checkout.ListQuery) ([]checkout.ListedEvent, error)

	// Enrolments returns checkouts of the provider, the oldest change first, but no checkout that is only reserved. A change is the
	// insert, or an update after which checkout.SameEnrolment is false, at JobEntry.Now.
	Enrolments(ctx context.Context, q checkout.ListQuery) ([]checkout.ListedEnrolment, error)
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

// Evidence keeps the evidence log. The entry of an agreement enters the store with its Change, the entry of an operation with
// the operation. Whichever method stores it, the entry becomes the next in a chain (evidence.Entry.After) by that very commit, and
// evidence.ErrOutdated is returned where it cannot.
type Evidence interface {
	// RecordEvidence stores an entry that is not sealed. ErrDuplicate if its id is taken.
	RecordEvidence(ctx context.Context, entry evidence.Entry) error

	// SealEvidence passes decide the end of the log, and at most limit entries that are not sealed, each chain in its order, and
	// stores the result: no other call sees the log in between. ErrBusy if another call holds the log. Every entry that is recorded
	// from then on in a chain that no commit holds has seen as much of the log as decide (evidence.End.Seen), whatever the chain
	// said before.
	SealEvidence(ctx context.Context, limit int, decide func(evidence.Head, []evidence.Entry) (evidence.Sealing, error)) error

	// UnsealedEvidence returns at most limit entries that are not sealed, each chain in its order.
	UnsealedEvidence(ctx context.Context, limit int) ([]evidence.Entry, error)

	// EvidenceHead returns the end of the log.
	EvidenceHead(ctx context.Context) (evidence.Head, error)

	// EvidenceEntry returns the entry with this id and its position, or evidence.Unsealed, or ErrNotFound.
	EvidenceEntry(ctx context.Context, id string) (entry evidence.Entry, position int64, err error)

	// EvidenceNodes returns, for each position, the nodes that its entry completes, or no nodes without such an entry.
	EvidenceNodes(ctx context.Context, positions []int64) ([][]evidence.Hash, error)
}

// Retention finds and erases personal data that was kept for long enough.
type Retention interface {
	// OldCheckouts looks at no more than limit checkouts, in an order that never changes, from the cursor that the last call
	// returned, or from the first for "". It returns the ids of the confirmed checkouts that were created before confirmed and
	// are not erased, or whose agreement's entry in the evidence log still has its salt; of the other checkouts that were
	// created before open and are not erased; and next, which is "" at the end.
	OldCheckouts(ctx context.Context, cursor string, limit int, confirmed, open time.Time) (ids []string, next string, err error)

	// EraseCheckouts passes the checkouts with these ids that exist, in any order, to decide, and stores the result: the
	// checkouts; for each its agreement as Agreement.Erased returns it, its document without its bytes, its jobs without
	// receipts, reasons of failures and logs of attempts, and the moment; the entries of the agreements in Unsalted that exist, without their
	// salt; and the entry of the evidence log.
	EraseCheckouts(ctx context.Context, ids []string, decide func([]checkout.Checkout) (checkout.Erasure, error)) error
}
