package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/breaker"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	pollEvery    = time.Second
	leaseBatch   = 500 // jobs at a time
	perPartition = slotsOfProvider / 2
	// extendEvery is the pause between two extensions of a lease while its attempt goes on.
	extendEvery = holdLimit / 3
)

// Task is work of the embedding program that one process at a time does again and again: Config.Tasks.
type Task struct {
	Kind checkout.JobKind // JobReconcile or JobPull
	// Run does the work, and returns the cursor of its next run and the pause before that, also with an error, which is reported.
	// The cursor of the first run is "". A pause is at least ten seconds, and at most the
	// longest pause of the kind.
	Run func(ctx context.Context, cursor string) (next string, pause time.Duration, err error)
}

// handler attempts the jobs of one kind.
type handler struct {
	// attempt makes one attempt at a leased job and settles it. It returns an error if it could not settle it: then the job is
	// attempted again when its lease has ended.
	attempt   func(context.Context, checkout.Lease) error
	operation Operation // of its failures
	severity  Severity
	all       int              // attempts at once; 0: perPartition in each partition
	breaker   *breaker.Breaker // that keeps the jobs from being attempted while it is open; nil: no breaker
}

// guard is a circuit breaker before the jobs of some kinds.
type guard struct {
	*breaker.Breaker
	kinds []checkout.JobKind
	ask   func(context.Context) // finds out whether there is an answer again where no job is due
}

// setHandlers sets the handler of each kind of job that this process attempts, and the guards before them.
func (sch *scheduler) setHandlers() {
	s := sch.Service
	crm := handler{attempt: s.enrolLater, operation: OperationComplete, severity: Error, all: 8, breaker: &s.crm}
	sch.guards = []guard{{&s.crm, []checkout.JobKind{checkout.JobComplete, checkout.JobOpen, checkout.JobAuthority, checkout.JobEnd}, s.probeCRM}}
	sch.handlers = map[checkout.JobKind]handler{
		checkout.JobDeliver:   {attempt: s.deliverLater, operation: OperationRecover, severity: Error},
		checkout.JobOpen:      crm,
		checkout.JobComplete:  crm,
		checkout.JobAuthority: crm,
		checkout.JobEnd:       crm,
		checkout.JobLook:      {attempt: s.look, operation: OperationObserve, severity: Warning, all: 4},
		checkout.JobCancel:    {attempt: s.cancelSetup, operation: OperationCancel, severity: Warning, all: 8},
		checkout.JobNotified:  {attempt: s.handleNotification, operation: OperationObserve, severity: Warning, all: 12},
	}
	if s.cfg.Notifier != nil {
		n := newNotifier(s)
		sch.guards = append(sch.guards, guard{n.answers, []checkout.JobKind{checkout.JobNotify}, func(context.Context) {}})
		sch.handlers[checkout.JobNotify] = handler{attempt: n.attemptNotice, operation: OperationNotify, severity: Error,
			all: 4, breaker: n.answers}
	}
	for _, t := range s.tasks() {
		sch.handlers[t.Kind] = handler{attempt: sch.attemptTask(t), operation: OperationTask, severity: Error, all: 1}
	}
}

// tasks returns the work that one process at a time does again and again.
func (s *Service) tasks() []Task {
	all := slices.Clone(s.cfg.Tasks)
	if s.cfg.Retention != (checkout.Retention{}) {
		all = append(all, Task{Kind: checkout.JobRetain, Run: newRetainer(s).run})
	}
	return all
}

// attemptTask returns the function that runs a task and has its job wait for the next run. Where the pause is short and the cursor
// as it was, the job waits for the end of its lease, so that a quiet service writes seldom.
func (sch *scheduler) attemptTask(t Task) func(context.Context, checkout.Lease) error {
	s := sch.Service
	return func(ctx context.Context, l checkout.Lease) error {
		next, pause, failure := func() (next string, pause time.Duration, err error) {
			next = l.Cursor // also where it panics
			defer recovered(&err)
			return t.Run(ctx, l.Cursor)
		}()
		outcome := checkout.Outcome{State: checkout.JobPending, Pause: max(pause, holdLimit), Cursor: next}
		switch {
		case failure == nil && next == l.Cursor && pause <= holdLimit:
			sch.awaitLeaseEnd(l)
			return nil
		case failure != nil:
			outcome.Failure = checkout.FailureOf(failure, s.now())
			s.reportUnlessStopped(ctx, Failure{Operation: OperationTask, Severity: Error, Err: fmt.Errorf("%s: %w", t.Kind, failure)})
		}
		return s.settleAttempt(ctx, l, outcome)
	}
}

