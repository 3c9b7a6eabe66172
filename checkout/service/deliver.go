package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/delivery"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// runLimit is more than a run of attempts takes: three of two seconds and the delays between them.
	runLimit = 8 * time.Second
	// callLimit limits the wait of a request for the attempts at its events.
	callLimit = 2500 * time.Millisecond
	// deliverLimit limits the attempts at the events of a request, and the wait for earlier events that another process delivers.
	deliverLimit = 35 * time.Second
	// waitStep is the pause between two checks of a request whether an earlier event of its checkout is settled.
	waitStep = 100 * time.Millisecond

	// slotsOfProvider is the number of delivery runs at once of each provider's events. A request waits for a slot no longer than
	// slotLimit: the scheduler has time.
	slotsOfProvider = 64
	slotLimit       = time.Second
)

var (
	// errStopping: a run was cut short because the service stops.
	errStopping = errors.New("the service stops; the next process goes on")
	// errLeft: all slots of the provider were taken for slotLimit, or the sender had no room.
	errLeft = errors.New("the event is left to the scheduler")
)

// deliver sends the events of a change that a request committed and holds, before the request is answered. After callLimit, the
// attempts that are left go on in the background: the workers of a site that wait for answers may be all that
// it has to take events. Events that cannot be finished stay in the queue for the scheduler, and so do the events of a provider
// whose slots are all taken: its receiver is slow, or it has many events at once, and neither is a failure.
func (s *Service) deliver(ctx context.Context, held heldChange) {
	if len(held.Events) == 0 || s.countUnsent(held) {
		return
	}
	sending, cancel := detached(ctx, deliverLimit)
	sent := make(chan struct{})
	s.sending.add(1)
	go func() {
		defer s.sending.add(-1)
		defer close(sent)
		defer cancel()
		s.deliverChange(sending, held)
	}()
	waiting, stop := detached(ctx, callLimit)
	defer stop()
	select {
	case <-sent:
	case <-waiting.Done():
	}
}

// deliverChange sends the events of a change that this process holds.
func (s *Service) deliverChange(ctx context.Context, held heldChange) {
	d := deliverer{Service: s}
	for _, e := range held.Events {
		d.held = append(d.held, checkout.Lease{Job: checkout.DeliveryOf(e), Token: 1, Until: held.until})
	}
	err := d.deliverHeld(ctx)
	if err == nil {
		return
	}
	severity := Error
	if errors.Is(err, errStopping) {
		severity = Warning
	}
	s.report(ctx, Failure{Operation: OperationDeliver, Severity: severity, About: held.Next.About(), Err: err})
}

// countUnsent reports whether the provider has no destination, and counts its events then.
func (s *Service) countUnsent(held heldChange) bool {
	if held.provider.Destination.Configured() {
		return false
	}
	for range held.Events {
		s.cfg.Count(CountNotConfigured, held.provider.Code)
	}
	return true
}

// deliverLater delivers an event that a request left behind. An event that it cannot finish now stays in the queue.
func (s *Service) deliverLater(ctx context.Context, l checkout.Lease) error {
	d := deliverer{Service: s, scheduled: true}
	switch err := d.deliverOne(ctx, &l); {
	case errors.Is(err, ports.ErrNotFound), errors.Is(err, errLeft), errors.Is(err, errStopping):
		return nil
	case err != nil:
		return err
	}
	s.cfg.Count(CountRecovery, l.Job.ProviderCode)
	return nil
}

// deliverer delivers events of one checkout, each when the earlier events are settled.
type deliverer struct {
	*Service
	held []checkout.Lease // in the order of their delivery
	// scheduled is set for what a request left behind: it waits for a slot as long as it takes.
	scheduled bool
}

// deliverHeld delivers the events that are held, after any earlier events of the checkout.
func (d *deliverer) deliverHeld(ctx context.Context) (err error) {
	defer recovered(&err)
	if d.held[0].Job.Name != string(events.CheckoutCreated) { // which is the first of every checkout
		err = d.awaitEarlier(ctx)
	}
	for len(d.held) > 0 && err == nil {
		switch err = d.deliverOne(ctx, &d.held[0]); {
		case errors.Is(err, ports.ErrNotFound): // another process has it, and those behind it wait until it is settled
			err = nil
			if d.held = d.held[1:]; len(d.held) > 0 {
				err = d.awaitEarlier(ctx)
			}
		case err == nil:
			d.held = d.held[1:]
		}
	}
	switch {
	case errors.Is(err, errLeft):
		return d.release(ctx)
	case errors.Is(err, errStopping):
		return errors.Join(err, d.release(ctx))
	}
	return err
}

