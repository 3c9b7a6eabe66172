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
	pollEvery = time.Second
	// leaseBatch is the largest number of jobs of a kind that are leased at a time.
	leaseBatch = 256
)

// scheduler leases the jobs that are due and has their handlers attempt them. Every process has one.
type scheduler struct {
	*Service
	attempts sync.WaitGroup
	armed    bool // the jobs of the tasks are on record

	mu      sync.Mutex
	running map[checkout.Queue]int
	closed  map[checkout.JobKind]bool // until the next poll: the handler could not try
}

// Run does the background work until ctx ends, and returns when the work in progress is done. Every process runs it. Once ctx has ended,
// calls in progress make no further attempt at a delivery, so that a server drains quickly; another process takes over what is left.
func (s *Service) Run(ctx context.Context) {
	sch := &scheduler{Service: s, running: make(map[checkout.Queue]int), closed: make(map[checkout.JobKind]bool)}
	defer context.AfterFunc(ctx, func() { s.stopping.Store(true) })()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := sch.poll(ctx); err != nil && ctx.Err() == nil {
			s.report(ctx, Failure{Operation: OperationSchedule, Severity: Error, Err: err})
		}
		if sch.waits(ctx, tick.C) {
			s.storeNotes(ctx)
			sch.open()
		}
	}
	s.stopping.Store(true)
	sch.attempts.Wait()
	s.attempting.wait() // calls that were answered may have left attempts behind
	s.storeNotes(ctx)
}

// waits waits until ctx ends, a tick comes or the scheduler is woken, and reports whether there is a tick: of both it comes first.
func (sch *scheduler) waits(ctx context.Context, tick <-chan time.Time) bool {
	select {
	case <-tick:
		return true
	default:
	}
	select {
	case <-tick:
		return true
	case <-ctx.Done():
	case <-sch.wake:
	}
	return false
}

// wakeScheduler makes the scheduler look for due jobs now.
func (s *Service) wakeScheduler() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// poll leases the jobs that are due and for which there is a slot, and starts to attempt them.
func (sch *scheduler) poll(ctx context.Context) (err error) {
	defer recovered(&err)
	if err := sch.armTasks(ctx); err != nil {
		return err
	}
	q := sch.query()
	if len(q.Limits) == 0 {
		return nil
	}
	polling, cancel := withTimeout(ctx)
	defer cancel()
	leases, err := sch.cfg.Store.Lease(polling, q)
	if err != nil {
		return fmt.Errorf("lease jobs: %w", err)
	}
	for _, l := range leases {
		sch.start(ctx, l)
	}
	return nil
}

// armTasks arms the jobs of the tasks, once.
func (sch *scheduler) armTasks(ctx context.Context) error {
	if sch.armed {
		return nil
	}
	var jobs []checkout.Job
	for _, t := range sch.tasks() {
		jobs = append(jobs, checkout.StoreJob(t.Kind, sch.now()))
	}
	err := within(ctx, waitLimit, func(ctx context.Context) error { _, err := sch.cfg.Store.Enqueue(ctx, jobs, nil); return err })
	if err != nil {
		return fmt.Errorf("arm the tasks: %w", err)
	}
	sch.armed = true
	return nil
}

// query returns the query for the jobs of the kinds that have a slot, without the providers that have no slot.
func (sch *scheduler) query() checkout.JobQuery {
	q := checkout.JobQuery{Limits: map[checkout.JobKind]int{}, For: direct}
	sch.mu.Lock()
	defer sch.mu.Unlock()
	running := map[checkout.JobKind]int{}
	for of, n := range sch.running {
		running[of.Kind] += n
		if of.Kind == checkout.JobDeliver && n >= slotsOfProvider/2 {
			q.Except = append(q.Except, of)
		}
	}
	for kind, h := range sch.handlers {
		if free := min(h.limit-running[kind], leaseBatch); free > 0 && !sch.closed[kind] {
			q.Limits[kind] = free
		}
	}
	return q
}

// start attempts a leased job in the background.
func (sch *scheduler) start(ctx context.Context, l checkout.Lease) {
	of := checkout.Queue{Kind: l.Job.Kind, ProviderCode: l.Job.ProviderCode}
	sch.count(of, 1)
	sch.attempts.Go(func() {
		defer sch.wakeScheduler() // the next job of the checkout or of the provider may be due
		defer sch.count(of, -1)
		if _, err := sch.handle(ctx, l); errors.Is(err, ports.ErrBusy) {
			sch.mu.Lock()
			sch.closed[of.Kind] = true
			sch.mu.Unlock()
		}
	})
}

func (sch *scheduler) count(of checkout.Queue, n int) {
	sch.mu.Lock()
	defer sch.mu.Unlock()
	if sch.running[of] += n; sch.running[of] == 0 {
		delete(sch.running, of)
	}
}

// open opens the kinds that were closed.
func (sch *scheduler) open() {
	sch.mu.Lock()
	defer sch.mu.Unlock()
	clear(sch.closed)
}