// scheduler leases the jobs that are due and has their handlers attempt them. Every process has one.
type scheduler struct {
	*Service
	handlers map[checkout.JobKind]handler
	guards   []guard
	attempts sync.WaitGroup
	enqueued bool // the jobs of the tasks are in the queue

	mu      sync.Mutex
	running map[checkout.Partition]int
	resting map[checkout.JobKind]checkout.Lease // of tasks that wait for the end of their leases
}

// awaitLeaseEnd has the job of a task wait for the end of its lease.
func (sch *scheduler) awaitLeaseEnd(l checkout.Lease) {
	sch.mu.Lock()
	defer sch.mu.Unlock()
	sch.resting[l.Job.Kind] = l
}

// giveBack gives up the leases whose end tasks wait for, so that another process may go on at once.
func (sch *scheduler) giveBack(ctx context.Context) {
	sch.mu.Lock()
	defer sch.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(sch.resting)) { // in one order, so that a schedule can be played again
		l := sch.resting[kind]
		if err := sch.extend(ctx, l, 0); err != nil && !errors.Is(err, ports.ErrNotFound) {
			sch.report(ctx, Failure{Operation: OperationSchedule, Severity: Warning, Err: fmt.Errorf("give up job %s: %w", l.Job.ID, err)})
		}
	}
}

// Run does the background work until ctx ends, and returns when the work in progress is done. Every process runs it. It attempts the
// jobs that are due: jobs that a crash cut off, jobs that were put off, and the tasks of Config. Once ctx has ended, requests
// in progress make no second attempt at a delivery, so that a server drains quickly; the next process takes over what they leave.
func (s *Service) Run(ctx context.Context) {
	sch := &scheduler{Service: s, running: make(map[checkout.Partition]int),
		resting: make(map[checkout.JobKind]checkout.Lease)}
	sch.setHandlers()
	defer context.AfterFunc(ctx, func() { s.stopping.Store(true) })()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-s.wake: // it looks now
		default:
		}
		s.storeNotes(ctx)
		sch.poll(ctx)
		tick.Reset(pollEvery)
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-s.wake:
		}
	}
	s.stopping.Store(true) // also where the function above has not done it yet
	sch.attempts.Wait()
	s.sending.wait() // requests that were answered may have left attempts behind, each of which ends in two seconds
	sch.giveBack(context.WithoutCancel(ctx))
	s.storeNotes(ctx)
}

// wakeScheduler has the scheduler look for due jobs now.
func (s *Service) wakeScheduler() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// poll leases the jobs that are due, and starts to attempt them.
func (sch *scheduler) poll(ctx context.Context) {
	for _, step := range []func(context.Context) error{sch.enqueueTasks, sch.leaseAll, sch.probe} {
		if err := step(ctx); err != nil {
			sch.reportUnlessStopped(ctx, Failure{Operation: OperationSchedule, Severity: Error, Err: err})
			return
		}
	}
}

// leaseAll leases what there are slots for. It asks for a job of any kind, and then for more of the same kind: while nothing is due
// that is one query.
func (sch *scheduler) leaseAll(ctx context.Context) error {
	for kinds := sch.kinds(); len(kinds) > 0; {
		first, err := sch.leaseAndStart(ctx, sch.query(kinds, 1))
		if err != nil || len(first) == 0 {
			return err
		}
		kind := first[0].Job.Kind
		kinds = slices.DeleteFunc(kinds, func(k checkout.JobKind) bool { return k == kind })
		free := leaseBatch
		if h := sch.handlers[kind]; h.all > 0 {
			free = h.all - sch.runningOf(kind)
		}
		if free == 0 {
			continue
		}
		switch more, err := sch.leaseAndStart(ctx, sch.query([]checkout.JobKind{kind}, free)); {
		case err != nil:
			return err
		case len(more) == leaseBatch: // there may be others
			sch.wakeScheduler()
		}
	}
	return nil
}

// enqueueTasks puts the jobs of the tasks into the queue, once. Jobs that another process has put there stay.
func (sch *scheduler) enqueueTasks(ctx context.Context) (err error) {
	defer recovered(&err)
	if sch.enqueued {
		return nil
	}
	var jobs []checkout.Job
	for _, t := range sch.tasks() {
		jobs = append(jobs, checkout.Job{ID: string(t.Kind), Kind: t.Kind, CreatedAt: sch.now()})
	}
	if len(jobs) > 0 {
		ctx, cancel := withTimeout(ctx)
		defer cancel()
		if _, err := sch.cfg.Store.Enqueue(ctx, jobs); err != nil {
			return fmt.Errorf("enqueue the tasks: %w", err)
		}
	}
	sch.enqueued = true
	return nil
}

