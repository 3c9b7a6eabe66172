package simulation_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// This file judges each step: what a process stores, leases and sends, whoever gets the answer.

// stores judges a change that a process has stored, or was refused, and the leases that it got with it.
func (m *model) stores(p *process, was checkout.Checkout, change checkout.Change, got []checkout.Lease, err error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	switch next := change.Next; {
	case errors.Is(err, ports.ErrDuplicate) && was.ID != "":
		m.fault("%s decides what was decided of %s: %v", p.name, next.ID, err)
	case err != nil || !change.Changes():
	case was.ID != "":
		m.follows(p, was, next)
	}
	m.leases(p, got)
}

// follows judges that a state of a checkout may follow another: nothing that is final changes.
func (m *model) follows(p *process, was, next checkout.Checkout) {
	switch {
	case next.ID != was.ID, next.OrderID != was.OrderID, next.Revision <= was.Revision, next.Intent != was.Intent,
		was.Status == checkout.Confirmed && (next.Status != checkout.Confirmed || next.Confirmation != was.Confirmation),
		was.Status == checkout.Cancelled && next.Status != checkout.Cancelled,
		was.Ended() && next.End.At != was.End.At,
		was.Erased() && (!next.Erased() || next.Student != checkout.Student{}),
		next.Setup.Try < was.Setup.Try && !next.Erased(),
		next.Setup.Try == was.Setup.Try && next.Setup.BillingRequestID != "" && !next.Setup.MandateSince.IsZero() &&
			next.Setup.MandateSince.Before(was.Setup.MandateSince),
		!m.belongs(next.Setup),
		next.Status == checkout.Confirmed && was.Status != checkout.Confirmed && next.Setup.MandateID == "":
		m.fault("%s has %+v follow %+v", p.name, next, was)
	}
}

// belongs reports whether the mandate of a setup was never that of another.
func (m *model) belongs(s checkout.Setup) bool {
	if s.MandateID == "" || s.BillingRequestID == "" {
		return true
	}
	if m.mandates[s.MandateID] == "" {
		m.mandates[s.MandateID] = s.BillingRequestID
	}
	return m.mandates[s.MandateID] == s.BillingRequestID
}

// answers notes that a process was answered that its change is stored: of all requests for an order that one answers that it is new
// which has opened the checkout, or decided its confirm, and knows it, and no other.
func (m *model) answers(requestID string, err error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if err == nil {
		m.known[requestID] = true
	}
}

// end returns the end of a lease.
func end(d time.Duration) time.Time { return time.Now().Add(d).Truncate(time.Millisecond) }

// owns reports whether a process has a job.
func (m *model) owns(p *process, job string) bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	h := m.held[job]
	return h.by == p && h.until.After(time.Now())
}

// outlives judges a call that takes effect: the job for which it is made is still the caller's, as it was when the call began.
func (m *model) outlives(p *process, c call) {
	still := m.owns(p, c.job)
	m.lock.Lock()
	defer m.lock.Unlock()
	if h := m.held[c.job]; !still && (m.plan.server || !m.plan.clocks) {
		m.fault("%s has called %s for %s, of which the latest lease is of %s until %s", p.name, c.to, c.job, h.by.name, h.until)
	}
}

// leases judges the leases that a process gets: no job is leased again before its lease ends, if the clock of the store is right. The
// lock is held.
func (m *model) leases(p *process, got []checkout.Lease) {
	for _, l := range got {
		switch before := m.held[l.Job.Ref()]; {
		case l.Token <= before.token, before.until.After(time.Now()) && (m.plan.server || !m.plan.clocks):
			m.fault("%s leases %s with token %d, which is leased as %+v", p.name, l.Job.Ref(), l.Token, before)
		case before.token > 0:
			m.saw("a job was leased again")
		}
		m.held[l.Job.Ref()] = held{p, l.Token, end(l.For)}
	}
}

// extends judges a lease that a process extends, gives back with 0, or settles.
func (m *model) extends(p *process, l checkout.Lease, d time.Duration, err error) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	switch {
	case errors.Is(err, ports.ErrNotFound):
		m.saw("a lease was lost")
	case err != nil:
	default:
		if h := m.held[l.Job.Ref()]; h.by != p || h.token != l.Token {
			m.fault("%s extends %s by %s with token %d, of which the latest lease is %+v", p.name, l.Job.Ref(), d, l.Token, h)
		}
		if m.held[l.Job.Ref()] = (held{p, l.Token, end(d)}); d > 0 {
			m.saw("a lease was extended")
		}
	}
	return err
}

// retries notes that an operator retries jobs.
func (m *model) retries(jobs []checkout.Job) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, j := range jobs {
		m.retried[j.ID] = j.Kind == checkout.JobDeliver
	}
}

// sent judges an event that a receiver gets.
func (m *model) sent(e events.Event, attempt int) {
	c, err := m.store.Checkout(context.Background(), e.CheckoutID)
	before, listed := m.store.Jobs(context.Background(), checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}, CheckoutID: e.CheckoutID,
		After: new(checkout.Cursor)}, 100)
	m.lock.Lock()
	defer m.lock.Unlock()
	because := c.Status == checkout.Confirmed || e.Name == events.CheckoutCreated
	if err != nil || !because || attempt > events.MaxAttempts && !m.retried[e.ID] {
		m.fault("%s of %s is sent, attempt %d, while it is %q, %v", e.Name, e.CheckoutID, attempt, c.Status, err)
	}
	body, again := m.bodies[e.ID]
	if again && !bytes.Equal(body, e.Body) {
		m.fault("%s of %s is sent as %s after %s", e.Name, e.CheckoutID, e.Body, body)
	}
	for _, j := range before {
		if j.Job.ID == e.ID {
			break
		}
		if j.State == checkout.JobPending && !again {
			m.fault("%s of %s is sent while %s is pending, %v", e.Name, e.CheckoutID, j.Job.Name, listed)
		}
	}
	m.bodies[e.ID] = e.Body
}

// notified notes a notice that a payer gets.
func (m *model) notified(n checkout.PayerNotice) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if !strings.HasSuffix(n.To.Email, "@example.ac.nz") || n.Subject == "" || n.Text == "" {
		m.fault("the notice %+v is sent", n)
	}
	m.notices[n.ID] = n.Subject
}
