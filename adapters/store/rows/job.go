package rows

import (
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Job is a row of the table jobs, without the column entered, the order in which jobs enter, which is the store's own.
type Job struct {
	domainJob           // as it entered, but without Due and Unsent
	DueMS         int64 // of the next attempt; 0: at once
	State         string
	Again         bool // armed since it was leased
	Token         int64
	LeasedUntilMS int64 // 0 where the latest lease was settled or given back
	Attempts      int
	Cursor        string
	Failure       checkout.Failure
	Receipt       string
	SettledMS     int64
}

type domainJob = checkout.Job

// Fields returns the columns provider_code, checkout_id, id, kind, position, request_id, name, body, try, created_ms, due_ms, state,
// again, token, leased_until_ms, attempts, cursor, failed_ms, failure, receipt, settled_ms.
func (r *Job) Fields() []any {
	return []any{&r.ProviderCode, &r.CheckoutID, &r.ID, (*string)(&r.Kind), &r.Position, &r.RequestID, &r.Name, (*blob)(&r.Body), &r.Try,
		(*millis)(&r.CreatedAt), &r.DueMS, &r.State, &r.Again, &r.Token, &r.LeasedUntilMS, &r.Attempts, &r.Cursor,
		(*millis)(&r.Failure.At), &r.Failure.Reason, &r.Receipt, &r.SettledMS}
}

// OfJob returns the row of a job that enters at a time of the store's clock.
func OfJob(j checkout.Job, now time.Time) Job {
	r := Job{domainJob: j, State: string(checkout.JobPending)}
	r.Due, r.Unsent = time.Time{}, false
	if !j.Due.IsZero() {
		r.DueMS = Millis(now.Add(j.Due.Sub(j.CreatedAt)))
	}
	if j.Unsent {
		r.State, r.SettledMS = string(checkout.JobDropped), Millis(now)
	}
	return r
}

// Record returns the job of the row and its state.
func (r Job) Record() checkout.JobRecord {
	record := checkout.JobRecord{Job: r.domainJob, State: checkout.JobState(r.State), Attempts: r.Attempts, Progress: r.Cursor,
		SettledAt: Time(r.SettledMS), Receipt: r.Receipt, Failure: r.Failure}
	if record.State == checkout.JobPending {
		record.Due = Time(max(r.DueMS, r.LeasedUntilMS))
	}
	return record
}

// Lease returns the lease that follows the latest one of the row.
func (r Job) Lease(length time.Duration) checkout.Lease {
	return checkout.Lease{Job: r.domainJob, Token: r.Token + 1, Attempts: r.Attempts, Cursor: r.Cursor, For: length}
}

// Moment is a row of the table moments.
type Moment struct {
	ProviderCode, CheckoutID string
	moment                   checkout.Moment
}

// Fields returns the columns provider_code, checkout_id, id, position, at_ms, kind, actor, request_id, detail, times.
func (r *Moment) Fields() []any {
	m := &r.moment
	return []any{&r.ProviderCode, &r.CheckoutID, &m.ID, &m.Position, (*millis)(&m.At), (*string)(&m.Kind), (*string)(&m.Actor), &m.RequestID,
		&m.Detail, &m.Times}
}

// OfMoment returns the row of a moment of a checkout.
func OfMoment(provider, checkoutID string, m checkout.Moment) Moment {
	m.Times = max(m.Times, 1)
	return Moment{ProviderCode: provider, CheckoutID: checkoutID, moment: m}
}

// Moment returns the moment of the row.
func (r Moment) Moment() checkout.Moment { return r.moment }

// Act is a row of the table acts.
type Act struct {
	act checkout.Act
	parser
}

// Fields returns the columns provider_code, at_ms, id, operator, act, subject, reason, changes.
func (r *Act) Fields() []any {
	a := &r.act
	return []any{&a.ProviderCode, (*millis)(&a.At), &a.ID, &a.Operator, &a.Name, &a.Subject, &a.Reason, jsonList(&r.parser, &a.Changes)}
}

// OfAct returns the row of an act.
func OfAct(a checkout.Act) Act { return Act{act: a} }

// Record returns the act of the row.
func (r Act) Record() (checkout.Act, error) { return r.act, r.result("act", r.act.ID) }
