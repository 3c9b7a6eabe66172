package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
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
)

// deliver sends the events of a change that a request committed, before the request is answered. Events that it
// cannot finish stay in the outbox for recovery.
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
}

var (
	// errLeased: another process, or another request, has the lease of the event.
	errLeased = errors.New("the event is leased to another")
	// errStopping: a run was cut short because the service stops.
	errStopping = errors.New("the service stops; the next process goes on")
)

// deliverLeased delivers until no event of ours is pending. It waits for earlier events that others have leased, unless
// the service is stopping: then their deliverer may have stopped too.
func (d deliverer) deliverLeased(ctx context.Context) (err error) {
	defer recovered(&err)
	for {
		pending, err := d.pending(ctx)
		ours := func(e ports.PendingEvent) bool { return d.leases[e.Event.ID] == e.Epoch }
		if err != nil || !slices.ContainsFunc(pending, ours) {
			return err
		}
		err = d.deliverOne(ctx, pending[0])
		if errors.Is(err, errLeased) {
			if err = errStopping; !d.stopping.Load() {
				err = pause(ctx, waitStep)
			}
		}
		if errors.Is(err, errStopping) {
			return errors.Join(err, d.release(ctx, pending))
		}
		if err != nil {
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

// deliverExpired delivers until no event is pending, or the next one is leased to another.
func (d deliverer) deliverExpired(ctx context.Context) (err error) {
	defer recovered(&err)
	for {
		pending, err := d.pending(ctx)
		if err != nil || len(pending) == 0 {
			return err
		}
		switch err := d.deliverOne(ctx, pending[0]); {
		case errors.Is(err, errLeased):
			return nil
		case err != nil:
			return err
		}
		d.cfg.Count(OutcomeRecovery)
	}
}

// deliverOne delivers one event and records the outcome.
func (d deliverer) deliverOne(ctx context.Context, e ports.PendingEvent) error {
	epoch, until, err := d.lease(ctx, e)
	if err != nil {
		return err
	}
	// A run ends with the lease, so that no two processes send at once.
	running, cancel := context.WithTimeout(ctx, until.Sub(d.now()))
	defer cancel()
	status, attempts, err := d.run(running, e.Event)
	if err != nil {
		return err
	}
	err = d.cfg.Store.SettleEvent(ctx, e.Event.ID, epoch, ports.Settlement{Status: status, Attempts: attempts})
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return errLeased // the holder of the lease settles it
	case err != nil:
		return fmt.Errorf("settle event %s: %w", e.Event.ID, err)
	}
	d.countSettled(status)
	if status == events.Failed {
		d.report(ctx, Failure{Operation: OperationGiveUp, Severity: Error, CheckoutID: d.checkoutID, EventID: e.Event.ID,
			Err: fmt.Errorf("event %s failed %d times", e.Event.Name, attempts)})
	}
	return nil
}

// lease ensures that we have the lease for at least as long as a run takes, and returns its epoch and when it ends.
func (d deliverer) lease(ctx context.Context, e ports.PendingEvent) (epoch int64, until time.Time, err error) {
	now := d.now()
	ours := d.leases[e.Event.ID] == e.Epoch
	switch {
	case ours && e.Until.Sub(now) >= runLimit:
		return e.Epoch, e.Until, nil
	case !ours && now.Before(e.Until):
		return 0, until, errLeased
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

// run makes one run of attempts (section 6). An error means that the run was cut short and
// the event stays pending.
func (d deliverer) run(ctx context.Context, e events.Event) (events.Status, int, error) {
	provider, err := found(d.configured.provider(ctx, d.now(), e.ProviderCode))
	switch {
	case err != nil:
		return "", 0, fmt.Errorf("read the destination of %s: %w", e.ProviderCode, err)
	case provider == nil, !provider.Destination.Configured():
		return events.NotConfigured, 0, nil
	}
	now := d.now()
	secrets := provider.Destination.Secrets(now)
	delivery := events.NewDelivery(e, secrets[0], now, secrets[1:]...)
	for n := 1; n <= events.MaxAttempts; n++ {
		if err := pause(ctx, events.Delay(n)); err != nil {
			return "", 0, err
		}
		err := d.send(ctx, provider.Destination, delivery, n)
		if err == nil {
			return events.Delivered, n, nil
		}
		if ctx.Err() != nil {
			return "", 0, ctx.Err()
		}
		d.report(ctx, Failure{Operation: OperationSend, Severity: Warning, CheckoutID: e.CheckoutID, EventID: e.ID,
			Attempt: n, Err: err})
		if d.stopping.Load() {
			return "", 0, errStopping
		}
	}
	return events.Failed, events.MaxAttempts, nil
}

// send makes one attempt. A sender that panics has failed.
func (d deliverer) send(ctx context.Context, to catalogue.Destination, delivery events.Delivery, attempt int) (err error) {
	defer recovered(&err)
	return d.cfg.Sender.Send(ctx, to, delivery, attempt)
}
