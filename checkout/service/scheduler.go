package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
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

// waits waits until ctx ends, a tick comes or the scheduler is woken, and reports whether there is a tick: of both it comes first, so that a
// simulation replays.
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
	polling, cancel := context.WithTimeout(ctx, waitLimit)
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
	for _, t := range sch.cfg.Tasks {
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

func (sch *scheduler) open() {
	sch.mu.Lock()
	defer sch.mu.Unlock()
	clear(sch.closed)
}

const (
	// callLimit limits the wait of a call for its jobs.
	callLimit = 2500 * time.Millisecond
	// leaseMargin is the part of a lease that is left for settling.
	leaseMargin = time.Second
	settleLimit = 5 * time.Second
	// busyPause is the pause of a job whose handler could not try.
	busyPause = time.Second
)

// handler attempts the jobs of one kind.
type handler struct {
	// attempt makes one attempt at a leased job and returns its outcome. With ports.ErrBusy it could not try: the job is put off, with
	// the attempts and the cursor of the outcome. With errLeft the job is given back. After any other error the job is attempted again when its lease has ended.
	attempt   func(context.Context, checkout.Lease) (checkout.Outcome, error)
	operation Operation // of its failures
	limit     int       // attempts at once in a process
	// extends is set where an attempt takes longer than a lease, which is extended meanwhile.
	extends bool
}

// errLeft: the job is left to another attempt; nothing was tried.
var errLeft = errors.New("the job is left to another attempt")

// newHandlers returns the handler of each kind of job that this process attempts.
func (s *Service) newHandlers() map[checkout.JobKind]handler {
	all := map[checkout.JobKind]handler{
		checkout.JobDeliver: {attempt: s.deliver, operation: OperationDeliver, limit: 512},
		checkout.JobSync:    {attempt: s.sync, operation: OperationCRM, limit: 8},
		checkout.JobLook:    {attempt: s.look, operation: OperationObserve, limit: 8},
		checkout.JobEnd:     {attempt: s.end, operation: OperationCancel, limit: 8},
	}
	if s.cfg.Notifier != nil {
		all[checkout.JobNotify] = handler{attempt: s.notify, operation: OperationNotify, limit: 4, extends: true}
	}
	for _, t := range s.cfg.Tasks {
		all[t.Kind] = handler{attempt: s.runTask(t), operation: OperationTask, limit: 1, extends: true}
	}
	return all
}

// attempt attempts the jobs that a call has stored: kinds side by side, and jobs of one kind in their order. It returns when they are
// settled or callLimit is over; what is left then goes on in the background until the leases end.
func (s *Service) attempt(ctx context.Context, leases []checkout.Lease) {
	if len(leases) == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	byKind := map[checkout.JobKind][]checkout.Lease{}
	for _, l := range leases {
		byKind[l.Job.Kind] = append(byKind[l.Job.Kind], l)
	}
	began := s.cfg.Now()
	var all sync.WaitGroup
	for _, list := range byKind {
		s.attempting.add(1)
		all.Go(func() {
			defer s.attempting.add(-1)
			for i, l := range list {
				if l.For -= s.cfg.Now().Sub(began); l.For < direct/2 {
					s.giveBack(ctx, list[i:])
					return
				}
				if o, err := s.handle(ctx, l); err != nil || o.State == checkout.JobPending { // what is behind it waits
					s.giveBack(ctx, list[i+1:])
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(callLimit):
	}
}

// giveBack gives up leases, so that another attempt may follow at once.
func (s *Service) giveBack(ctx context.Context, leases []checkout.Lease) {
	for _, l := range leases {
		err := within(context.WithoutCancel(ctx), settleLimit, func(ctx context.Context) error { return s.cfg.Store.Extend(ctx, l, 0) })
		if err != nil && !errors.Is(err, ports.ErrNotFound) {
			s.report(ctx, Failure{Operation: OperationSchedule, Severity: Warning, Err: fmt.Errorf("give back job %s: %w", l.Job.ID, err)})
		}
	}
}

// errLost: another process has the job.
var errLost = errors.New("another process has the job")

// handle attempts a leased job and settles it. With an error the job was not settled; the failure is reported.
func (s *Service) handle(ctx context.Context, l checkout.Lease) (o checkout.Outcome, err error) {
	h := s.handlers[l.Job.Kind]
	o, err = s.attemptLeased(ctx, h, l)
	switch {
	case errors.Is(err, ports.ErrBusy):
		o = checkout.Outcome{State: checkout.JobPending, Pause: busyPause, Attempts: o.Attempts, Cursor: cmp.Or(o.Cursor, l.Cursor),
			Failure: checkout.FailureOf(err, s.now())}
	case errors.Is(err, errLeft), err != nil && ctx.Err() != nil: // the service stops
		s.giveBack(ctx, []checkout.Lease{l})
		return o, err
	case err != nil:
		if !errors.Is(err, errLost) {
			s.report(ctx, Failure{Operation: h.operation, Severity: Error, About: l.Job.About(), RequestID: l.Job.RequestID,
				Err: fmt.Errorf("attempt job %s: %w", l.Job.ID, err)})
		}
		return o, err
	}
	settled := within(context.WithoutCancel(ctx), settleLimit, func(ctx context.Context) error { return s.cfg.Store.Settle(ctx, l, o) })
	switch {
	case errors.Is(settled, ports.ErrNotFound):
		return o, errLost
	case settled != nil:
		s.report(ctx, Failure{Operation: h.operation, Severity: Warning, About: l.Job.About(), RequestID: l.Job.RequestID,
			Err: fmt.Errorf("settle job %s: %w", l.Job.ID, settled)})
		return o, settled
	}
	return o, err
}

// attemptLeased makes one attempt within the lease, which it keeps meanwhile where the handler takes longer. If the lease is lost, the
// attempt is cancelled.
func (s *Service) attemptLeased(ctx context.Context, h handler, l checkout.Lease) (o checkout.Outcome, err error) {
	defer recovered(&err)
	if ctx.Err() != nil { // the service stops
		return o, errLeft
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !h.extends {
		ctx, cancel := context.WithTimeout(ctx, l.For-leaseMargin)
		defer cancel()
		return h.attempt(ctx, l)
	}
	var keeping sync.WaitGroup
	var lost bool
	attempting, ended := context.WithCancel(context.WithoutCancel(ctx)) // it may go on for a moment when the service stops
	keeping.Go(func() {
		for sleep(attempting, direct/3) == nil {
			if err := s.cfg.Store.Extend(attempting, l, direct); errors.Is(err, ports.ErrNotFound) {
				lost = true
				cancel()
				return
			}
		}
	})
	defer func() {
		ended()
		if keeping.Wait(); lost {
			err = errLost
		}
	}()
	return h.attempt(ctx, l)
}

// moments returns the moment of a job of a checkout that was settled.
func (s *Service) moments(j checkout.Job, kind checkout.MomentKind, detail ...string) []checkout.Moment {
	return []checkout.Moment{{ID: string(kind) + " " + j.ID, At: s.now(), Kind: kind, Actor: checkout.ActorService, RequestID: j.RequestID,
		Detail: strings.Join(append([]string{j.Name}, detail...), " ")}}
}

// background counts the attempts under way, which may outlast their calls. The zero value is ready to use.
type background struct {
	mu       sync.Mutex
	underWay int
	idle     chan struct{} // closed when nothing is under way
}

func (b *background) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.underWay == 0 {
		b.idle = make(chan struct{})
	}
	if b.underWay += n; b.underWay == 0 {
		close(b.idle)
	}
}

// wait waits until nothing is under way.
func (b *background) wait() {
	b.mu.Lock()
	idle := b.idle
	b.mu.Unlock()
	if idle != nil {
		<-idle
	}
}
