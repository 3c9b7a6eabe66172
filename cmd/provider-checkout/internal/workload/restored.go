package workload

import (
	"strings"
	"testing"
)

// Restored has the clients know no more of their enrolments than a store that was restored to an earlier moment has on
// record, and complete all of them again.
func (r *Workload) Restored(on []*Record) {
	r.restored = true
	byOrder := make(map[string]*Record)
	for _, record := range on {
		byOrder[record.order()] = record
	}
	es := &r.Enrolments
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, e := range es.All {
		switch record := byOrder[e.Provider+" "+e.Order]; {
		case record == nil:
			*e = Enrolment{Provider: e.Provider, Order: e.Order, key: e.key, Body: e.Body}
		case record.Text("status") != "confirmed":
			e.setUp, e.Agreement, e.Confirmed = false, [2]string{}, 0
		}
	}
	es.Open = append([]*Enrolment(nil), es.All...)
}

// checkDelivered checks that the receiver has accepted every event on record.
func (r *Workload) checkDelivered(t *testing.T, byOrder map[string]*Record) {
	t.Helper()
	for _, on := range byOrder {
		for _, e := range on.Related["event"] {
			if accepted, _ := r.Verdicts.of(e.Text("event_id")); accepted == 0 || e.Text("status") != "delivered" {
				t.Errorf("%s has event %s %s, which the receiver accepted %d times", on.order(), e.Text("event_id"), e.Text("status"), accepted)
			}
		}
	}
}

// Missing returns the orders of records that a store should have, and has not, or with another checkout or agreement.
func Missing(on, want []*Record) (orders []string) {
	has := make(map[string]string)
	for _, r := range on {
		has[r.order()] = r.Text("checkout_id") + " " + strings.Join(r.all("agreement", "agreement_number"), " ")
	}
	for _, r := range want {
		if !strings.HasPrefix(has[r.order()], r.Text("checkout_id")+" "+strings.Join(r.all("agreement", "agreement_number"), " ")) {
			orders = append(orders, r.order())
		}
	}
	return orders
}

// Ledger has the meanings of identifiers in every life of a store that is restored again and again.
type Ledger struct {
	meant map[string]string          // by the identifier
	order map[string]map[string]bool // the agreement numbers and checkout ids of an order
	Wrong []string                   // identifiers that stood for two things
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{meant: make(map[string]string), order: make(map[string]map[string]bool)}
}

// note notes what an identifier stands for.
func (l *Ledger) note(kind, id, meaning string) {
	if before, known := l.meant[kind+" "+id]; known && before != meaning {
		l.Wrong = append(l.Wrong, kind+" "+id+" is\n"+before+"\nand\n"+meaning)
	}
	l.meant[kind+" "+id] = meaning
}

// Record notes what a store has on record.
func (l *Ledger) Record(on []*Record) {
	for _, r := range on {
		order, id := r.order(), r.Text("checkout_id")
		if l.order[order] == nil {
			l.order[order] = make(map[string]bool)
		}
		l.order[order][id] = true
		l.note("checkout", id, order+" of "+r.Text("created_at"))
		for _, kind := range []string{"contact", "opportunity", "dda"} { // whatever life it is, an order has the same
			l.note(kind+" of", order, strings.Join(r.all(kind, kind+"_id"), " "))
		}
		for _, a := range r.Related["agreement"] {
			l.order[order][a.Text("agreement_number")] = true
			l.note("agreement", a.Text("agreement_number"), id+" of "+order+" accepted "+a.Text("accepted_at"))
		}
		for _, d := range r.Related["document"] {
			l.note("document of", d.Text("agreement_number"), d.Text("sha256"))
		}
		for _, e := range r.Related["event"] {
			l.note("event", e.Text("event_id"), e.Text("body"))
		}
	}
}

// Deliveries notes what the receiver of a workload got.
func (l *Ledger) Deliveries(r *Workload) {
	for _, d := range r.Receiver.Deliveries() {
		l.note("event", d.JSON.Text("event_id"), string(d.Body))
	}
}

// Twice returns how many orders had more than one checkout, or more than one agreement.
func (l *Ledger) Twice() (n int) {
	for _, ids := range l.order {
		if len(ids) > 2 {
			n++
		}
	}
	return n
}
