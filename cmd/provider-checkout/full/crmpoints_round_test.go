package full_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

const (
	// stepLease is the duration of the lease of a CRM job.
	stepLease = 10 * time.Second
	// confirmLimit is the time limit of a confirm until it is on record. It has no lease until then.
	confirmLimit = 20 * time.Second
	// undoneWithin is the longest time after the end of its lease for which a job may stay undone.
	undoneWithin = 15 * time.Second
	// callLimit is the time for which the process waits for an answer of Salesforce; gather is a little less.
	callLimit, gather = 5 * time.Second, 4 * time.Second
)

// student is an enrolment that is at a point when the process is struck.
type student struct {
	*workload.Enrolment
	at    crmPoint
	under chan sent // what becomes of the request that is under way then
	rng   *rand.Rand
}

// request sends the request in which the point is.
func (s *student) request(ctx context.Context, c *apiclient.Client) sent {
	if !s.at.confirm {
		r, err := s.SendCreate(ctx, c)
		return sent{func() error { return s.NoteCreate(r) }, err}
	}
	r, err := c.Confirm(ctx, s.Created, s.Created.ConfirmBody())
	return sent{func() error { return s.NoteConfirm(r) }, err}
}

// prepare returns enrolments that have come as far as the requests in which their points are.
func (w *crmWorld) prepare(t *testing.T, points []crmPoint) (all []*student) {
	t.Helper()
	for _, at := range points {
		s := &student{Enrolment: w.Enrolments.Begin(), at: at, under: make(chan sent, 1),
			rng: rand.New(rand.NewPCG(w.Rand.Uint64(), 0))}
		w.gate.admit(s.Enrolment)
		all = append(all, s)
	}
	together(all, atOnce, func(s *student) {
		if !s.at.confirm {
			return
		}
		err := s.Create(t.Context(), w.backend)
		if err == nil {
			err = s.SetUp(t.Context(), w.backend)
		}
		if err != nil {
			t.Errorf("before there is any fault: %v", err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// round brings an enrolment to each point, strikes the process while all are there, and has everything completed. It
// returns the points that were missed: an enrolment was not there yet, or no longer.
func (w *crmWorld) round(t *testing.T, m manner, points []crmPoint) (missed []crmPoint) {
	t.Helper()
	all, first := w.prepare(t, points), w.servers[0]
	over := w.strike(t, m, all, first)
	for _, s := range all {
		if !w.gate.holds(s.Enrolment) {
			missed = append(missed, s.at)
		}
	}
	clientsEnd := w.repeat(t, m, all)
	on := w.resumption(m)
	switch on {
	case whenAlone:
		<-time.After(time.Until(over))
		first.Resume(t)
	case amidOthers:
		w.resumeAmid(t, all, first, over)
	}
	done := w.await(t, "crm_steps_waiting", over.Add(undoneWithin))
	w.suite.finished(done.Sub(over))
	clientsEnd()
	if on == atLast {
		<-time.After(time.Until(over) + confirmLimit - stepLease)
		first.Resume(t)
	}
	w.finish(t, all)
	w.stop(t)
	w.check(t, all, first.door, on)
	return missed
}

// resumption is when a stopped process goes on.
type resumption int

const (
	notAgain   resumption = iota // it was killed
	whenAlone                    // when its leases are over. There is no other process
	amidOthers                   // while others do what it was doing
	atLast                       // when others have done everything, and no confirm is under way any longer. No client turns to it
)

func (w *crmWorld) resumption(m manner) resumption {
	switch {
	case !m.stops:
		return notAgain
	case len(w.servers) == 1:
		return whenAlone
	case !m.alone:
		return amidOthers
	}
	return atLast
}

// strike kills the process and starts another, or stops it, once all enrolments are at their points. It returns when all
// its leases have ended.
func (w *crmWorld) strike(t *testing.T, m manner, all []*student, first *crmServer) (over time.Time) {
	t.Helper()
	w.suite.busy.Lock()
	defer w.suite.busy.Unlock()
	w.gather(t, all, first)
	w.gate.strike(!m.stops, func() {
		if m.stops {
			first.Suspend(t)
			<-time.After(calm) // until no thread of it runs
		} else {
			first.Kill(t)
		}
	})
	over = time.Now().Add(stepLease)
	switch {
	case !m.stops:
		w.servers[0] = w.start(t)
		lead(&w.fleet, w.servers...)
	case len(w.servers) > 1:
		lead(&w.fleet, w.servers[1:]...)
	}
	return over
}

// repeat has clients repeat what had no answer, if they do. It returns a function that waits until they have one.
func (w *crmWorld) repeat(t *testing.T, m manner, all []*student) (wait func()) {
	t.Helper()
	var clients sync.WaitGroup
	t.Cleanup(clients.Wait) // they end with the test's context
	for _, s := range all {
		if m.alone {
			break
		}
		clients.Go(func() {
			err := insist(t, func() error { return s.request(t.Context(), w.backend).settle() })
			if err != nil && t.Context().Err() == nil {
				t.Errorf("%s: a repeated request: %v", s.at, err)
			}
		})
	}
	return clients.Wait
}

// resumeAmid lets the stopped process go on, and its late calls arrive, when others have begun to do what it was doing. It
// keeps them at that for a while, in which they could be disturbed.
func (w *crmWorld) resumeAmid(t *testing.T, all []*student, first *crmServer, over time.Time) {
	t.Helper()
	<-time.After(time.Until(over) - gather) // the first lease ends, at the earliest
	begun, goOn := w.gate.holdTakeover(first.door)
	defer goOn()
	select {
	case <-begun:
	case <-time.After(time.Until(over) + undoneWithin):
		t.Fatalf("nobody has taken over %v after the last lease's end", undoneWithin)
	}
	<-time.After(callLimit / 5)
	w.deliverLate(all)
	first.Resume(t)
	<-time.After(callLimit * 2 / 5)
}

// finish completes all enrolments, and then has the calls arrive that were held for so long, if they have not.
func (w *crmWorld) finish(t *testing.T, all []*student) {
	t.Helper()
	for _, s := range all {
		if err := (<-s.under).settle(); err != nil && !apiclient.IsCut(err) {
			t.Errorf("%s: the request that was under way: %v", s.at, err)
		}
	}
	together(all, atOnce, func(s *student) {
		if err := insist(t, func() error { return s.Complete(t.Context(), w.backend, s.rng) }); err != nil {
			t.Errorf("%s: after all faults: %v", s.at, err)
		}
	})
	w.await(t, "outbox_pending_events", time.Now().Add(patience))
	w.deliverLate(all)
}

// deliverLate has the late calls arrive.
func (w *crmWorld) deliverLate(all []*student) {
	w.gate.letIn()
	for _, s := range all {
		if s.at.side == late && w.gate.holds(s.Enrolment) {
			<-w.gate.passages[s.Enrolment].ended
		}
	}
}

// gather sends the requests, and waits until all are at their points, but no longer than the process does.
func (w *crmWorld) gather(t *testing.T, all []*student, to *crmServer) {
	t.Helper()
	only := new(balancer)
	lead(only, to)
	client := w.through(only)
	for _, s := range all {
		w.gate.aim(s.Enrolment, s.at)
		go func() { s.under <- s.request(t.Context(), client) }()
	}
	limit := time.After(gather)
	for _, s := range all {
		select {
		case <-w.gate.passages[s.Enrolment].held:
		case <-limit:
			return
		}
	}
}
