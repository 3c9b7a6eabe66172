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

// stores judges a change that a process has stored, or was refused: only who holds the latest lease of a job settles it, and nothing
// that is final changes.
func (m *model) stores(p *process, w *written, err error) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	next := w.change.Next
	switch {
	case errors.Is(err, ports.ErrDuplicate) && w.was.ID != "", errors.Is(err, checkout.ErrSettled):
		m.fault("%s decides what was decided of %s: %v", p.name, next.ID, err)
	case errors.Is(err, ports.ErrNotFound) && w.lease != nil:
		m.saw("a lease was lost")
	case err != nil:
	default:
		if l := w.lease; l != nil {
			m.holds(p, *l, "settles")
			m.held[l.Job.ID] = held{by: p, token: l.Token} // an extension may be under way, which puts it off a little more
		}
		if w.change.Remove {
			m.saw("a reservation was released")
		} else if w.was.ID != "" {
			m.follows(p, w.was, next)
		}
		for _, e := range w.change.Events {
			m.enters(p, e.ID, w.entry)
		}
		for _, j := range w.change.Jobs {
			if j.Kind == checkout.JobOpen || j.Kind == checkout.JobComplete {
				m.enters(p, j.ID, w.entry)
			}
		}
	}
	return err
}

// follows judges that a state of a checkout may follow another.
func (m *model) follows(p *process, was, next checkout.Checkout) {
	switch {
	case next.Intent != was.Intent, was.Status != checkout.Reserved && next.Records != was.Records,
		was.Confirmation.AgreementNumber != "" && next.Confirmation.AgreementNumber != was.Confirmation.AgreementNumber,
		was.Status == checkout.Confirmed && (next.Status != checkout.Confirmed || next.Confirmation != was.Confirmation),
		was.Status == checkout.Cancelled && next.Status != checkout.Cancelled,
		was.Ended() && next.End.At != was.End.At,
		was.Erased() && (!next.Erased() || next.Student != checkout.Student{}),
		next.Setup.Try < was.Setup.Try,
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
// which has reserved the checkout, or decided its confirm, and knows it, and no other.
func (m *model) answers(w *written, err error) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	switch {
	case err != nil:
	case w.was.ID == "":
		m.known[w.change.Next.RequestID] = true
	case w.change.Agreement != nil:
		m.known[w.change.Next.Confirmation.RequestID] = true
	}
	return err
}

// end returns the end of a lease by the clock that decides: a process asks for it at a time of its own.
func (m *model) end(asked time.Time, d time.Duration) time.Time {
	if m.plan.server {
		asked = time.Now()
	}
	return asked.Add(d).Truncate(time.Millisecond)
}

// enters notes that a job entered the queue.
func (m *model) enters(p *process, id string, q checkout.JobEntry) {
	if _, known := m.held[id]; !known && q.Hold > 0 {
		m.held[id] = held{p, 1, m.end(q.Now, q.Hold)}
	}
}

// holds judges what a process does with a lease.
func (m *model) holds(p *process, l checkout.Lease, does string) {
	if h := m.held[l.Job.ID]; h.by != p || h.token != l.Token {
		m.fault("%s %s %s with token %d, of which the latest lease is %+v", p.name, does, l.Job.ID, l.Token, h)
	}
}

// owns reports whether a process has a job.
func (m *model) owns(p *process, job string) bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	h := m.held[job]
	return h.by == p && h.until.After(time.Now())
}

// outlives judges a call that takes effect: the job for which it is made is still the caller's, as it was when the call began, unless
// an operator has ended the lease.
func (m *model) outlives(p *process, c call) {
	still := m.owns(p, c.job)
	m.lock.Lock()
	defer m.lock.Unlock()
	if h := m.held[c.job]; !still && !m.hastened[c.job] && (m.plan.server || !m.plan.clocks) {
		m.fault("%s has called %s for %s, of which the latest lease is of %s until %s", p.name, c.to, c.job, h.by.name, h.until)
	}
}

// leases judges the leases that a process gets: no job is leased again before its lease ends, if the clock that decides is right.
func (m *model) leases(p *process, q checkout.JobQuery, got []checkout.Lease) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, l := range got {
		switch before := m.held[l.Job.ID]; {
		case l.Token <= before.token, before.until.After(time.Now()) && (m.plan.server || !m.plan.clocks):
			m.fault("%s leases %s with token %d, which is leased as %+v", p.name, l.Job.ID, l.Token, before)
		case before.token > 0:
			m.saw("a job was leased again")
		}
		m.held[l.Job.ID] = held{p, l.Token, m.end(q.Now, q.For)}
	}
}

// extends judges a lease that a process extends or gives back.
func (m *model) extends(p *process, l checkout.Lease, now time.Time, d time.Duration, err error) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	switch {
	case errors.Is(err, ports.ErrNotFound):
		m.saw("a lease was lost")
	case err != nil:
	case d == 0:
		m.holds(p, l, "gives back")
		m.held[l.Job.ID] = held{by: p, token: l.Token}
	default:
		m.holds(p, l, "extends")
		m.held[l.Job.ID] = held{p, l.Token, m.end(now, d)}
		m.saw("a lease was extended")
	}
	return err
}

// hastens notes that an operator has ended a lease.
func (m *model) hastens(id string, err error) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	if h, known := m.held[id]; known && err == nil {
		h.until, m.hastened[id] = time.Time{}, true
		m.held[id] = h
	}
	return err
}

// sent judges an event that a receiver gets.
func (m *model) sent(e events.Event, attempt int) {
	c, err := m.store.Checkout(context.Background(), e.CheckoutID)
	before, listed := m.store.Jobs(context.Background(), checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}, CheckoutID: e.CheckoutID,
		OldestFirst: true}, 100)
	m.lock.Lock()
	defer m.lock.Unlock()
	because := c.Status == checkout.Confirmed || e.Name == events.CheckoutCreated && c.Status != checkout.Reserved
	if err != nil || !because || attempt > events.MaxAttempts {
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
	delete(m.lost.events, e.ID) // where what was lost has happened again as it was, by a clock that shows the same time
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
