package simulation_test

import (
	"context"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// In some worlds the store is lost with every process, and an older backup takes its place, as cmd/provider-checkout/docs/operating.md
// says. The clients send their later requests again. Of an order the records, the direct debit, and an agreement of a CRM outside
// stay what they were, and no id stands for two things. Calls on their way when the store is lost are lost too.

// loss is everything that was known of a store that was lost, and is not in its backup.
type loss struct {
	at     time.Time       // zero before
	events map[string]bool // that were sent
}

// drawRestore draws when a backup is taken, and when the store is lost.
func (w *world) drawRestore() {
	r, _ := w.chance("restore")
	taken := w.storm.Add(between(r, 0, 30*time.Second))
	gone := taken.Add(between(r, 2*time.Second, 30*time.Second))
	if chosen := r.IntN(16) == 0; !chosen || !w.decides("the store is lost") {
		return
	}
	if end := gone.Add(25 * time.Second); end.After(w.calm) {
		w.calm = end
	}
	w.actors.Go(func() {
		w.rest("the backup", time.Until(taken))
		backup := w.store.Copy()
		w.rest("the backup", time.Until(gone))
		if w.model.endedSince(backup) {
			return
		}
		w.saw("a store was restored")
		w.restore(backup)
	})
}

// endedSince reports whether an enrolment has ended since the backup: no document says what becomes of an end that a CRM outside has,
// and the store has no more.
func (m *model) endedSince(backup *memory.Store) bool {
	return slices.ContainsFunc(m.records(), func(r checkout.CheckoutRecord) bool {
		before, err := backup.Checkout(context.Background(), r.Checkout.ID)
		return r.Checkout.Ended() && (err != nil || !before.Ended())
	})
}

// restore has a backup take the place of the store, with which all processes are lost, and starts others.
func (w *world) restore(backup *memory.Store) {
	w.mu.Lock()
	all := slices.Clone(w.slots)
	for _, p := range all {
		if !p.isDead() {
			close(p.gone)
		}
	}
	w.store = backup
	w.mu.Unlock()
	w.model.restored()
	for _, p := range all {
		p.end()
		p.replace()
	}
}

// restored has the model know no more than the clients and the outside do once a backup has taken the place of the store.
func (m *model) restored() {
	all := m.records()
	m.lock.Lock()
	defer m.lock.Unlock()
	l := &m.lost
	l.at, l.events = time.Now(), map[string]bool{}
	m.held, m.hastened = map[string]held{}, map[string]bool{}
	for id := range m.bodies {
		l.events[id] = true
	}
	on := map[string]checkout.Checkout{}
	for _, r := range all {
		on[r.Checkout.ProviderCode+" "+r.Checkout.OrderID] = r.Checkout
		for _, e := range r.Events() {
			delete(l.events, e.Event.ID)
		}
	}
	for _, o := range m.orders {
		m.forgets(o, on[o.name])
	}
	for _, list := range m.lists {
		list.lost, list.ids, list.after = list.ids, map[string]bool{}, checkout.Cursor{} // a cursor is of one store
	}
}

// forgets has the clients of an order know no more than what is on record. The lock is held.
func (m *model) forgets(o *order, c checkout.Checkout) {
	o.refused = map[checkout.Intent]bool{}
	o.died = o.died || c.Setup.MandateID == ""
	if o.first != nil && o.first.Checkout.ID != c.ID {
		o.first, o.openedAt = nil, time.Time{}
		m.saw("an answered checkout was lost")
	}
	if done := o.confirmed; done != nil && done.AgreementNumber != c.Confirmation.AgreementNumber {
		o.confirmed, o.confirmedAt = nil, time.Time{}
		m.saw("an answered agreement was lost")
	}
}

// mayLack reports whether the store may lack what the CRM has: a backup took its place, and the clients have not sent everything again.
func (m *model) mayLack() bool { return !m.lost.at.IsZero() && !m.polled }
