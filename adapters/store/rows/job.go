package rows

import (
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Job is a row of the table jobs. Its columns are provider_code, checkout_id, id, kind, position, request_id, name, body, try,
// created_ms, due_ms, state, again, token, leased_until_ms, attempts, cursor, failed_ms, failure, receipt, settled_ms. The column
// entered, the order in which jobs enter, is the store's own.
type Job struct {
	ProviderCode, CheckoutID, ID, Kind string
	Position                           int64
	RequestID, Name                    string
	Body                               []byte
	Try                                int64
	CreatedMS                          int64
	DueMS                              int64 // of the next attempt; 0: at once
	State                              string
	Again                              bool // armed since it was leased
	Token                              int64
	LeasedUntilMS                      int64 // 0 where the latest lease was settled or given back
	Attempts                           int64
	Cursor                             string
	FailedMS                           int64
	Failure, Receipt                   string
	SettledMS                          int64
}

// Fields returns pointers to the fields in the order of the columns.
func (r *Job) Fields() []any {
	return []any{&r.ProviderCode, &r.CheckoutID, &r.ID, &r.Kind, &r.Position, &r.RequestID, &r.Name, &r.Body, &r.Try, &r.CreatedMS,
		&r.DueMS, &r.State, &r.Again, &r.Token, &r.LeasedUntilMS, &r.Attempts, &r.Cursor, &r.FailedMS, &r.Failure, &r.Receipt, &r.SettledMS}
}

// OfJob returns the row of a job that enters at a time of the store's clock.
func OfJob(j checkout.Job, now time.Time) Job {
	r := Job{ProviderCode: j.ProviderCode, CheckoutID: j.CheckoutID, ID: j.ID, Kind: string(j.Kind), Position: j.Position,
		RequestID: j.RequestID, Name: j.Name, Body: filled(j.Body), Try: int64(j.Try), CreatedMS: Millis(j.CreatedAt),
		State: string(checkout.JobPending)}
	if !j.Due.IsZero() {
		r.DueMS = Millis(now.Add(j.Due.Sub(j.CreatedAt)))
	}
	if j.Unsent {
		r.State, r.SettledMS = string(checkout.JobDropped), Millis(now)
	}
	return r
}

// Job returns the job of the row, as it entered, but without Due.
func (r Job) Job() checkout.Job {
	return checkout.Job{ID: r.ID, Kind: checkout.JobKind(r.Kind), ProviderCode: r.ProviderCode, CheckoutID: r.CheckoutID,
		Position: r.Position, RequestID: r.RequestID, Name: r.Name, Body: bare(r.Body), Try: int(r.Try), CreatedAt: Time(r.CreatedMS)}
}

// Record returns the job of the row and its state.
func (r Job) Record() checkout.JobRecord {
	record := checkout.JobRecord{Job: r.Job(), State: checkout.JobState(r.State), Attempts: int(r.Attempts), Progress: r.Cursor,
		SettledAt: Time(r.SettledMS), Receipt: r.Receipt, Failure: checkout.Failure{At: Time(r.FailedMS), Reason: r.Failure}}
	if record.State == checkout.JobPending {
		record.Due = Time(max(r.DueMS, r.LeasedUntilMS))
	}
	return record
}

// Lease returns the lease that follows the latest one of the row.
func (r Job) Lease(length time.Duration) checkout.Lease {
	return checkout.Lease{Job: r.Job(), Token: r.Token + 1, Attempts: int(r.Attempts), Cursor: r.Cursor, For: length}
}

// Moment is a row of the table moments. Its columns are provider_code, checkout_id, id, position, at_ms, kind, actor, request_id,
// detail, times.
type Moment struct {
	ProviderCode, CheckoutID, ID   string
	Position, AtMS                 int64
	Kind, Actor, RequestID, Detail string
	Times                          int64
}

// Fields returns pointers to the fields in the order of the columns.
func (r *Moment) Fields() []any {
	return []any{&r.ProviderCode, &r.CheckoutID, &r.ID, &r.Position, &r.AtMS, &r.Kind, &r.Actor, &r.RequestID, &r.Detail, &r.Times}
}

// OfMoment returns the row of a moment of a checkout.
func OfMoment(provider, checkoutID string, m checkout.Moment) Moment {
	return Moment{ProviderCode: provider, CheckoutID: checkoutID, ID: m.ID, Position: m.Position, AtMS: Millis(m.At), Kind: string(m.Kind),
		Actor: string(m.Actor), RequestID: m.RequestID, Detail: m.Detail, Times: int64(max(m.Times, 1))}
}

// Moment returns the moment of the row.
func (r Moment) Moment() checkout.Moment {
	return checkout.Moment{ID: r.ID, Position: r.Position, At: Time(r.AtMS), Kind: checkout.MomentKind(r.Kind), Actor: checkout.Actor(r.Actor),
		RequestID: r.RequestID, Detail: r.Detail, Times: int(r.Times)}
}

// Act is a row of the table acts. Its columns are provider_code, at_ms, id, operator, act, subject, reason, changes.
type Act struct {
	ProviderCode                       string
	AtMS                               int64
	ID, Operator, Act, Subject, Reason string
	Changes                            string // JSON
}

// Fields returns pointers to the fields in the order of the columns.
func (r *Act) Fields() []any {
	return []any{&r.ProviderCode, &r.AtMS, &r.ID, &r.Operator, &r.Act, &r.Subject, &r.Reason, &r.Changes}
}

// OfAct returns the row of an act.
func OfAct(a checkout.Act) Act {
	return Act{ProviderCode: a.ProviderCode, AtMS: Millis(a.At), ID: a.ID, Operator: a.Operator, Act: a.Name, Subject: a.Subject,
		Reason: a.Reason, Changes: listText(a.Changes)}
}

// Record returns the act of the row.
func (r Act) Record() (checkout.Act, error) {
	var p parser
	a := checkout.Act{ID: r.ID, At: Time(r.AtMS), Operator: r.Operator, Name: r.Act, Subject: r.Subject, ProviderCode: r.ProviderCode,
		Reason: r.Reason}
	p.json(r.Changes, &a.Changes)
	return a, p.result("act", r.ID)
}
