package ports

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Queue keeps the jobs of checkouts and of the service itself. Most enter with a Change. A job is due once it is pending, its
// time has come, it is not leased, and it is no event behind another pending event of its checkout. Settled jobs stay on record.
//
// The caller's clock (Now) decides when a job is due and when a lease is over, except on a store that several machines share:
// there the clock of the store does, and Now is ignored; the time from CreatedAt to Due counts from the entry of the job.
type Queue interface {
	// Enqueue stores jobs that no change brings, atomically, and returns the jobs whose ids were not on record, in the order
	// given. Jobs on record stay as they are. An id that comes twice counts once, the first time. Of concurrent calls with the
	// same id, one returns it.
	Enqueue(ctx context.Context, jobs []checkout.Job) (fresh []checkout.Job, err error)

	// Lease leases due jobs to the caller, the longest due first. Every lease of a job raises its token, from 1 on. Of
	// concurrent calls one gets a job.
	Lease(ctx context.Context, q checkout.JobQuery) ([]checkout.Lease, error)

	// Extend has a lease last for d from now on; 0 gives the job back, due at once. ErrNotFound if the job has another token
	// or is not pending: then nothing changes.
	Extend(ctx context.Context, l checkout.Lease, now time.Time, d time.Duration) error

	// Settle stores the outcome of the holder's attempt, atomically with the change that decide makes of the job's checkout as
	// Checkouts.UpdateCheckout does; without a change if decide is nil. ErrNotFound if the job has another token or is not
	// pending; decide is not called then. A change that removes the checkout removes all its jobs.
	Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome, enqueue checkout.Enqueue, decide func(checkout.Checkout) (checkout.Change, error)) error

	// Jobs returns the jobs that the filter admits, at most limit, the newest first: by the time of their creation, and the
	// jobs of one checkout in the order in which they entered.
	Jobs(ctx context.Context, f checkout.JobFilter, limit int) ([]checkout.JobRecord, error)

	// Backlog returns, by kind, how many jobs are pending, leased or not, and when the oldest of them was created. Kinds
	// without a pending job are left out. Under JobSeal are the entries of the evidence log that are not sealed.
	Backlog(ctx context.Context) (map[checkout.JobKind]checkout.Backlog, error)
}