// kinds returns the kinds of which a job may be leased now: kinds with a slot, and without an open breaker.
func (sch *scheduler) kinds() (kinds []checkout.JobKind) {
	for kind, h := range sch.handlers {
		if (h.all == 0 || sch.runningOf(kind) < h.all) && (h.breaker == nil || !h.breaker.Open()) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// runningOf returns how many jobs of a kind are being attempted.
func (sch *scheduler) runningOf(kind checkout.JobKind) (n int) {
	sch.mu.Lock()
	defer sch.mu.Unlock()
	for p, running := range sch.running {
		if p.Kind == kind {
			n += running
		}
	}
	return n
}

// query returns the query for jobs of some kinds: none of a partition whose slots are taken.
func (sch *scheduler) query(kinds []checkout.JobKind, limit int) checkout.JobQuery {
	q := checkout.JobQuery{Kinds: kinds, Limit: limit, PerPartition: perPartition}
	sch.mu.Lock()
	defer sch.mu.Unlock()
	for p, n := range sch.running {
		if p.Kind == checkout.JobDeliver && n >= perPartition {
			q.Except = append(q.Except, p)
		}
	}
	return q
}

// leaseAndStart leases jobs, starts to attempt them, and returns them.
func (sch *scheduler) leaseAndStart(ctx context.Context, q checkout.JobQuery) (leases []checkout.Lease, err error) {
	leases, err = sch.lease(ctx, q)
	for _, l := range leases {
		sch.start(ctx, l)
	}
	return leases, err
}

// start attempts a leased job in the background.
func (sch *scheduler) start(ctx context.Context, l checkout.Lease) {
	p := checkout.Partition{Kind: l.Job.Kind, ProviderCode: l.Job.ProviderCode}
	sch.count(p, 1)
	sch.attempts.Go(func() {
		defer sch.wakeScheduler() // the next job of the checkout or of the partition may be due
		defer sch.count(p, -1)
		h := sch.handlers[p.Kind]
		ctx, subject := WithSubject(ctx)
		subject.requestID = l.Job.RequestID
		concerns(ctx, l.Job.About())
		if err := sch.handle(ctx, h, l); err != nil {
			sch.reportUnlessStopped(ctx, Failure{Operation: h.operation, Severity: h.severity, Err: err})
		}
	})
}

func (sch *scheduler) count(p checkout.Partition, n int) {
	sch.mu.Lock()
	defer sch.mu.Unlock()
	if sch.running[p] += n; sch.running[p] == 0 {
		delete(sch.running, p)
	}
}

// handle has a handler attempt a job, and keeps its lease meanwhile. If that is lost, the attempt is cancelled: its holder makes
// its own.
func (sch *scheduler) handle(ctx context.Context, h handler, l checkout.Lease) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	attempting, ended := context.WithCancel(context.WithoutCancel(ctx)) // it may go on for a moment when the service stops
	var keeping sync.WaitGroup
	lost := false
	keeping.Go(func() {
		for !lost && sleep(attempting, extendEvery) == nil && attempting.Err() == nil {
			if err := sch.extend(context.WithoutCancel(ctx), l, holdLimit); errors.Is(err, ports.ErrNotFound) {
				lost = true
				cancel()
			}
		}
	})
	err := func() (err error) {
		defer ended()
		defer recovered(&err)
		return h.attempt(ctx, l)
	}()
	if keeping.Wait(); lost {
		return nil
	}
	return err
}

// probe makes one attempt where a breaker is open, if it is time to find out whether there is an answer again.
func (sch *scheduler) probe(ctx context.Context) error {
	now := sch.now()
	var failures []error
	for _, g := range sch.guards {
		underWay := 0
		for _, kind := range g.kinds {
			underWay += sch.runningOf(kind)
		}
		if underWay == 0 && g.Probe(now) { // an attempt that is under way finds out
			leases, err := sch.leaseAndStart(ctx, checkout.JobQuery{Kinds: g.kinds, Limit: 1})
			if failures = append(failures, err); err == nil && len(leases) == 0 {
				g.ask(ctx)
			}
		}
	}
	return errors.Join(failures...)
}
