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
// A method that changes something is atomic: it stores everything that it is given, or nothing. Once it has returned nil, its
// writes are durable and visible to every later read, in any process. They survive a crash of the process and of the machine, and a
// failover to a synchronous standby. Three errors tell the other outcomes:
//
//   - ErrBusy: nothing was stored, and the same call may succeed later.
//   - ErrUnknown: they may be stored or not. The caller finds out by its own idempotency; no method finds out for it.
//   - Any other error: nothing was stored.
//
// Text comes back byte for byte, and times in UTC to the millisecond. Every method may be called by many goroutines and processes at
// once. The store has a clock of its own, by which jobs are due and leases end.
type Store interface {
	Checkouts
	Queue
	Journal
	Configuration
	Retention

	// Ready returns nil if the store takes writes now, which it tests by a durable write that changes nothing.
	Ready(ctx context.Context) error
}

// Decide decides the change of a checkout. It is pure: it may run more than once, of which the last run counts, it must not block, and
// it must not call the store. Its error ends the call, which returns it as it is.
type Decide func(checkout.Checkout) (checkout.Change, error)

// Checkouts keeps checkouts with their agreements and documents. Changes are stored as checkout.Change.Numbered has them.
type Checkouts interface {
	// InsertCheckout stores the change of a new checkout. Of concurrent inserts with one id, order or idempotency key of a provider,
	// whether the key came in a header or is the default one, one succeeds; the others return ErrDuplicate.
	//
	// If hold is above 0, the caller gets leases of that duration on the jobs of the change that are due at once and whose kind is
	// Direct, in their order, and makes their first attempts. Events behind a pending event of an earlier change are not leased.
	InsertCheckout(ctx context.Context, change checkout.Change, hold time.Duration) ([]checkout.Lease, error)

	// Checkout returns a checkout, or ErrNotFound.
	Checkout(ctx context.Context, id string) (checkout.Checkout, error)

	// FindCheckout returns the checkout that a reference names, or ErrNotFound. By an agreement number that several providers have it
	// returns one of them.
	FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error)

	// UpdateCheckout applies decide to a checkout, stores the change, and returns it. decide is first called with known, which the
	// caller has read. If the revision on record is another, it is called again with the checkout on record: a change is stored
	// only over the revision that it was decided on. A change without a time (checkout.Change.Changes) stores nothing, and is
	// returned. Leases are as InsertCheckout has them.
	//
	// A job of a kind that is Queued enters once: a notice whose id is on record is left out. When a notice enters, the pending notices
	// of the checkout are due at once. A job of another kind is armed. If it is settled, it begins anew as the new job, with the token
	// and the cursor on record. If it is pending, it is due at the earlier of its time on record and the new one, and due again after
	// an attempt that is under way. An armed job that another caller has leased is not among the leases.
	//
	// A change of a checkout that is erased by it (Checkout.ErasedAt) also empties its agreement (agreement.Agreement.Erased), the
	// bytes of its document, and the receipts and reasons of its jobs.
	//
	// ErrNotFound if there is no such checkout; ErrDuplicate if the agreement's number is taken within the provider, the checkout has
	// an event with the id of a new one, or it has an agreement already.
	UpdateCheckout(ctx context.Context, known checkout.Checkout, hold time.Duration, decide Decide) (checkout.Change, []checkout.Lease, error)

	// Agreement returns the agreement of a checkout, or ErrNotFound.
	Agreement(ctx context.Context, checkoutID string) (agreement.Agreement, error)

	// Document returns the PDF of a checkout's agreement, or ErrNotFound, also if it was never rendered. An erased one has no bytes.
	Document(ctx context.Context, checkoutID string) (agreement.Document, error)
}

