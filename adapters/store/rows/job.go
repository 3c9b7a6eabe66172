package rows

import (
	"fmt"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The columns of the tables jobs, moments and acts. The identity of a job never changes.
const (
	jobIdentityColumns = `provider_code, checkout_id, id, kind`
	JobStateColumns    = `position, request_id, name, body, try, created_ms, due_ms, state, again, token, leased_until_ms, attempts, cursor,
		failed_ms, failure, receipt, settled_ms`
	JobColumns    = jobIdentityColumns + `, ` + JobStateColumns
	MomentColumns = `provider_code, checkout_id, id, position, at_ms, kind, actor, request_id, detail, times`
	ActColumns    = `provider_code, at_ms, id, operator, act, subject, reason, changes`
)

// Job is a row of the table jobs, without the column entered, the order in which jobs enter, which is the store's own.
type Job struct {
	checkout.JobRecord       // without a Cursor and Due, as Record has them
	DueMS              int64 // of the next attempt; 0: at once
	Again              bool  // armed since it was leased
	Token              int64
	LeasedUntilMS      int64 // 0 where the latest lease was settled or given back
}

// UpdateFields returns the fields of JobStateColumns.
func (r *Job) UpdateFields() []any { return r.Fields()[4:] }

// Fields returns the fields of JobColumns.
func (r *Job) Fields() []any {
	return []any{&r.ProviderCode, &r.CheckoutID, &r.ID, (*string)(&r.Kind), &r.Position, &r.RequestID, &r.Name, (*blob)(&r.Body), &r.Try,
		(*millis)(&r.CreatedAt), &r.DueMS, (*string)(&r.State), &r.Again, &r.Token, &r.LeasedUntilMS, &r.Attempts, &r.Progress,
		(*millis)(&r.Failure.At), &r.Failure.Reason, &r.Receipt, (*millis)(&r.SettledAt)}
}

// OfJob returns the row of a job that enters at a time of the store's clock.
func OfJob(j checkout.Job, now time.Time) Job {
	r := Job{JobRecord: checkout.JobRecord{Job: j, State: checkout.JobPending}}
	r.Job.Due, r.Job.Unsent = time.Time{}, false
	if !j.Due.IsZero() {
		r.DueMS = Millis(now.Add(j.Due.Sub(j.CreatedAt)))
	}
	if j.Unsent {
		r.State, r.SettledAt = checkout.JobDropped, now
	}
	return r
}

// After returns the number behind which a filter's cursor lists jobs, for a store that numbers them as they enter; -1 for all.
func After(f checkout.JobFilter) (int64, error) {
	if f.After == nil || *f.After == "" {
		return -1, nil
	}
	n, err := strconv.ParseUint(string(*f.After), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("cursor: %w", ports.ErrNotFound)
	}
	return int64(n), nil
}

// Record returns the job of the row and its state.
func (r Job) Record() (checkout.JobRecord, error) {
	if r.State == checkout.JobPending {
		r.JobRecord.Due = Time(max(r.DueMS, r.LeasedUntilMS))
	}
	return r.JobRecord, nil
}

// Lease returns the lease that follows the latest one of the row.
func (r Job) Lease(length time.Duration) checkout.Lease {
	return checkout.Lease{Job: r.Job, Token: r.Token + 1, Attempts: r.Attempts, Cursor: r.Progress, For: length}
}

// LeaseAt leases the row at a time.
func (r *Job) LeaseAt(now time.Time, length time.Duration) checkout.Lease {
	l := r.Lease(length)
	r.Token, r.Again, r.LeasedUntilMS = l.Token, false, Millis(now.Add(length))
	return l
}

// IsLeased reports whether the job has a lease at a time. A lease that ends too far ahead was set by a wrong clock.
func (r *Job) IsLeased(now time.Time) bool {
	return r.LeasedUntilMS > Millis(now) && r.LeasedUntilMS <= Millis(now.Add(checkout.MaxLease))
}

// Arm makes the job as it is once another is entered. A queued job keeps its attempts.
func (r *Job) Arm(given Job) {
	switch {
	case r.State == checkout.JobPending:
		r.DueMS = min(r.DueMS, given.DueMS)
	case r.Kind.Queued():
		r.DueMS, r.SettledAt = given.DueMS, time.Time{}
	default:
		given.Token, given.Progress, given.LeasedUntilMS = r.Token, r.Progress, r.LeasedUntilMS
		*r = given
	}
	r.State, r.Again = checkout.JobPending, !r.Kind.Queued()
}

// Backlog is the pending jobs of a kind.
type Backlog struct {
	kind checkout.JobKind
	checkout.Backlog
}

// Fields returns the fields of the kind, the number of all and of the failing jobs, and when the first was created.
func (r *Backlog) Fields() []any {
	return []any{(*string)(&r.kind), &r.Waiting, &r.Failing, (*millis)(&r.Oldest)}
}

// Backlogs returns the backlogs of the rows.
func Backlogs(list []Backlog) map[checkout.JobKind]checkout.Backlog {
	of := map[checkout.JobKind]checkout.Backlog{}
	for _, r := range list {
		of[r.kind] = r.Backlog
	}
	return of
}

// Moment is a row of the table moments.
type Moment struct {
	ProviderCode, CheckoutID string
	moment                   checkout.Moment
}

// Fields returns the fields of MomentColumns.
func (r *Moment) Fields() []any {
	m := &r.moment
	return []any{&r.ProviderCode, &r.CheckoutID, &m.ID, &m.Position, (*millis)(&m.At), (*string)(&m.Kind), (*string)(&m.Actor), &m.RequestID,
		&m.Detail, &m.Times}
}

// OfMoments returns the rows of moments of a checkout.
func OfMoments(provider, checkoutID string, moments []checkout.Moment) (list []Moment) {
	for _, m := range moments {
		m.Times = max(m.Times, 1)
		list = append(list, Moment{provider, checkoutID, m})
	}
	return list
}

// OfOutcome returns the rows of the moments of an outcome.
func OfOutcome(j checkout.Job, o checkout.Outcome) []Moment {
	if len(o.Moments) == 0 {
		return nil
	}
	return OfMoments(j.ProviderCode, j.CheckoutID, checkout.NumberMoments(o.Moments, checkout.FirstPosition(o.Moments[0].At)))
}

// OfNoted returns the rows of moments that no change brings.
func OfNoted(moments []checkout.Noted) (list []Moment) {
	for i, n := range moments {
		numbered := checkout.NumberMoments([]checkout.Moment{n.Moment}, checkout.FirstPosition(n.Moment.At)+int64(i))
		list = append(list, OfMoments(checkout.ProviderOf(n.CheckoutID), n.CheckoutID, numbered)...)
	}
	return list
}

// Moment returns the moment of the row.
func (r Moment) Moment() (checkout.Moment, error) { return r.moment, nil }

// Act is a row of the table acts.
type Act struct {
	act checkout.Act
	parser
}

// Fields returns the fields of ActColumns.
func (r *Act) Fields() []any {
	a := &r.act
	return []any{&a.ProviderCode, (*millis)(&a.At), &a.ID, &a.Operator, &a.Name, &a.Subject, &a.Reason, jsonColumn(&r.parser, &a.Changes)}
}

// OfAct returns the row of an act.
func OfAct(a checkout.Act) Act { return Act{act: a} }

// Record returns the act of the row.
func (r Act) Record() (checkout.Act, error) { return r.act, r.result("act", r.act.ID) }
