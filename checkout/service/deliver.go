package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// ownership is how long an event belongs to who took it.
	ownership = 10 * time.Second
	// runLimit is more than a run of attempts takes: three of two seconds and the delays between them.
	runLimit = 8 * time.Second
	// deliverLimit is how long a request stays for its events, those of others before its own included.
	deliverLimit = 35 * time.Second
	// waitStep is how often a request looks whether an earlier event of its checkout is settled.
	waitStep = 100 * time.Millisecond

	recoverEvery = time.Second
	recoverBatch = 500 // checkouts of one provider in one sweep
	recoverers   = 16  // checkouts of one provider at a time
)

// deliver sends the events that a request just committed, before the request is answered. What it
// cannot finish stays on record for recovery.
func (s *Service) deliver(ctx context.Context, provider catalogue.Provider, checkoutID string, names ...events.Name) {
	if !provider.Destination.Configured() {
		for range names {
			s.countSettled(events.NotConfigured)
		}
		return
	}
	ctx, cancel := lasting(ctx, deliverLimit)
	defer cancel()
	d := drain{Service: s, checkoutID: checkoutID, owned: make(map[string]int64)}
	for _, name := range names {
		d.owned[events.ID(checkoutID, name)] = 1
	}
	if err := d.requested(ctx); err != nil {
		s.cfg.Report(ctx, fmt.Errorf("deliver the events of %s: %w", checkoutID, err))
	}
}

// Run takes up the deliveries that a crash cut off, now and every second, until ctx ends;
// it returns when the work in hand is done. Every process runs it. Once ctx has ended, requests
// that are still under way make no second attempt at a delivery, so that a server drains quickly;
// what they leave is taken up by the next process.
func (s *Service) Run(ctx context.Context) {
	defer context.AfterFunc(ctx, func() { s.stopping.Store(true) })()
	r := recovery{Service: s, busy: make(map[string]bool)}
	defer r.all.Wait()
	tick := time.NewTicker(recoverEvery)
	defer tick.Stop()
	for {
		r.sweep(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// recovery delivers what nobody owns any more. Each provider's events are delivered apart from
// those of others, whose receivers may hang.
type recovery struct {
	*Service
	all  sync.WaitGroup
	mu   sync.Mutex
	busy map[string]bool // providers whose events are in hand
}

// sweep starts on the abandoned events of every provider that has none in hand.
func (r *recovery) sweep(ctx context.Context) {
	found, err := r.cfg.Store.AbandonedCheckouts(ctx, r.now(), recoverBatch)
	if err != nil {
		if ctx.Err() == nil {
			r.cfg.Report(ctx, fmt.Errorf("look for abandoned events: %w", err))
		}
		return
	}
	checkouts := make(map[string][]string)
	for _, a := range found {
		checkouts[a.ProviderCode] = append(checkouts[a.ProviderCode], a.CheckoutID)
	}
	for provider, ids := range checkouts {
		if r.claim(provider) {
			r.all.Go(func() {
				defer r.release(provider)
				r.deliverAll(ctx, ids)
			})
		}
	}
}

func (r *recovery) claim(provider string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.busy[provider]
	r.busy[provider] = true
	return !was
}

func (r *recovery) release(provider string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.busy, provider)
}

// deliverAll delivers the pending events of one provider's checkouts, a few at a time.
func (r *recovery) deliverAll(ctx context.Context, ids []string) {
	var all sync.WaitGroup
	defer all.Wait()
	places := make(chan struct{}, recoverers)
	for _, id := range ids {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			d := drain{Service: r.Service, checkoutID: id, owned: make(map[string]int64)}
			if err := d.abandoned(ctx); err != nil && ctx.Err() == nil {
				r.cfg.Report(ctx, fmt.Errorf("recover the events of %s: %w", id, err))
			}
		})
	}
}

// drain delivers the pending events of one checkout, each when those before it are settled.
type drain struct {
	*Service
	checkoutID string
	owned      map[string]int64 // event id to the epoch at which we own it
}

// errOthers says that the next event belongs to somebody else for now.
var errOthers = errors.New("somebody else delivers the event")

// errStopping says that a run was cut short because the service stops.
var errStopping = errors.New("the service stops; the next process goes on")

