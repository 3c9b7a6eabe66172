package checkout

import (
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// A job is work to be done after a commit by one of many processes. It enters the store in the commit of the change that it follows
// from. A process leases it, attempts it, and settles it. The lease has a fencing token: a process that has lost its lease settles
// nothing.

// JobKind is the kind of a job; each has one handler.
type JobKind string

const (
	JobDeliver JobKind = "deliver" // send an event to its provider
	JobNotify  JobKind = "notify"  // send a notice to a payer

	JobSync JobKind = "sync" // bring the CRM up to date with a checkout
	JobLook JobKind = "look" // ask the processor about a setup
	JobEnd  JobKind = "end"  // end the setup of a checkout at the processor

	JobReconcile JobKind = "reconcile" // read the processor's own list of its notifications
	JobPull      JobKind = "pull"      // read the providers from the CRM
	JobRetain    JobKind = "retain"    // erase personal data, and delete jobs, that were kept for long enough
)

// JobKinds lists every kind, for tables that must be complete.
func JobKinds() []JobKind {
	return []JobKind{JobDeliver, JobNotify, JobSync, JobLook, JobEnd, JobReconcile, JobPull, JobRetain}
}

// Queued reports whether each job of the kind is a row of its own, attempted in the order of the positions within its checkout. The
// other kinds have one row for each checkout, or one for the store, which is armed: entering it again makes it pending and due,
// whatever its state is.
func (k JobKind) Queued() bool { return k == JobDeliver || k == JobNotify }

// Direct reports whether the request that enters a job of the kind attempts it before it is answered.
func (k JobKind) Direct() bool { return k == JobDeliver || k == JobSync }

// Job is one piece of work. It has no personal data, but for the body of an event, which has no more than the contract says.
type Job struct {
	// ID is unique among the jobs of its checkout, or of the store: evt_…, ntc_…, or the kind of a job that is armed.
	ID           string
	Kind         JobKind
	ProviderCode string // "" for a job of the store, like CheckoutID
	CheckoutID   string
	Position     int64     // in its checkout; given by the store
	RequestID    string    // of the request that it follows from; "" without a request
	Name         string    // an event's name, a notice's kind
	Body         []byte    // of an event, as it is signed and sent
	Try          int       // of the setup that a notice is about
	CreatedAt    time.Time // UTC, to the millisecond
	Due          time.Time // of the first attempt; zero: at once
	Unsent       bool      // an event without a destination: it enters as dropped
}

// JobState is the state of a job.
type JobState string

const (
	JobPending JobState = "pending" // to be attempted
	JobDone    JobState = "done"
	JobFailed  JobState = "failed"  // refused for good, or the attempts are used up
	JobDropped JobState = "dropped" // not needed: an event without a destination, a notice that is no longer true
)

// DeliveryOf returns the job that delivers an event.
func DeliveryOf(e events.Event) Job {
	return Job{ID: e.ID, Kind: JobDeliver, ProviderCode: e.ProviderCode, CheckoutID: e.CheckoutID, RequestID: e.RequestID,
		Name: string(e.Name), Body: e.Body, CreatedAt: e.CreatedAt}
}

// Event returns the event of a job of kind JobDeliver.
func (j Job) Event() events.Event {
	return events.Event{ID: j.ID, Name: events.Name(j.Name), CheckoutID: j.CheckoutID, ProviderCode: j.ProviderCode,
		RequestID: j.RequestID, CreatedAt: j.CreatedAt, Body: j.Body}
}

// Job returns a job of the checkout that is armed, due after a pause.
func (c Checkout) Job(kind JobKind, requestID string, at time.Time, pause time.Duration) Job {
	j := Job{ID: string(kind), Kind: kind, ProviderCode: c.ProviderCode, CheckoutID: c.ID, RequestID: requestID, CreatedAt: at}
	if pause > 0 {
		j.Due = at.Add(pause)
	}
	return j
}

// StoreJob returns a job of the store, due at once.
func StoreJob(kind JobKind, at time.Time) Job {
	return Job{ID: string(kind), Kind: kind, CreatedAt: at}
}

// Ref returns the text by which an operator names the job: evt_…, ntc_…, or the kind and the checkout of a job that is armed.
func (j Job) Ref() string {
	if j.Kind.Queued() || j.CheckoutID == "" {
		return j.ID
	}
	return j.ID + ":" + j.CheckoutID
}

// JobByRef returns the filter for the job that a text names.
func JobByRef(ref string) JobFilter {
	id, of, _ := strings.Cut(ref, ":")
	return JobFilter{ID: id, CheckoutID: of}
}

// MaxLease is the longest time for which a lease lasts. A holder that needs longer extends it. A lease that ends further ahead is
// over: the clock that set it was wrong.
const MaxLease = 20 * time.Second

// LongestPause returns the longest time for which a pending job of the kind waits for an attempt. A job that waits for longer, by
// more than MaxLease, is due: the clock that put it off was wrong.
func (k JobKind) LongestPause() time.Duration {
	switch k {
	case JobNotify, JobLook, JobPull, JobRetain:
		return 24 * time.Hour
	case JobSync:
		return refusedPause
	}
	return time.Minute
}

// JobQuery selects the jobs that are leased.
type JobQuery struct {
	Limits map[JobKind]int // the largest number of jobs of each kind; a kind without a limit is not asked for
	For    time.Duration   // the length of the leases, less than MaxLease
	Except []Queue         // whose jobs are left out
}

// Queue is the jobs of one kind of one provider.
type Queue struct {
	Kind         JobKind
	ProviderCode string
}

// Lease is a job that is leased to the caller.
type Lease struct {
	Job      Job           // as it entered, but without Due
	Token    int64         // the fencing token
	Attempts int           // made before, and recorded
	Cursor   string        // as the latest Outcome left it
	For      time.Duration // the length of the lease, from when it was made
}

// Outcome is the result of an attempt at a job.
type Outcome struct {
	State    JobState
	Pause    time.Duration // of JobPending: before the next attempt
	Attempts int           // made now, added to the attempts on record
	Failure  Failure       // of the latest attempt that failed; the zero value leaves the failure on record
	Receipt  string        // of JobDone: the other system's words
	Cursor   string        // for the next attempt, whatever the state
	Moments  []Moment      // for the timeline of the job's checkout
}

// Failure is the reason why an attempt failed.
type Failure struct {
	At     time.Time
	Reason string // for the operator: no secret, no personal data, and nothing of a receiver's answer
}

// FailureOf returns the failure of an attempt, with as much of the error as is stored.
func FailureOf(err error, at time.Time) Failure {
	return Failure{At: at, Reason: Storable(err.Error())}
}

// maxStored is the largest number of bytes of a reason or a receipt that is stored.
const maxStored = 300

// Storable returns the beginning of a text as every store takes it: valid UTF-8 without U+0000.
func Storable(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), maxStored)], "")
	return strings.ReplaceAll(text, "\x00", "")
}

