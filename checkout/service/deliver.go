package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service/delivery"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// leaseDuration is how long an event is leased.
	leaseDuration = 10 * time.Second
	// runLimit is more than a run of attempts takes: three of two seconds and the delays between them.
	runLimit = 8 * time.Second
	// deliverLimit is how long a request waits for its events, including earlier ones that others deliver.
	deliverLimit = 35 * time.Second
	// waitStep is how often a request checks whether an earlier event of its checkout is settled.
	waitStep = 100 * time.Millisecond

	// A provider's events have this many delivery runs at once, and others' none the less. A request waits for one no longer
	// than slotLimit: recovery has time.
	slotsOfProvider = 64
	slotLimit       = time.Second
)

// deliver sends the events of a change that a request committed, before the request is answered. Events that it
// cannot finish stay in the outbox for recovery, and so do those of a provider whose slots are all taken: its receiver is
// slow, or it has many events at once, and neither is a failure.
func (s *Service) deliver(ctx context.Context, provider catalogue.Provider, committed []events.Event) {
	if s.countUnsent(provider, committed) {
		return
	}
	ctx, cancel := detached(ctx, deliverLimit)
	defer cancel()
	d := deliverer{Service: s, checkoutID: committed[0].CheckoutID, leases: make(map[string]int64)}
	for _, e := range committed {
		d.leases[e.ID] = 1 // as ports.Enqueue says
	}
	err := d.deliverLeased(ctx)
	if err == nil {
		return
	}
	severity := Error
	if errors.Is(err, errStopping) {
		severity = Warning
	}
	s.report(ctx, Failure{Operation: OperationDeliver, Severity: severity, CheckoutID: d.checkoutID, Err: err})
}

// countUnsent counts the events of a provider that has no destination, and reports whether it has none.
func (s *Service) countUnsent(provider catalogue.Provider, committed []events.Event) bool {
	if provider.Destination.Configured() {
		return false
	}
	for range committed {
		s.countSettled(events.NotConfigured)
	}
	return true
}

// deliverer delivers the pending events of one checkout, each when those before it are settled.
type deliverer struct {
	*Service
	checkoutID string
	leases     map[string]int64 // event id to the epoch of our lease
	// recovering is set for what a request left behind: it waits for a slot as long as it takes, and is cut short when the
	// receiver is to be left alone. A request makes its three attempts whatever the receiver did before.
	recovering bool
}

var (
	// errLeased: another process, or another request, has the lease of the event.
	errLeased = errors.New("the event is leased to another")
	// errStopping: a run was cut short because the service stops.
	errStopping = errors.New("the service stops; the next process goes on")
	// errNoSlot: all slots of the provider were taken for slotLimit, or the sender had no room.
	errNoSlot = errors.New("the provider's events wait for each other")
	// errUnanswered: a run of recovery was cut short because the receiver is left alone.
	errUnanswered = errors.New("the receiver takes nothing")
)

// deliverLeased delivers until no event of ours is pending. It waits for earlier events that others have leased, unless
// the service is stopping: then their deliverer may have stopped too.
func (d deliverer) deliverLeased(ctx context.Context) (err error) {
	defer recovered(&err)
	for {
		pending, err := d.pending(ctx)
		if err != nil || !slices.ContainsFunc(pending, d.holds) {
			return err
		}
		err = d.deliverOne(ctx, pending[0])
		if errors.Is(err, errLeased) {
			if err = errStopping; !d.stopping.Load() {
				err = pause(ctx, waitStep)
			}
		}
		switch {
		case errors.Is(err, errNoSlot):
			return d.release(ctx, pending)
		case errors.Is(err, errStopping):
			return errors.Join(err, d.release(ctx, pending))
		case err != nil:
			return err
		}
	}
}

func (d deliverer) pending(ctx context.Context) ([]ports.PendingEvent, error) {
	pending, err := d.cfg.Store.PendingEvents(ctx, d.checkoutID)
	if err != nil {
		return nil, fmt.Errorf("list the pending events: %w", err)
	}
	return pending, nil
}

// release gives up the leases of our events, so that another process may take them over at once.
func (d deliverer) release(ctx context.Context, pending []ports.PendingEvent) error {
	var failed error
	for _, e := range pending {
		epoch, ours := d.leases[e.Event.ID]
		if !ours {
			continue
		}
		_, err := d.cfg.Store.LeaseEvent(ctx, e.Event.ID, epoch, d.now())
		if err != nil && !errors.Is(err, ports.ErrNotFound) {
			failed = errors.Join(failed, fmt.Errorf("give up event %s: %w", e.Event.ID, err))
		}
	}
	return failed
}

// deliverExpired delivers until no event is pending, the next one is leased to another, or the receiver is to be left alone.
func (d deliverer) deliverExpired(ctx context.Context) (err error) {
	defer recovered(&err)
	for {
		pending, err := d.pending(ctx)
		if err != nil || len(pending) == 0 {
			return err
		}
		switch err := d.deliverOne(ctx, pending[0]); {
		case errors.Is(err, errLeased), errors.Is(err, errNoSlot), errors.Is(err, errUnanswered):
			return nil
		case err != nil:
			return err
		}
		d.cfg.Count(OutcomeRecovery)
	}
}