// awaitEarlier returns when every event of the checkout before the events held is settled. It delivers events without a lease, and
// waits for events that another process delivers, unless the service is stopping: then their deliverer may have stopped too.
func (d *deliverer) awaitEarlier(ctx context.Context) error {
	kinds := []checkout.JobKind{checkout.JobDeliver}
	for {
		ours := d.held[0].Job // another process may have taken over the event that was first
		pending, err := d.cfg.Store.Jobs(ctx,
			checkout.JobFilter{Kinds: kinds, State: checkout.JobPending, CheckoutID: ours.CheckoutID, OldestFirst: true}, 1)
		switch {
		case err != nil:
			return fmt.Errorf("list the pending events: %w", err)
		case len(pending) == 0 || pending[0].Job.ID == ours.ID:
			return nil
		}
		leases, err := d.lease(ctx, checkout.JobQuery{Kinds: kinds, CheckoutID: ours.CheckoutID, ID: pending[0].Job.ID, Limit: 1})
		switch {
		case err != nil:
			return err
		case len(leases) == 1:
			err = d.deliverOne(ctx, &leases[0])
		case d.stopping.Load():
			err = errStopping
		default:
			err = sleep(ctx, waitStep)
		}
		if err != nil && !errors.Is(err, ports.ErrNotFound) {
			return err
		}
		if err := d.keepHeld(ctx); err != nil {
			return err
		}
	}
}

// keepHeld extends the leases of the events held that are about to end, and drops lost leases.
func (d *deliverer) keepHeld(ctx context.Context) error {
	kept := d.held[:0]
	for _, l := range d.held {
		switch err := d.ensure(ctx, &l); {
		case errors.Is(err, ports.ErrNotFound):
		case err != nil:
			return err
		default:
			kept = append(kept, l)
		}
	}
	if d.held = kept; len(kept) == 0 {
		return errLeft // others deliver them
	}
	return nil
}

// release gives up the events held, so that another process may take them over at once.
func (d *deliverer) release(ctx context.Context) error {
	var failed error
	for _, l := range d.held {
		if err := d.extend(context.WithoutCancel(ctx), l, 0); err != nil && !errors.Is(err, ports.ErrNotFound) {
			failed = errors.Join(failed, fmt.Errorf("give up event %s: %w", l.Job.ID, err))
		}
	}
	return failed
}

// deliverOne makes a run of attempts at one event and settles it.
func (d *deliverer) deliverOne(ctx context.Context, l *checkout.Lease) error {
	leave, err := d.slot(ctx, l.Job.ProviderCode)
	if err != nil {
		return err
	}
	defer leave()
	if err := d.ensure(ctx, l); err != nil {
		return err
	}
	// A run ends with the lease, so that no two processes send at once.
	running, cancel := context.WithTimeout(ctx, l.Until.Sub(d.now()))
	defer cancel()
	outcome, cut, err := d.run(running, *l)
	if err != nil {
		return err
	}
	err = d.settleEvent(ctx, *l, outcome)
	if errors.Is(cut, errStopping) && !errors.Is(err, ports.ErrNotFound) {
		return errors.Join(cut, err)
	}
	return cmp.Or(err, cut)
}

// slot waits for a slot of the provider. leave must be called if err is nil.
func (d *deliverer) slot(ctx context.Context, provider string) (leave func(), err error) {
	waiting := ctx
	if !d.scheduled {
		limited, cancel := context.WithTimeout(ctx, slotLimit)
		defer cancel()
		waiting = limited
	}
	leave, _, err = d.slots.lock(waiting, provider)
	if err != nil && ctx.Err() == nil {
		return nil, errLeft
	}
	return leave, err
}

// ensure has the lease last for at least as long as a run takes.
func (d *deliverer) ensure(ctx context.Context, l *checkout.Lease) error {
	now := d.now()
	if l.Until.Sub(now) >= runLimit {
		return nil
	}
	if err := d.extend(ctx, *l, holdLimit); err != nil {
		return fmt.Errorf("extend the lease of event %s: %w", l.Job.ID, err)
	}
	l.Until = now.Add(holdLimit)
	return nil
}

