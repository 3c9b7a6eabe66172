package operate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/breaker"
	"github.com/provider-checkout/provider-checkout/checkout/service/delivery"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// MaxRedelivered is the most failed events that one call sends again.
	MaxRedelivered = 10_000
	// parallel is the number of checkouts whose events are sent at once.
	parallel = 16
)

// Redelivered is the result of the redelivery of one event.
type Redelivered struct {
	Event   events.Event
	Was     events.Status       // before
	Left    string              // why nothing was sent; "" if something was
	Outcome checkout.Redelivery // of what was sent
}

// redelivery sends events again at the operator's word, itself: whether a server runs or not, the operator sees the outcome. An
// event gets a run of attempts with its id and body and with a fresh timestamp and signature. Its result is on record beside the
// service's own attempts.
type redelivery struct {
	Operator
	sender func(catalogue.Environment) ports.Sender // for the providers of an environment
	each   func(Redelivered)

	mu   sync.Mutex
	sent []string // a line for each event that was sent
}

// Redeliver sends a failed or a delivered event again, and calls each with the result. ports.ErrNotFound if there is no such event.
func (o Operator) Redeliver(ctx context.Context, id string, sender func(catalogue.Environment) ports.Sender,
	each func(Redelivered)) error {
	list, err := o.Store.Jobs(ctx, checkout.JobFilter{ID: id, Kinds: []checkout.JobKind{checkout.JobDeliver}}, 1)
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		return fmt.Errorf("event %s: %w", id, ports.ErrNotFound)
	}
	if err := o.checkReasonFor(ctx, list[0].Job); err != nil {
		return err
	}
	r := redelivery{Operator: o, sender: sender, each: each}
	err = r.send(ctx, checkout.EventOf(list[0]), new(breaker.Breaker))
	return errors.Join(err, o.Record(ctx, evidence.Operation{Name: "events redeliver", Subject: id, Changes: r.sent}))
}

// RedeliverFailed sends again every event that failed since a time, of one provider or of all for "", each checkout's in their order,
// and calls each with every result, one at a time. Of a receiver that takes nothing the rest is left. It sends the oldest
// MaxRedelivered at most, and reports with more whether there may be others.
func (o Operator) RedeliverFailed(ctx context.Context, since time.Time, provider string, sender func(catalogue.Environment) ports.Sender,
	each func(Redelivered)) (more bool, err error) {
	list, err := o.Store.Jobs(ctx, checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}, State: checkout.JobDead,
		ProviderCode: provider, Since: since, OldestFirst: true}, MaxRedelivered)
	if err != nil {
		return false, err
	}
	var order []string
	ofCheckout := make(map[string][]checkout.EventRecord)
	receivers := make(map[string]*breaker.Breaker)
	for _, j := range list {
		id := j.Job.CheckoutID
		if ofCheckout[id] == nil {
			order = append(order, id)
		}
		ofCheckout[id] = append(ofCheckout[id], checkout.EventOf(j))
		receivers[j.Job.ProviderCode] = new(breaker.Breaker)
	}
	r := redelivery{Operator: o, sender: sender, each: each}
	failures := make([]error, len(order))
	var all sync.WaitGroup
	running := make(chan struct{}, parallel)
	for i, id := range order {
		running <- struct{}{}
		all.Go(func() {
			defer func() { <-running }()
			for _, e := range ofCheckout[id] {
				if ctx.Err() == nil {
					failures[i] = errors.Join(failures[i], r.send(ctx, e, receivers[e.Event.ProviderCode]))
				}
			}
		})
	}
	all.Wait()
	err = errors.Join(errors.Join(failures...), ctx.Err())
	subject := "failed since " + events.Timestamp(since)
	if provider != "" {
		subject += " of " + provider
	}
	err = errors.Join(err, o.Record(ctx, evidence.Operation{Name: "events redeliver", Subject: subject, Changes: r.sent}))
	return len(list) == MaxRedelivered, err
}

// send sends one event again, unless its status, its provider or its receiver forbids it, and stores the result.
func (r *redelivery) send(ctx context.Context, e checkout.EventRecord, receiver *breaker.Breaker) error {
	result := Redelivered{Event: e.Event, Was: e.Status}
	var stored error
	p, err := r.Store.Provider(ctx, e.Event.ProviderCode)
	switch {
	case e.Status == events.Pending:
		result.Left = "it is pending: a running server delivers it"
	case e.Status == events.NotConfigured:
		result.Left = "there was no destination when it happened: such an event is never sent"
	case receiver.Open():
		result.Left = "the provider's receiver takes nothing"
	case errors.Is(err, ports.ErrNotFound), err == nil && !p.Destination.Configured():
		result.Left = "the provider has no destination"
	case err != nil:
		result.Left, stored = "its provider cannot be read", fmt.Errorf("read provider %s: %w", e.Event.ProviderCode, err)
	default:
		result.Outcome = r.run(ctx, e.Event, p, receiver)
		stored = r.store(ctx, e.Event, result.Outcome)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if result.Left == "" { // it may have been sent although that could not be recorded
		word := "failed"
		if result.Outcome.Delivered {
			word = "delivered"
		}
		r.sent = append(r.sent, fmt.Sprintf("event %s: %s", e.Event.ID, word))
	}
	r.each(result)
	return stored
}

// run makes the attempts.
func (r *redelivery) run(ctx context.Context, e events.Event, p catalogue.Provider, receiver *breaker.Breaker) checkout.Redelivery {
	now := r.Now()
	secrets := p.Destination.Secrets(now)
	sent := delivery.Sign(e, secrets, now, r.Rand)
	sender := r.sender(p.Environment)
	outcome := delivery.Run{
		Secrets: secrets,
		Send: func(ctx context.Context, n int) (checkout.Answer, error) {
			answer, err := sender.Send(ctx, p.Destination, sent, n)
			receiver.Done(err == nil, r.Now())
			return answer, err
		},
		Failed: func(int, error) bool { return true },
		Now:    r.Now,
	}.Attempt(ctx)
	again := checkout.Redelivery{At: now, Delivered: outcome.State == checkout.JobDone, Attempts: outcome.Attempts,
		Failure: outcome.Failure.Reason, Log: outcome.Log}
	if outcome.State == checkout.JobPending && again.Failure == "" {
		again.Failure = "it was cut short"
	}
	return again
}

// store stores the result of a redelivery, also if ctx has ended.
func (r *redelivery) store(ctx context.Context, e events.Event, again checkout.Redelivery) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordLimit)
	defer cancel()
	m := checkout.Moment{At: again.At, Kind: checkout.MomentEventDelivered, Actor: checkout.OperatorActor(r.By),
		Detail: string(e.Name) + " " + e.ID, Times: 1}
	if !again.Delivered {
		m.Kind, m.Detail = checkout.MomentEventFailed, m.Detail+": "+again.Failure
	}
	return r.Store.RecordRedelivery(ctx, e, again, m)
}