// deliverOne makes a run of attempts at one event and records what it came to.
func (d deliverer) deliverOne(ctx context.Context, e ports.PendingEvent) error {
	if !d.holds(e) && d.now().Before(e.Until) {
		return errLeased
	}
	leave, err := d.slot(ctx, e.Event.ProviderCode)
	if err != nil {
		return err
	}
	defer leave()
	epoch, until, err := d.lease(ctx, e)
	if err != nil {
		return err
	}
	// A run ends with the lease, so that no two processes send at once.
	running, cancel := context.WithTimeout(ctx, until.Sub(d.now()))
	defer cancel()
	outcome, cut, err := d.run(running, e)
	if err != nil {
		return err
	}
	err = d.settle(ctx, e.Event, epoch, outcome)
	if errors.Is(cut, errStopping) && !errors.Is(err, errLeased) {
		return errors.Join(cut, err)
	}
	return cmp.Or(err, cut)
}

// slot waits for a slot of the provider. leave must be called if err is nil.
func (d deliverer) slot(ctx context.Context, provider string) (leave func(), err error) {
	if d.recovering {
		return d.slots.lock(ctx, provider)
	}
	limited, cancel := context.WithTimeout(ctx, slotLimit)
	defer cancel()
	leave, err = d.slots.lock(limited, provider)
	if err != nil && ctx.Err() == nil {
		return nil, errNoSlot
	}
	return leave, err
}

// holds reports whether we have the lease of the event.
func (d deliverer) holds(e ports.PendingEvent) bool { return d.leases[e.Event.ID] == e.Epoch }

// lease ensures that we have the lease for at least as long as a run takes, and returns its epoch and when it ends.
func (d deliverer) lease(ctx context.Context, e ports.PendingEvent) (epoch int64, until time.Time, err error) {
	now := d.now()
	if d.holds(e) && e.Until.Sub(now) >= runLimit {
		return e.Epoch, e.Until, nil
	}
	until = now.Add(leaseDuration)
	epoch, err = d.cfg.Store.LeaseEvent(ctx, e.Event.ID, e.Epoch, until)
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return 0, until, errLeased
	case err != nil:
		return 0, until, fmt.Errorf("lease event %s: %w", e.Event.ID, err)
	}
	d.leases[e.Event.ID] = epoch
	return epoch, until, nil
}

// settle records what a run came to. It does so too when the time for the run is over: attempts that were made are on record.
func (d deliverer) settle(ctx context.Context, e events.Event, epoch int64, outcome ports.Settlement) error {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = detached(ctx, settleLimit)
		defer cancel()
	}
	delete(d.leases, e.ID) // it is settled, or the lease ends with this run
	err := d.cfg.Store.SettleEvent(ctx, e.ID, epoch, outcome)
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return errLeased // the holder of the lease settles it
	case err != nil:
		return fmt.Errorf("settle event %s: %w", e.ID, err)
	}
	d.countSettled(outcome.Status)
	if outcome.Status == events.Failed {
		d.report(ctx, Failure{Operation: OperationGiveUp, Severity: Error, CheckoutID: d.checkoutID, EventID: e.ID,
			Err: givenUp(e, outcome)})
	}
	return nil
}

// givenUp says that an event is not sent any more, and why.
func givenUp(e events.Event, outcome ports.Settlement) error {
	if outcome.Attempts == 0 {
		return fmt.Errorf("event %s is not sent: %s", e.Name, outcome.Failure.Reason)
	}
	return fmt.Errorf("event %s failed %d times", e.Name, outcome.Attempts)
}

// run makes one run of attempts (section 6), and says with cut why it ended before the event was delivered or had failed.
func (d deliverer) run(ctx context.Context, e ports.PendingEvent) (outcome ports.Settlement, cut, err error) {
	provider, err := found(d.configured.provider(ctx, d.now(), e.Event.ProviderCode))
	switch {
	case err != nil:
		return outcome, nil, fmt.Errorf("read the destination of %s: %w", e.Event.ProviderCode, err)
	case provider == nil, !provider.Destination.Configured():
		d.receivers.Delete(e.Event.ProviderCode) // there is none to leave alone
		return ports.Settlement{Status: events.NotConfigured}, nil, nil
	}
	now := d.now()
	secrets := provider.Destination.Secrets(now)
	sent := events.NewDelivery(e.Event, secrets[0], now, secrets[1:]...)
	receiver := d.receiver(provider.Code)
	cut = errNoSlot
	outcome = delivery.Run{
		Made: e.Attempts,
		Now:  d.now,
		Send: func(ctx context.Context, n int) error {
			err := d.send(ctx, provider.Destination, sent, n)
			d.note(ctx, provider.Code, receiver, err)
			return err
		},
		Failed: func(n int, err error) bool {
			d.report(ctx, Failure{Operation: OperationSend, Severity: Warning, CheckoutID: e.Event.CheckoutID, EventID: e.Event.ID,
				Attempt: n, Err: err})
			switch {
			case d.stopping.Load():
				cut = errStopping
			case d.recovering && receiver.Open():
				cut = errUnanswered
			default:
				return true
			}
			return false
		},
	}.Attempt(ctx)
	switch {
	case outcome.Status != events.Pending:
		cut = nil
	case ctx.Err() != nil:
		cut = ctx.Err()
	}
	return outcome, cut, nil
}

// send makes one attempt. A sender that panics has failed.
func (d deliverer) send(ctx context.Context, to catalogue.Destination, sent events.Delivery, attempt int) (err error) {
	defer recovered(&err)
	return d.cfg.Sender.Send(ctx, to, sent, attempt)
}