// Backlog is the pending jobs of one kind.
type Backlog struct {
	Waiting int
	Failing int // of them: the latest attempt failed
	Oldest  time.Time
}

// JobFilter admits the jobs that match all its fields. An empty field matches every job.
type JobFilter struct {
	ID           string
	Kinds        []JobKind
	State        JobState
	ProviderCode string
	CheckoutID   string
	Since        time.Time // created at this time or later
	// After, where it is not nil, admits the events of one provider behind a cursor, and they come in the order of the cursors, not the
	// newest first.
	After *Cursor
}

// Cursor is the place of a job in the order in which jobs enter a store: a text of the store, at most 200 characters long. The empty
// cursor is before every job.
type Cursor string

// JobRecord is a job and its state.
type JobRecord struct {
	Job
	Cursor    Cursor // where the filter has After
	State     JobState
	Due       time.Time // of JobPending: the next attempt, or the end of the lease if that is later
	Attempts  int
	Progress  string    // the cursor that the latest Outcome left
	SettledAt time.Time // zero while it is pending
	Receipt   string
	Failure   Failure // of the latest attempt that failed
}

// EventStatus returns the status of the event of a job of kind JobDeliver.
func (r JobRecord) EventStatus() events.Status {
	switch r.State {
	case JobDone:
		return events.Delivered
	case JobFailed:
		return events.Failed
	case JobDropped:
		return events.NotConfigured
	}
	return events.Pending
}

// How long settled jobs stay on record. The job that brings the CRM up to date stays with its checkout.
const (
	EventsKept = 400 * 24 * time.Hour
	JobsKept   = 30 * 24 * time.Hour
)

// Retries reports whether an operator may retry the job: it is pending, or it failed.
func (r JobRecord) Retries() bool { return r.State == JobPending || r.State == JobFailed }

// MaxListed is the largest number of events of a page, and the usual one.
const MaxListed = 100

// List is a provider's request for a page of its events.
type List struct {
	After   Optional[Cursor]
	Limit   Optional[int]
	OrderID Optional[string]
}

// Check returns how many events the page has at most, or a VALIDATION_ERROR.
func (l List) Check() (limit int, err error) {
	k := newChecker(l.After, l.Limit, l.OrderID)
	limit = MaxListed
	if l.OrderID.Given {
		k.text(FieldOfOrder, l.OrderID, text.Check)
	}
	if l.Limit.Given {
		limit = l.Limit.Value
	}
	if limit < 1 || limit > MaxListed {
		k.fault(FieldLimit, "must be a whole number from 1 to %d", MaxListed)
	}
	return limit, k.err()
}

// RefuseCursor refuses a list behind a text that is no cursor.
func RefuseCursor() error {
	return refuseFields(Fault{FieldAfter, "must be a cursor, or the next, of an earlier answer"})
}
