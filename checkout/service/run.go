package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	recoverEvery = time.Second
	recoverBatch = 500                 // checkouts of one provider at a time
	recoverers   = slotsOfProvider / 2 // of one provider's checkouts; the other slots are for requests

	sweepEvery = 30 * time.Second
	sweepBatch = 200 // setups at a time
	observers  = 4
)

// Run does the background work until ctx ends, and returns when the work in progress is done. Every process runs it. It
// takes over the deliveries that a crash cut off, now and every second, or more seldom while a receiver takes nothing, and
// asks the processor about setups that were begun and whose outcome is not final, less and less often the older they are.
// With a CRM outside of the store it does what that has still to do for checkouts, however often the CRM must be asked. It
// sends payers their notices with Config.Notifier, and erases what was kept for as long as Config.Retention says. Once ctx has ended, requests in progress make no second attempt
// at a delivery, so that a server drains quickly; the next process takes over what they leave.
func (s *Service) Run(ctx context.Context) {
	r := recovery{Service: s, busy: make(map[string]bool), probes: make(map[string]int)}
	var all sync.WaitGroup
	all.Go(func() { // which a context's AfterFunc might not have done when Run returns
		<-ctx.Done()
		s.stopping.Store(true)
	})
	all.Go(func() { every(ctx, recoverEvery, r.poll) })
	all.Go(func() { every(ctx, sweepEvery, s.sweep) })
	if s.cfg.CRM != nil {
		all.Go(func() { every(ctx, completeEvery, s.completeSteps) })
	}
	if s.cfg.Notifier != nil {
		all.Go(func() { every(ctx, notifyEvery, newNotifier(s).send) })
	}
	if s.cfg.Evidence.CanSign() {
		all.Go(func() { every(ctx, sealEvery, newSealer(s).seal) })
	}
	if s.cfg.Retention != (checkout.Retention{}) {
		all.Go(func() { every(ctx, retainEvery, (&retainer{Service: s}).look) })
	}
	all.Wait()
	r.deliveries.Wait()
}

// every calls work now and then every period until ctx ends.
func every(ctx context.Context, period time.Duration, work func(context.Context)) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		work(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// recovery delivers the events whose lease has ended. Each provider's events are delivered separately, because the
// receivers of others may hang.
type recovery struct {
	*Service
	deliveries sync.WaitGroup
	mu         sync.Mutex
	busy       map[string]bool // providers whose events are being delivered
	probes     map[string]int  // how many were made of each provider's receiver
}

// poll starts to deliver the events of every provider that has expired leases, and no deliveries under way.
func (r *recovery) poll(ctx context.Context) {
	expired, err := r.expired(ctx)
	if err != nil {
		r.failed(ctx, Failure{Operation: OperationRecover, Severity: Error, Err: err})
		return
	}
	checkouts := make(map[string][]string)
	for _, e := range expired {
		checkouts[e.ProviderCode] = append(checkouts[e.ProviderCode], e.CheckoutID)
	}
	for provider, ids := range checkouts {
		if !r.acquire(provider) {
			continue
		}
		r.deliveries.Go(func() {
			defer r.release(provider)
			r.deliver(ctx, provider, ids)
		})
	}
}

// deliver delivers the events of a provider's checkouts; while its receiver takes nothing, those of one of them now and then.
func (r *recovery) deliver(ctx context.Context, code string, ids []string) {
	receiver := r.receiver(code)
	if receiver.Open() {
		if !receiver.Probe(r.now()) {
			return
		}
		ids = r.probe(code, ids)
	}
	probing := len(ids) == 1
	inParallel(recoverers, ids, func(id string) {
		if ctx.Err() != nil || !probing && receiver.Open() {
			return
		}
		d := deliverer{Service: r.Service, checkoutID: id, leases: make(map[string]int64), recovering: true}
		if err := d.deliverExpired(ctx); err != nil {
			r.failed(ctx, Failure{Operation: OperationRecover, Severity: Error, CheckoutID: id, Err: err})
		}
	})
}

// probe returns the checkout to try, another each time: an event has three attempts, and a probe takes one. It begins with
// the newest, because the oldest were tried when the receiver ceased to take them.
func (r *recovery) probe(code string, ids []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(ids) - 1 - r.probes[code]%len(ids)
	r.probes[code]++
	return ids[n : n+1]
}

func (r *recovery) expired(ctx context.Context) (leases []ports.ExpiredLease, err error) {
	defer recovered(&err)
	leases, err = r.cfg.Store.ExpiredLeases(ctx, r.now(), recoverBatch)
	if err != nil {
		return nil, fmt.Errorf("list the expired leases: %w", err)
	}
	return leases, nil
}

func (r *recovery) acquire(provider string) bool {
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

// sweep asks the processor about the setups that are due.
func (s *Service) sweep(ctx context.Context) {
	ids, err := s.due(ctx)
	if err != nil {
		s.failed(ctx, Failure{Operation: OperationSweep, Severity: Error, Err: err})
		return
	}
	inParallel(observers, ids, func(id string) {
		if ctx.Err() != nil {
			return
		}
		if err := s.look(ctx, id); err != nil {
			s.failed(ctx, Failure{Operation: OperationObserve, Severity: Warning, CheckoutID: id, Err: err})
		}
	})
}

func (s *Service) due(ctx context.Context) (ids []string, err error) {
	defer recovered(&err)
	ids, err = s.cfg.Store.DueSetups(ctx, s.now(), sweepBatch)
	if err != nil {
		return nil, fmt.Errorf("list the due setups: %w", err)
	}
	return ids, nil
}

// errNotDue ends the update of a setup that another process is looking at.
var errNotDue = errors.New("the setup is not due")

// look asks the processor about a setup that is due. The next look is stored first, so that of several
// processes only one asks.
func (s *Service) look(ctx context.Context, id string) (err error) {
	defer recovered(&err)
	now := s.now()
	change, err := s.update(ctx, id, ports.Enqueue{}, func(c checkout.Checkout) (checkout.Change, error) {
		if !c.Setup.Due(now) {
			return checkout.Change{Next: c}, errNotDue
		}
		return c.Looked(now), nil
	})
	if errors.Is(err, errNotDue) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("note that the setup is looked at: %w", err)
	}
	_, err = s.refresh(ctx, change.Next, s.observeFor(ports.ForNotification))
	return err
}

// failed reports a failure of the background work, unless it is being stopped.
func (s *Service) failed(ctx context.Context, f Failure) {
	if ctx.Err() == nil {
		s.report(ctx, f)
	}
}

// inParallel calls work with each id, a few at a time, and returns when all calls have.
func inParallel(limit int, ids []string, work func(id string)) {
	var all sync.WaitGroup
	defer all.Wait()
	running := make(chan struct{}, limit)
	for _, id := range ids {
		running <- struct{}{}
		all.Go(func() {
			defer func() { <-running }()
			work(id)
		})
	}
}
