package service_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// The mandates of confirmed orders end, and some are reinstated, while everything goes wrong.

// end has mandates of confirmed orders end or live again until calm, and the processes notified of it.
func (s *saga) end() {
	r := s.chance("end of mandates")
	for n := 0; !s.isCalm(); n++ {
		_ = s.sleep(context.Background(), r, between(r, time.Second, 20*time.Second))
		for _, c := range s.model.stored() {
			if c.Status != checkout.Confirmed || s.isCalm() || r.IntN(2) == 0 {
				continue
			}
			to := []checkout.MandateStatus{checkout.MandateFailed, checkout.MandateCancelled, checkout.MandateActive}[r.IntN(3)]
			s.bank.move(c.Setup.BillingRequestID, to)
			s.saw("a mandate became " + string(to))
			if r.IntN(4) > 0 { // or else a look finds out
				notified := checkout.Notification{ID: fmt.Sprint("EV", n, c.OrderID), Received: time.Now().UTC(), BillingRequestID: c.Setup.BillingRequestID}
				_ = s.process(r.IntN(3)).Notified(context.Background(), []checkout.Notification{notified})
			}
		}
	}
}

// move has a mandate reach a status now.
func (b *sagaBank) move(billingRequest string, to checkout.MandateStatus) {
	b.mu.Lock()
	defer b.mu.Unlock()
	moved := fulfilled
	moved.Mandate, moved.MandateSince = to, time.Now().UTC().Truncate(time.Millisecond)
	b.moved[billingRequest] = moved
}

// Notify is the notifier of the process.
func (p *process) Notify(_ context.Context, n checkout.PayerNotice) (checkout.Receipt, error) {
	r := p.saga.chance("notify " + n.ID)
	time.Sleep(between(r, time.Millisecond, 500*time.Millisecond))
	if err := p.running(r); err != nil {
		return checkout.Receipt{}, err
	}
	p.saga.model.lock.Lock()
	p.saga.model.notices[n.ID] = n.Subject
	p.saga.model.lock.Unlock()
	return checkout.Receipt{Reference: n.ID}, p.running(r)
}

// endings returns how many changes the mandate of a checkout has had of which everybody is told, by the journal.
func endings(r checkout.CheckoutRecord) (n int) {
	dead := false
	for _, m := range r.Moments {
		if m.Kind != checkout.MomentMandateChanged {
			continue
		}
		now := checkout.MandateStatus(strings.TrimPrefix(m.Detail, "mandate ")).Dead()
		if now || dead {
			n++
		}
		dead = now
	}
	return n
}

// judgeMandate judges what was told of the mandate of a checkout: each change by one event and one report, and by one notice unless
// it was no longer true; the CRM has the latest. The lock is held.
func (m *model) judgeMandate(r checkout.CheckoutRecord, e memory.CRMEnrolment) {
	c, want := r.Checkout, endings(r)
	got := map[string]int{}
	for _, j := range r.Jobs {
		kind, name := j.Job.Kind, j.Job.Name
		subject, sent := m.notices[j.Job.ID]
		switch {
		case kind == checkout.JobDeliver && events.Name(name) == events.MandateChanged, kind == checkout.JobAuthority:
			got[string(kind)]++
		case kind == checkout.JobNotify && checkout.NoticeKind(name).OfMandate():
			got[string(kind)]++
			if j.State == checkout.JobDone && strings.Contains(subject, "has ended") != (name != string(checkout.NoticeOfReinstatement)) {
				m.fault("notice %s of %s is sent as %q", name, c.OrderID, subject)
			}
		}
		if kind == checkout.JobNotify && (j.State == checkout.JobDone && !sent || j.State == checkout.JobDead) {
			m.fault("notice %s of %s is %s, and was sent: %v", name, c.OrderID, j.State, sent)
		}
	}
	for _, kind := range []checkout.JobKind{checkout.JobDeliver, checkout.JobAuthority, checkout.JobNotify} {
		if got[string(kind)] != want {
			m.fault("%s has %d jobs %q about its mandate, want %d: %+v", c.OrderID, got[string(kind)], kind, want, r.Jobs)
		}
	}
	says, moved := m.bank.moved[c.Setup.BillingRequestID]
	switch {
	case m.polled && moved && (c.Setup.Mandate != says.Mandate || !c.Setup.MandateSince.Equal(says.MandateSince)):
		m.fault("the bank says %s of %s since %s, and on record is %+v", says.Mandate, c.OrderID, says.MandateSince, c.Setup)
	case want > 0 && e.Setup.Mandate != c.Setup.Mandate:
		m.fault("the CRM has %s for %s, which is %s", e.Setup.Mandate, c.OrderID, c.Setup.Mandate)
	case want > 0:
		m.saw("an order of whose mandate everybody was told")
	}
}

// pollAll has every order polled, which finds out what no notification has said.
func (m *model) pollAll() {
	for _, c := range m.stored() {
		if c.Status == checkout.Confirmed {
			_, err := m.process(0).Checkout(context.Background(), caller, c.ID)
			m.noPanic(err)
		}
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	m.polled = true
}