// Queue keeps the jobs of checkouts and of the store itself. A job is due once it is pending, its time has come, and it is not leased.
// A queued job (checkout.JobKind.Queued) is not due while an earlier one of its kind and checkout is pending. Settled jobs stay on
// record until OldCheckouts deletes them.
//
// Where the store's clock is the clock of the machine, it may have been set back. Then a pending job whose time is further ahead than
// its kind allows (LongestPause), by more than MaxLease, is due, and a lease that ends more than MaxLease ahead is over.
type Queue interface {
	// Enqueue arms jobs, as UpdateCheckout does, and with them stores the act, if there is one. A queued job must be on record, pending or
	// failed: it is pending and due at once, and its attempts go on. A job of an unknown checkout, and another queued job, are left out.
	// Another job that enters, or begins anew, has the position checkout.FirstPosition of its creation, plus its index in jobs.
	// Enqueue returns how many jobs it has armed.
	Enqueue(ctx context.Context, jobs []checkout.Job, act *checkout.Act) (armed int, err error)

	// Lease leases due jobs to the caller, of each kind the longest due first. Every lease raises the token of its job, from 1 on. Of
	// concurrent calls one gets a job. Where nothing is due, nothing is written.
	Lease(ctx context.Context, q checkout.JobQuery) ([]checkout.Lease, error)

	// Extend makes a lease last for d from now on; 0 gives the job back, due at once. ErrNotFound if the job has another token or is
	// not pending: then nothing changes.
	Extend(ctx context.Context, l checkout.Lease, d time.Duration) error

	// Settle stores the outcome of the holder's attempt, and ends the lease. A job that was armed since it was leased is pending and
	// due, whatever the outcome's state; a queued job is as the outcome has it. The moments are positioned from checkout.FirstPosition
	// of the first on, and counted as Note counts them. ErrNotFound if the job has another token or is not pending: then nothing changes.
	Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome) error

	// Jobs returns the jobs that the filter admits, at most limit, the newest first: by their creation, and of one time by their
	// positions. With JobFilter.After, for the events of one provider alone, they come in the order in which they entered. Once a call in
	// any process has returned a cursor, every event that enters later comes behind it; an event may be kept back while a transaction
	// that began before it is open. A cursor has 1 to 200 characters, and a text that cannot be a cursor is ErrNotFound.
	Jobs(ctx context.Context, f checkout.JobFilter, limit int) ([]checkout.JobRecord, error)

	// Backlog returns the pending jobs of each kind that has any, leased ones too.
	Backlog(ctx context.Context) (map[checkout.JobKind]checkout.Backlog, error)
}

// Journal keeps the timelines of checkouts.
type Journal interface {
	// Note stores moments that no change brings, and uses of API keys. The position of a moment is checkout.FirstPosition of its time,
	// plus its index in moments. A moment whose id is on record raises Times of that; one of an unknown checkout is left out, and so
	// is the use of an unknown key, or of a key that was used later.
	Note(ctx context.Context, moments []checkout.Noted, uses []checkout.KeyUse) error

	// Moments returns the timeline of a checkout in the order of the positions; nothing for an unknown checkout.
	Moments(ctx context.Context, checkoutID string) ([]checkout.Moment, error)
}

// Configuration reads the operator's configuration.
type Configuration interface {
	// Providers returns the providers with these codes that exist, without their courses, in the order of the codes; without codes
	// every provider.
	Providers(ctx context.Context, codes ...string) ([]catalogue.Provider, error)

	// Course returns a course of a provider, or ErrNotFound.
	Course(ctx context.Context, provider, code string) (catalogue.Course, error)

	// Key returns the API key with this hash, revoked or not, or ErrNotFound.
	Key(ctx context.Context, hash [32]byte) (catalogue.Key, error)
}

// Retention finds what was kept for long enough.
type Retention interface {
	// OldCheckouts scans up to limit checkouts in a fixed order, from the cursor that the last call returned, or from the first for
	// "". It returns the ids of the confirmed checkouts that were created before confirmed and are not erased, of the other
	// checkouts that were created before open and are not erased, and next, which is "" at the end. Of the checkouts that it looks
	// at, it deletes the settled jobs that were settled longer ago than checkout.EventsKept (events) or checkout.JobsKept, but
	// never one of kind JobSync.
	OldCheckouts(ctx context.Context, cursor string, limit int, confirmed, open time.Time) (ids []string, next string, err error)
}
