package simulation_test

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
)

// In some worlds the store is lost with every process, and an older backup takes its place, as cmd/provider-checkout/docs/sqlite.md
// says. The clients send their later requests again. Of an order the records, the direct debit, and an agreement of a CRM outside
// stay what they were; no id stands for two things; and every kept checkpoint, witness and receipt that has more than the backup shows
// that something was lost. Calls on their way when the store is lost are lost too.

// loss is everything that was known of a store that was lost, and is not in its backup.
type loss struct {
	at       time.Time // zero before
	signed   []evidence.Checkpoint
	kept     int  // how many checkpoints were kept before
	moved    bool // the file with the newest of them is moved away
	receipts []evidence.Receipt
	events   map[string]bool // that were sent
	told     bool            // a process has said that a witness knows a longer log
}

// drawRestore draws when a backup is taken, and when the store is lost.
func (w *world) drawRestore() {
	r, _ := w.chance("restore")
	taken := w.storm.Add(between(r, 0, 30*time.Second))
	gone, forgets := taken.Add(between(r, 2*time.Second, 30*time.Second)), r.IntN(2) == 0
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
		w.restore(backup, !forgets)
		w.rest("the backup", 20*time.Second)
		w.model.lock.Lock()
		w.model.lost.moved = true
		w.model.lock.Unlock()
		for slot := range w.slots {
			if p := w.at(slot); p.ahead {
				p.end()
				p.replace()
			}
		}
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

// restore has a backup take the place of the store, with which all processes are lost, and starts others. The operator has moved the
// file of the checkpoint away before, or forgets to.
func (w *world) restore(backup *memory.Store, moved bool) {
	w.mu.Lock()
	all := slices.Clone(w.slots)
	for _, p := range all {
		if !p.isDead() {
			close(p.gone)
		}
	}
	w.store = backup
	w.mu.Unlock()
	w.model.restored(moved)
	p := w.newProcess("command restore", -1)
	do := operate.Operator{Store: store{w.store, p}, Keyring: w.ring, By: "Ana", Now: p.Now, Rand: p}
	w.actors.Go(func() {
		err := do.Record(context.Background(), evidence.Operation{Name: "restore", Subject: "backup.db", Changes: []string{"+ everything"}})
		w.model.noPanic(p, err)
	})
	for _, p := range all {
		p.end()
		p.replace()
	}
}

// restored has the model know no more than the clients and the outside do once a backup has taken the place of the store.
func (m *model) restored(moved bool) {
	ctx := context.Background()
	all := m.records()
	head, _ := m.store.EvidenceHead(ctx)
	unsealed, _ := m.store.UnsealedEvidence(ctx, 10_000)
	m.lock.Lock()
	defer m.lock.Unlock()
	l := &m.lost
	l.at, l.events, l.kept, l.moved = time.Now(), map[string]bool{}, len(m.kept), moved
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
	last := slices.IndexFunc(m.signed, func(signed []byte) bool { return bytes.Equal(signed, head.Checkpoint) })
	for _, signed := range m.signed[last+1:] {
		if c, _ := m.open(signed); c.Size > head.Size+int64(len(unsealed)) {
			l.signed = append(l.signed, c)
		}
	}
	m.signed = m.signed[:last+1]
	for _, o := range m.orders {
		m.forgets(o, on[o.name])
	}
	for _, list := range m.lists {
		if list.lost, list.ids = list.ids, map[string]bool{}; m.plan.clocks { // or else the list goes on behind every cursor, by the time
			list.after = 0
		}
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
		r, err := m.keys.OpenReceipt(done.Receipt)
		if err != nil {
			m.fault("%s was given the receipt %q: %v", o.name, done.Receipt, err)
		}
		m.lost.receipts = append(m.lost.receipts, r)
		o.confirmed, o.confirmedAt = nil, time.Time{}
		m.saw("an answered agreement was lost")
	}
}

// isNewest reports whether a checkpoint, without cosignatures, is that of the log. The lock is held.
func (m *model) isNewest(signed []byte) bool {
	n := len(m.signed)
	if n == 0 {
		return false
	}
	c, _ := m.open(signed)
	newest, _ := m.open(m.signed[n-1])
	return c == newest
}

// mayLack reports whether the store may lack what the CRM has: a backup took its place, and the clients have not sent everything again.
func (m *model) mayLack() bool { return !m.lost.at.IsZero() && !m.polled }

// isLost reports whether a checkpoint has an entry that was lost. The lock is held.
func (m *model) isLost(c evidence.Checkpoint) bool {
	return slices.ContainsFunc(m.lost.signed, func(l evidence.Checkpoint) bool { return l.Size == c.Size && l.Root == c.Root })
}

// knows notes the newest checkpoint that a process knows, and whether the log is behind it.
func (m *model) knows(p *process, signed []byte) {
	head, err := m.store.EvidenceHead(context.Background())
	m.lock.Lock()
	defer m.lock.Unlock()
	if p.known, _ = m.open(signed); err == nil && p.known.Size > head.Size {
		p.ahead = true
	}
}

// showsLoss judges that a receipt, and what is kept elsewhere, show what was lost. The lock is held.
func (m *model) showsLoss(log evidencelog.Log) {
	for _, r := range m.lost.receipts {
		log.Receipt, log.Now = &r, time.Now()
		if verdicts, err := log.CheckReceipt(context.Background()); err != nil || len(evidencelog.Texts(verdicts, evidencelog.Failed)) == 0 {
			m.fault("the receipt %+v of what was lost is not broken: %v, %v", r, verdicts, err)
		}
		m.saw("a receipt showed what was lost")
	}
	if m.witness != nil && m.isLost(m.witness.known) {
		m.saw("a witness showed what was lost")
		if !m.lost.told {
			m.fault("no process has said that the witness knows a longer log: %+v", m.witness.known)
		}
	}
}
