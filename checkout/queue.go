package checkout

import (
	"strings"
	"time"
)

// MaxLease is the longest time for which a lease lasts. A holder that needs longer extends it. A lease whose end is further
// away is over: the clock that set it was wrong.
const MaxLease = 20 * time.Second

// LongestPause returns the longest time for which a pending job of the kind waits for an attempt, after so many attempts. A job that
// waits for longer, by more than MaxLease, is due: the clock that put it off was wrong.
func (k JobKind) LongestPause(attempts int) time.Duration {
	switch again := attempts > 0; {
	case k == JobLook, k == JobRetain, k == JobPull, again && k == JobNotify:
		return 24 * time.Hour
	case again && (k == JobOpen || k == JobComplete || k == JobAuthority || k == JobEnd):
		return refusedCRMPause
	}
	return time.Minute
}

// JobQuery says which jobs are leased.
type JobQuery struct {
	Now time.Time
	// For is the length of the leases. It is less than MaxLease by more than the duration of any concurrent call, which
	// compares with the time at which it began.
	For          time.Duration
	Kinds        []JobKind // jobs of these kinds; without any, no job
	ID           string    // this job only, if it is due; "" for any
	CheckoutID   string    // jobs of this checkout only, which is quick; "" for any
	ProviderCode string    // jobs of this queue only; "" for every queue
	Except       []Partition
	Limit        int // of all
	PerPartition int // of each partition, so that one hides no other; 0: no limit
}

// Partition is the jobs of one kind in the queue of one provider.
type Partition struct {
	Kind         JobKind
	ProviderCode string
}

// Lease is a job that is leased to the caller.
type Lease struct {
	Job      Job       // as it entered, but without Due
	Token    int64     // the fencing token
	Attempts int       // made before, and recorded
	Cursor   string    // as the latest Outcome left it
	Until    time.Time // its end, by the caller's clock: JobQuery.Now and JobQuery.For
}

// Outcome is the result of an attempt at a job.
type Outcome struct {
	State    JobState
	Pause    time.Duration // of JobPending: before the next attempt
	Attempts int           // made now, added to the attempts on record
	Failure  Failure       // of the latest attempt that failed; the zero value leaves the failure on record
	Receipt  Receipt       // of JobDone
	Cursor   string        // of JobPending: for the next attempt
	Moments  []Moment      // for the journal of the job's checkout, after the moments of the change
}

// Failure is the reason why an attempt failed.
type Failure struct {
	At     time.Time
	Reason string // for the operator: no secret, no personal data, and nothing of a receiver's answer
}

// FailureOf returns the failure of an attempt, with as much of the error as is stored.
func FailureOf(err error, at time.Time) Failure {
	return Failure{At: at, Reason: storable(err.Error(), maxStored)}
}

// Receipt is the proof that another system has taken over what a job sent.
type Receipt struct {
	Reference string // under which the other system knows it: the Message-ID of an e-mail
	Answer    string // of the other system: "250 2.0.0 queued as 4F1A"
}

// Storable returns the receipt with as much of its texts as is stored.
func (r Receipt) Storable() Receipt {
	return Receipt{storable(r.Reference, maxStored), storable(r.Answer, maxStored)}
}

// maxStored is the largest number of bytes of a reason or an answer that is stored.
const maxStored = 300

// storable returns the beginning of a text as every store takes it: valid UTF-8 without U+0000.
func storable(text string, limit int) string {
	text = strings.ToValidUTF8(text[:min(len(text), limit)], "")
	return strings.ReplaceAll(text, "\x00", "")
}

// Backlog is the pending jobs of one kind.
type Backlog struct {
	Waiting int
	Oldest  time.Time
}

// JobFilter admits the jobs that match all its fields. An empty field matches every job.
type JobFilter struct {
	ID           string
	Kinds        []JobKind
	State        JobState
	ProviderCode string
	OrderID      string
	CheckoutID   string
	Since        time.Time // created, or failed latest, at this time or after it
	CreatedSince time.Time // created at this time or after it
	Settled      bool      // events that are not pending, which are found quickly by their id
	OldestFirst  bool
}

// JobRecord is a job and its state.
type JobRecord struct {
	Job       Job // as it entered, but without Due
	State     JobState
	Due       time.Time // of JobPending: the next attempt, or the end of the lease if that is later
	Token     int64
	Attempts  int
	Cursor    string    // of JobPending, as the latest Outcome left it
	SettledAt time.Time // zero while it is pending
	Receipt   Receipt
	Failure   Failure // of the latest attempt that failed
}

// Shown returns the record of a job that is leased until a time; zero if it is not leased.
func (r JobRecord) Shown(until time.Time) JobRecord {
	switch {
	case r.State != JobPending:
		r.Due, r.Cursor = time.Time{}, ""
	case until.After(r.Due):
		r.Due = until
	}
	return r
}

// Hastens reports whether an operator may have the job attempted now: it is pending, or it has failed.
func (r JobRecord) Hastens() bool { return r.State == JobPending || r.State == JobDead }

// Settled returns the job after an attempt of its holder at a time.
func (r JobRecord) Settled(o Outcome, now time.Time) JobRecord {
	r.Attempts, r.State = r.Attempts+o.Attempts, o.State
	if o.Failure != (Failure{}) {
		r.Failure = o.Failure
	}
	switch o.State {
	case JobPending:
		r.Due, r.Cursor = now.Add(o.Pause), o.Cursor
		return r
	case JobDone:
		r.Receipt = o.Receipt
	}
	r.SettledAt = now
	return r
}

// JobEntry says how the jobs of a change enter the queue.
type JobEntry struct {
	Now time.Time
	// Hold leases the change's events, and its jobs for the CRM, to the caller for this time, with token 1: the process that
	// commits a change makes the first attempts. With 0 they are due at once.
	Hold time.Duration
	// Unsent says that the provider has no destination: the events enter as JobDropped and are never sent.
	Unsent bool
}
