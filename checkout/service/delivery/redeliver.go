package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/breaker"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// MaxRedelivered is the most failed events that one call sends again.
	MaxRedelivered = 10_000
	// parallel is the number of checkouts whose events are sent at once.
	parallel = 16
	// recordLimit is the time limit for recording a redelivery, also when ctx has ended.
	recordLimit = 10 * time.Second
)

var deliveries = []checkout.JobKind{checkout.JobDeliver}

// Redeliverer sends events again at the operator's word, itself: whether a server runs or not, the operator sees the outcome.
// A redelivery is a run of attempts with the event's id and body and with a fresh timestamp and signature. What it came to
// is on record beside the service's own attempts: record is the only place that does so.
type Redeliverer struct {
	Store interface {
		ports.Deliveries
		ports.Queue
		ports.Configuration
	}
	Operator string                                   // who has them sent
	Sender   func(catalogue.Environment) ports.Sender // for the providers of an environment
	Now      func() time.Time
}

// Result is the result of the redelivery of one event.
type Result struct {
	Event   events.Event
	Was     events.Status       // before
	Left    string              // why nothing was sent; "" if something was
	Outcome checkout.Redelivery // of what was sent
}

// One sends a failed or a delivered event again. ErrNotFound if there is no such event.
func (r Redeliverer) One(ctx context.Context, id string) (Result, error) {
	list, err := r.Store.Jobs(ctx, checkout.JobFilter{ID: id, Kinds: deliveries}, 1)
	switch {
	case err != nil:
		return Result{}, err
	case len(list) == 0:
		return Result{}, fmt.Errorf("event %s: %w", id, ports.ErrNotFound)
	}
	return r.send(ctx, checkout.EventOf(list[0]), new(breaker.Breaker))
}

// Failed sends again every event that failed since a time, of one provider or of all where that is "", each checkout's in
// their order, and calls each with every result, one at a time. Of a receiver that takes nothing the rest is left. It
// sends the oldest MaxRedelivered at most, and reports with more whether there may be others.
func (r Redeliverer) Failed(ctx context.Context, since time.Time, provider string, each func(Result)) (more bool, err error) {
	list, err := r.Store.Jobs(ctx,
		checkout.JobFilter{Kinds: deliveries, State: checkout.JobDead, ProviderCode: provider, Since: since, OldestFirst: true}, MaxRedelivered)
	if err != nil {
		return false, err
	}
	var order []string
	ofCheckout := make(map[string][]checkout.EventRecord)
	receivers := make(map[string]*breaker.Breaker)
	for _, j := range list {
		e := checkout.EventOf(j)
		id := e.Event.CheckoutID
		if ofCheckout[id] == nil {
			order = append(order, id)
		}
		ofCheckout[id] = append(ofCheckout[id], e)
		receivers[e.Event.ProviderCode] = new(breaker.Breaker)
	}
	var (
		mu      sync.Mutex
		failure error
		all     sync.WaitGroup
		running = make(chan struct{}, parallel)
	)
	for _, id := range order {
		running <- struct{}{}
		all.Go(func() {
			defer func() { <-running }()
			for _, e := range ofCheckout[id] {
				if ctx.Err() != nil {
					return
				}
				result, err := r.send(ctx, e, receivers[e.Event.ProviderCode])
				mu.Lock()
				failure = errors.Join(failure, err)
				each(result)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return len(list) == MaxRedelivered, errors.Join(failure, ctx.Err())
}

// send sends one event again, unless its status, its provider or its receiver forbids it.
func (r Redeliverer) send(ctx context.Context, e checkout.EventRecord, receiver *breaker.Breaker) (Result, error) {
	result := Result{Event: e.Event, Was: e.Status}
	switch {
	case e.Status == events.Pending:
		result.Left = "it is pending: a running server delivers it"
	case e.Status == events.NotConfigured:
		result.Left = "there was no destination when it happened: such an event is never sent"
	case receiver.Open():
		result.Left = "the provider's receiver takes nothing"
	}
	if result.Left != "" {
		return result, nil
	}
	p, err := r.Store.Provider(ctx, e.Event.ProviderCode)
	switch {
	case errors.Is(err, ports.ErrNotFound), err == nil && !p.Destination.Configured():
		result.Left = "the provider has no destination"
		return result, nil
	case err != nil:
		return result, fmt.Errorf("read provider %s: %w", e.Event.ProviderCode, err)
	}
	result.Outcome = r.run(ctx, e.Event, p, receiver)
	return result, r.record(ctx, e.Event, result.Outcome)
}

// run makes the attempts.
func (r Redeliverer) run(ctx context.Context, e events.Event, p catalogue.Provider, receiver *breaker.Breaker) checkout.Redelivery {
	now := r.Now()
	secrets := p.Destination.Secrets(now)
	sent := events.NewDelivery(e, secrets[0], now, secrets[1:]...)
	sender := r.Sender(p.Environment)
	outcome := Run{
		Send: func(ctx context.Context, n int) error {
			err := sender.Send(ctx, p.Destination, sent, n)
			receiver.Done(err == nil, r.Now())
			return err
		},
		Failed: func(int, error) bool { return true },
		Now:    r.Now,
	}.Attempt(ctx)
	again := checkout.Redelivery{At: now, Delivered: outcome.State == checkout.JobDone, Attempts: outcome.Attempts,
		Failure: outcome.Failure.Reason}
	if outcome.State == checkout.JobPending && again.Failure == "" {
		again.Failure = "it was cut short"
	}
	return again
}

// record stores what a redelivery came to.
func (r Redeliverer) record(ctx context.Context, e events.Event, again checkout.Redelivery) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordLimit)
	defer cancel()
	m := checkout.Moment{At: again.At, Kind: checkout.MomentEventDelivered, Actor: checkout.OperatorActor(r.Operator),
		Detail: string(e.Name) + " " + e.ID, Times: 1}
	if !again.Delivered {
		m.Kind, m.Detail = checkout.MomentEventFailed, m.Detail+": "+again.Failure
	}
	return r.Store.RecordRedelivery(ctx, e, again, m)
}
