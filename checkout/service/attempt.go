package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

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
	for _, t := range s.tasks() {
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
	limit := time.NewTimer(callLimit)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
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

// moments returns the moment of a job that was settled, if there is one.
func (s *Service) moments(j checkout.Job, kind checkout.MomentKind, detail ...string) []checkout.Moment {
	if j.CheckoutID == "" {
		return nil
	}
	return []checkout.Moment{{ID: string(kind) + " " + j.ID, At: s.now(), Kind: kind, Actor: checkout.ActorService, RequestID: j.RequestID,
		Detail: strings.Join(slices.DeleteFunc(append([]string{j.Name}, detail...), func(s string) bool { return s == "" }), " ")}}
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
