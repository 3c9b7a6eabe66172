package ports

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// MaxLease is the longest time for which a lease lasts. A holder that needs longer extends it. A lease whose end is further
// away is over: the clock that set it was wrong.
const MaxLease = 20 * time.Second

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
	Lease(ctx context.Context, q JobQuery) ([]Lease, error)

	// Extend has a lease last for d from now on; 0 gives the job back, due at once. ErrNotFound if the job has another token
	// or is not pending: then nothing changes.
	Extend(ctx context.Context, l Lease, now time.Time, d time.Duration) error

	// Settle stores the outcome of the holder's attempt, atomically with the change that decide makes of the job's checkout as
	// Checkouts.UpdateCheckout does; without a change if decide is nil. ErrNotFound if the job has another token or is not
	// pending; decide is not called then. A change that removes the checkout removes all its jobs.
	Settle(ctx context.Context, l Lease, o Outcome, enqueue Enqueue, decide func(checkout.Checkout) (checkout.Change, error)) error

	// Jobs returns the jobs that the filter admits, at most limit, the newest first: by the time of their creation, and the
	// jobs of one checkout in the order in which they entered.
	Jobs(ctx context.Context, f JobFilter, limit int) ([]JobRecord, error)

	// Backlog returns, by kind, how many jobs are pending, leased or not, and when the oldest of them was created. Kinds
	// without a pending job are left out. Under JobSeal are the entries of the evidence log that are not sealed.
	Backlog(ctx context.Context) (map[checkout.JobKind]Backlog, error)
}

// JobQuery says which jobs are leased.
type JobQuery struct {
	Now time.Time
	// For is the length of the leases. It is less than MaxLease by more than the duration of any concurrent call, which
	// compares with the time at which it began.
	For          time.Duration
	Kinds        []checkout.JobKind // jobs of these kinds; without any, no job
	ID           string             // this job only, if it is due; "" for any
	CheckoutID   string             // jobs of this checkout only, which is quick; "" for any
	ProviderCode string             // jobs of this queue only; "" for every queue
	Except       []Partition
	Limit        int // of all
	PerPartition int // of each partition, so that one hides no other; 0: no limit
}

// Partition is the jobs of one kind in the queue of one provider.
type Partition struct {
	Kind         checkout.JobKind
	ProviderCode string
}

// Lease is a job that is leased to the caller.
type Lease struct {
	Job      checkout.Job // as it entered, but without Due
	Token    int64        // the fencing token
	Attempts int          // made before, and recorded
	Cursor   string       // as the latest Outcome left it
	Until    time.Time    // its end, by the caller's clock: JobQuery.Now and JobQuery.For
}

// Outcome is the result of an attempt at a job.
type Outcome struct {
	State    checkout.JobState
	Again    time.Duration     // of JobPending: the pause before the next attempt
	Attempts int               // made now, added to the attempts on record
	Failure  Failure           // of the latest attempt that failed; the zero value leaves the failure on record
	Receipt  Receipt           // of JobDone
	Cursor   string            // of JobPending: for the next attempt
	Moments  []checkout.Moment // for the journal of the job's checkout, after the moments of the change
}

// Failure is the reason why an attempt failed.
type Failure struct {
	At     time.Time
	Reason string // for the operator: no secret, no personal data, and nothing of a receiver's answer
}

// Receipt is the proof that another system has taken over what a job sent.
type Receipt struct {
	Reference string // under which the other system knows it: the Message-ID of an e-mail
	Answer    string // of the other system: "250 2.0.0 queued as 4F1A"
}

// Backlog is the pending jobs of one kind.
type Backlog struct {
	Waiting int
	Oldest  time.Time
}

// JobFilter admits the jobs that match all its fields. An empty field matches every job.
type JobFilter struct {
	ID           string
	Kinds        []checkout.JobKind
	State        checkout.JobState
	ProviderCode string
	OrderID      string
	CheckoutID   string
	Since        time.Time // created, or failed latest, at this time or after it
	OldestFirst  bool
}

// JobRecord is a job and its state.
type JobRecord struct {
	Job       checkout.Job // as it entered, but without Due
	State     checkout.JobState
	Due       time.Time // of JobPending: the next attempt, or the end of the lease if that is later
	Token     int64
	Attempts  int
	SettledAt time.Time // zero while it is pending
	Receipt   Receipt
	Failure   Failure // of the latest attempt that failed
}

// Enqueue says how the jobs of a change enter the queue.
type Enqueue struct {
	Now time.Time
	// Hold leases the change's events, and its jobs for the CRM, to the caller for this time, with token 1: the process that
	// commits a change makes the first attempts. With 0 they are due at once.
	Hold time.Duration
	// Unsent says that the provider has no destination: the events enter as checkout.JobDropped and are never sent.
	Unsent bool
}