// settleEvent records the outcome of a run, also when the time for the run is over: attempts that were made are on record.
func (d *deliverer) settleEvent(ctx context.Context, l checkout.Lease, outcome checkout.Outcome) error {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = detached(ctx, settleLimit)
		defer cancel()
	}
	if err := d.settleSent(ctx, l, outcome); err != nil {
		return err
	}
	if outcome.State == checkout.JobDead {
		err := fmt.Errorf("event %s failed %d times", l.Job.Name, outcome.Attempts)
		if outcome.Attempts == 0 {
			err = fmt.Errorf("event %s is not sent: %s", l.Job.Name, outcome.Failure.Reason)
		}
		d.report(ctx, Failure{Operation: OperationGiveUp, Severity: Error, About: l.Job.About(), EventID: l.Job.ID, Err: err})
	}
	return nil
}

// settleSent settles an attempt at an event or a notice, and counts it. Its end is a moment of the checkout.
func (s *Service) settleSent(ctx context.Context, l checkout.Lease, o checkout.Outcome) error {
	type ending struct {
		counted Count
		moment  checkout.MomentKind
	}
	endings := map[checkout.JobKind]map[checkout.JobState]ending{
		checkout.JobDeliver: {checkout.JobDone: {CountDelivered, checkout.MomentEventDelivered},
			checkout.JobDead: {CountFailed, checkout.MomentEventFailed}, checkout.JobDropped: {CountNotConfigured, ""}},
		checkout.JobNotify: {checkout.JobDone: {CountNoticeSent, checkout.MomentNoticeSent},
			checkout.JobPending: {CountNoticePutOff, ""}, checkout.JobDead: {CountNoticeFailed, checkout.MomentNoticeFailed},
			checkout.JobDropped: {CountNoticeDropped, ""}},
	}
	j := l.Job
	end := endings[j.Kind][o.State]
	if end.moment != "" && j.CheckoutID != "" {
		m := checkout.Moment{At: s.now(), Kind: end.moment, Actor: checkout.ActorService, RequestID: j.RequestID, Detail: j.Name, Times: 1}
		if j.Kind != checkout.JobNotify {
			m.Detail += " " + j.ID
		}
		if m.Kind == checkout.MomentEventFailed {
			m.Detail += ": " + o.Failure.Reason
		}
		o.Moments = []checkout.Moment{m}
	}
	if _, err := s.settle(ctx, l, o, checkout.JobEntry{Now: s.now()}, nil); err != nil {
		return err
	}
	if end.counted != "" {
		s.cfg.Count(end.counted, j.ProviderCode)
	}
	return nil
}

// run makes one run of attempts (section 6). With cut it says why it ended before the event was delivered or had failed.
func (d *deliverer) run(ctx context.Context, l checkout.Lease) (outcome checkout.Outcome, cut, err error) {
	e := l.Job.Event()
	provider, err := d.providerOf(ctx, e.ProviderCode)
	switch {
	case err != nil:
		return outcome, nil, err
	case !provider.Destination.Configured():
		return checkout.Outcome{State: checkout.JobDropped}, nil, nil
	}
	sent := events.NewDelivery(e, provider.Destination.Secret, d.now())
	outcome = delivery.Run{
		Made: l.Attempts % events.MaxAttempts, // an event that failed has its attempts once more
		Now:  d.now,
		Send: func(ctx context.Context, n int) error {
			return within(ctx, runLimit, func(ctx context.Context) error {
				return d.cfg.Sender.Send(ctx, provider.Destination, sent, n)
			})
		},
		Failed: func(n int, err error) bool {
			d.report(ctx, Failure{Operation: OperationSend, Severity: Warning, About: l.Job.About(), EventID: e.ID, Attempt: n, Err: err})
			if d.stopping.Load() {
				cut = errStopping
			}
			return cut == nil
		},
	}.Attempt(ctx)
	switch {
	case outcome.State != checkout.JobPending:
		cut = nil
	case ctx.Err() != nil:
		cut = ctx.Err()
	case cut == nil: // the sender had no room, and the events behind this one wait
		cut = errLeft
	}
	return outcome, cut, nil
}