// requested delivers until no event of ours is left, and waits for those of others before them, unless
// the service stops: their owner may have stopped too.
func (d drain) requested(ctx context.Context) error {
	for {
		pending, err := d.cfg.Store.PendingEvents(ctx, d.checkoutID)
		ours := func(q ports.QueuedEvent) bool { return d.owned[q.Event.ID] == q.Epoch }
		if err != nil || !slices.ContainsFunc(pending, ours) {
			return err
		}
		err = d.next(ctx, pending[0])
		if errors.Is(err, errOthers) {
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

// release gives up those events that are ours, so that another process may go on at once.
func (d drain) release(ctx context.Context, pending []ports.QueuedEvent) error {
	var failed error
	for _, q := range pending {
		epoch, ours := d.owned[q.Event.ID]
		if !ours {
			continue
		}
		_, err := d.cfg.Store.TakeEvent(ctx, q.Event.ID, epoch, d.now())
		if err != nil && !errors.Is(err, ports.ErrNotFound) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// abandoned delivers until no event is left, or the next one belongs to somebody else.
func (d drain) abandoned(ctx context.Context) error {
	for {
		pending, err := d.cfg.Store.PendingEvents(ctx, d.checkoutID)
		if err != nil || len(pending) == 0 {
			return err
		}
		switch err := d.next(ctx, pending[0]); {
		case errors.Is(err, errOthers):
			return nil
		case err != nil:
			return err
		}
		d.cfg.Count(OccurrenceRecovery)
	}
}

// next delivers one event and records what became of it.
func (d drain) next(ctx context.Context, q ports.QueuedEvent) error {
	epoch, until, err := d.own(ctx, q)
	if err != nil {
		return err
	}
	// A run ends with the ownership, so that two owners never send at once.
	running, cancel := context.WithTimeout(ctx, until.Sub(d.now()))
	defer cancel()
	status, attempts, err := d.attempt(running, q.Event)
	if err != nil {
		return err
	}
	err = d.cfg.Store.SettleEvent(ctx, q.Event.ID, epoch, status, attempts)
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return errOthers // who took it over settles it
	case err == nil:
		d.countSettled(status)
	}
	return err
}

// own makes the event ours for at least as long as a run takes, and returns our epoch and until when.
func (d drain) own(ctx context.Context, q ports.QueuedEvent) (epoch int64, until time.Time, err error) {
	now := d.now()
	ours := d.owned[q.Event.ID] == q.Epoch
	switch {
	case ours && q.Until.Sub(now) >= runLimit:
		return q.Epoch, q.Until, nil
	case !ours && now.Before(q.Until):
		return 0, until, errOthers
	}
	until = now.Add(ownership)
	epoch, err = d.cfg.Store.TakeEvent(ctx, q.Event.ID, q.Epoch, until)
	if errors.Is(err, ports.ErrNotFound) {
		return 0, until, errOthers
	}
	d.owned[q.Event.ID] = epoch
	return epoch, until, err
}

// attempt makes one run of attempts (section 6). An error means that the run was cut short and
// the event stays pending.
func (d drain) attempt(ctx context.Context, e events.Event) (events.Status, int, error) {
	provider, err := d.configured.provider(ctx, d.now(), e.ProviderCode)
	if errors.Is(err, ports.ErrNotFound) || err == nil && !provider.Destination.Configured() {
		return events.NotConfigured, 0, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("read the destination of %s: %w", e.ProviderCode, err)
	}
	delivery := events.NewDelivery(e, provider.Destination.Secret, d.now())
	for n := 1; n <= events.MaxAttempts; n++ {
		if err := pause(ctx, events.Delay(n)); err != nil {
			return "", 0, err
		}
		err := d.cfg.Sender.Send(ctx, provider.Destination, delivery, n)
		if err == nil {
			return events.Delivered, n, nil
		}
		if ctx.Err() != nil {
			return "", 0, ctx.Err()
		}
		d.cfg.Report(ctx, fmt.Errorf("send %s of %s, attempt %d: %w", e.ID, e.CheckoutID, n, err))
		if d.stopping.Load() {
			return "", 0, errStopping
		}
	}
	return events.Failed, events.MaxAttempts, nil
}

// pause waits, or ends early with ctx.
func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
