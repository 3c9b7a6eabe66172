package operate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// MaxRedelivered is the most failed events that one call has sent again.
const MaxRedelivered = 10_000

// ErrNeverSent: there was no destination when the event happened.
var ErrNeverSent = errors.New("there was no destination when the event happened: such an event is never sent")

// Redeliver has a failed or a delivered event sent again, by a job that a running server attempts. The error is ports.ErrNotFound,
// ErrNoDestination or ErrNeverSent; or checkout.ErrPending, with the event's own job, if the event is being sent or a redelivery waits.
func (o Operator) Redeliver(ctx context.Context, id string) (checkout.Job, error) {
	list, err := o.Store.Jobs(ctx, checkout.JobFilter{ID: id, Kinds: []checkout.JobKind{checkout.JobDeliver}}, 1)
	switch {
	case err != nil:
		return checkout.Job{}, err
	case len(list) == 0:
		return checkout.Job{}, fmt.Errorf("event %s: %w", id, ports.ErrNotFound)
	}
	event := list[0].Job
	if err := o.checkReasonFor(ctx, event); err != nil {
		return event, err
	}
	p, err := o.Store.Provider(ctx, event.ProviderCode)
	switch status := list[0].State.EventStatus(); {
	case err != nil && !errors.Is(err, ports.ErrNotFound):
		return event, fmt.Errorf("read provider %s: %w", event.ProviderCode, err)
	case status == events.NotConfigured:
		return event, ErrNeverSent
	case status == events.Pending:
		return event, checkout.ErrPending
	case !p.Destination.Configured():
		return event, ErrNoDestination
	}
	jobs, err := o.sendAgain(ctx, id, list)
	if err == nil && len(jobs) == 0 {
		err = checkout.ErrPending
	}
	if err != nil {
		return event, err
	}
	return jobs[0], nil
}

// RedeliverFailed has every event sent again that failed since a time, of one provider or of all for "", each checkout's in their
// order, and returns the jobs that do it. Events of which a redelivery waits are left out. It takes the oldest MaxRedelivered at most,
// and reports with more whether there may be others. The error may be ErrNoDestination, for the events of some providers alone.
func (o Operator) RedeliverFailed(ctx context.Context, since time.Time, provider string) (jobs []checkout.Job, more bool, err error) {
	list, err := o.Store.Jobs(ctx, checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}, State: checkout.JobDead,
		ProviderCode: provider, Since: since, OldestFirst: true}, MaxRedelivered)
	if err != nil {
		return nil, false, err
	}
	more = len(list) == MaxRedelivered
	providers, err := o.Store.Providers(ctx)
	if err != nil {
		return nil, more, err
	}
	configured, left := map[string]bool{}, map[string]int{}
	for _, p := range providers {
		configured[p.Code] = p.Destination.Configured()
	}
	list = slices.DeleteFunc(list, func(e checkout.JobRecord) bool {
		if !configured[e.Job.ProviderCode] {
			left[e.Job.ProviderCode]++
		}
		return !configured[e.Job.ProviderCode]
	})
	subject := "failed since " + events.Timestamp(since)
	if provider != "" {
		subject += " of " + provider
	}
	for part := range slices.Chunk(list, MaxChanges) { // each with its record in one commit
		enqueued, err := o.sendAgain(ctx, subject, part)
		if err != nil {
			return jobs, more, err
		}
		jobs = append(jobs, enqueued...)
	}
	for _, code := range slices.Sorted(maps.Keys(left)) {
		err = errors.Join(err, fmt.Errorf("%d failed events of %s are not sent: %w", left[code], code, ErrNoDestination))
	}
	return jobs, more, err
}

// sendAgain enqueues a redelivery of each event, unless one waits, with the record of the operation.
func (o Operator) sendAgain(ctx context.Context, subject string, list []checkout.JobRecord) (jobs []checkout.Job, err error) {
	op := evidence.Operation{Name: string(ActRedeliver), Subject: subject}
	for _, event := range list {
		again, waits, err := o.nextRedelivery(ctx, event)
		switch {
		case err != nil:
			return nil, err
		case !waits:
			jobs, op.Changes = append(jobs, again), append(op.Changes, "event "+event.Job.ID+": to be sent again")
		}
	}
	if len(jobs) == 0 {
		return nil, nil
	}
	entry, err := o.entry(op, o.now())
	if err != nil {
		return nil, err
	}
	return o.Store.Enqueue(ctx, jobs, &entry)
}

// nextRedelivery returns the operators' next redelivery of an event, or reports that one waits. They are numbered, so that two
// operators at once enqueue one.
func (o Operator) nextRedelivery(ctx context.Context, event checkout.JobRecord) (again checkout.Job, waits bool, err error) {
	for n := 0; ; n++ {
		again = checkout.SendNow(event.Job.Event(), checkout.OperatorActor(o.By), strconv.Itoa(n), "", o.now())
		found, err := o.Store.Jobs(ctx, checkout.JobFilter{ID: again.ID, CheckoutID: again.CheckoutID}, 1)
		if err != nil || len(found) == 0 || found[0].State == checkout.JobPending {
			return again, len(found) > 0, err
		}
	}
}
