package full_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/events"
)

// record is the lines of an export about one checkout.
type record struct {
	apiclient.Object                               // of kind checkout
	related          map[string][]apiclient.Object // the others, by kind
}

// readRecords reads the checkouts of an export.
func readRecords(t *testing.T, export string) (all []*record) {
	t.Helper()
	byID := make(map[string]*record)
	for line := range strings.Lines(export) {
		a, err := apiclient.ParseObject([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		kind, id := a.Text("kind"), a.Text("checkout_id")
		switch at := byID[id]; {
		case id == "": // a provider, a course or a key
		case kind == "checkout" && at == nil:
			byID[id] = &record{a, make(map[string][]apiclient.Object)}
			all = append(all, byID[id])
		case kind == "checkout" || at == nil:
			t.Errorf("the export has checkout %s twice, or after what belongs to it: %s", id, line)
		default:
			at.related[kind] = append(at.related[kind], a)
		}
	}
	return all
}

// order names the order of the checkout.
func (r *record) order() string { return r.Text("provider_code") + " " + r.Text("provider_order_id") }

// all returns a field of every record of the kind.
func (r *record) all(kind, field string) string {
	var values []string
	for _, a := range r.related[kind] {
		values = append(values, a.Text(field))
	}
	return strings.Join(values, " ")
}

// facts returns what is on record of a checkout, in the order of [enrolment.facts].
func (r *record) facts() []string {
	facts := []string{r.Text("status"), r.Text("idempotency_key"), r.Text("checkout_id")}
	for _, of := range [][2]string{{"contact", "contact_id"}, {"opportunity", "opportunity_id"}, {"dda", "dda_id"}, {"opportunity", "enrolment_status"},
		{"agreement", "agreement_id"}, {"agreement", "agreement_number"}, {"document", "agreement_number"}, {"event", "event"}} {
		facts = append(facts, r.all(of[0], of[1]))
	}
	return facts
}

// facts returns what must be on record of a confirmed enrolment, by the answers to its provider.
func (e *enrolment) facts() []string {
	all := []events.Name{events.CheckoutCreated, events.CheckoutConfirmed, events.AgreementGenerated}
	return []string{"confirmed", e.key, e.ids[0], e.ids[1], e.ids[2], e.ids[3], "complete", e.agreement[0], e.agreement[1], e.agreement[1],
		strings.Trim(fmt.Sprint(all), "[]")}
}

// checkDeliveries compares what the receiver got for a checkout with its events, in the order of their creation. If
// deliveries were held up on their way, a repeated delivery may come at any time.
func (r *record) checkDeliveries(t *testing.T, got []sandbox.Delivery, w *workload) {
	t.Helper()
	rank, came := make(map[string]int), make(map[string]bool)
	for i, e := range r.related["event"] {
		id := e.Text("event_id")
		rank[id] = i
		accepted, refused := w.verdicts.of(id)
		switch status := e.Text("status"); {
		case status == "delivered" && accepted > 0:
		case status == "failed" && refused >= events.MaxAttempts:
		case status == "pending" && w.unsettled:
		default:
			t.Errorf("%s has event %s %s, which the receiver accepted %d times and refused %d times", r.order(), id, status, accepted, refused)
		}
	}
	latest := 0
	for _, h := range got {
		id := h.JSON.Text("event_id")
		i, known := rank[id]
		switch {
		case !known && !w.restored:
			t.Errorf("%s had event %s delivered, which is not on record", r.order(), id)
			continue
		case !known:
			continue
		case i < latest && !(w.heldUp && came[id]):
			t.Errorf("%s had its event %d delivered after its event %d", r.order(), i+1, latest+1)
		}
		latest, came[id] = max(latest, i), true
	}
}

// checkSigned checks the headers of a delivery.
func checkSigned(t *testing.T, d sandbox.Delivery) {
	t.Helper()
	secrets := map[string]string{"KOWHAI": "whsec_kowhai_0123456789abcdef", "TUI": "whsec_tui_0123456789abcdefgh"}
	id, secret := d.JSON.Text("event_id"), secrets[strings.TrimRight(d.Provider, "0123456789")]
	if err := events.Verify(secret, d.Header.Get(events.HeaderSignature), d.Body, d.At, time.Minute); err != nil {
		t.Errorf("event %s of %s: %v", id, d.Provider, err)
	}
	if d.Header.Get(events.HeaderEventID) != id || d.JSON.Text("data.provider_code") != d.Provider {
		t.Errorf("event %s went to %s with the headers %v", id, d.Provider, d.Header)
	}
}

// missingOrders returns the orders of records that a store should have, and has not, or with another checkout or agreement.
func missingOrders(on, want []*record) (orders []string) {
	known := func(r *record) string { return r.Text("checkout_id") + " " + r.all("agreement", "agreement_number") }
	for _, r := range want {
		if !slices.ContainsFunc(on, func(has *record) bool { return has.order() == r.order() && strings.HasPrefix(known(has), known(r)) }) {
			orders = append(orders, r.order())
		}
	}
	return orders
}

// ledger has the meanings of identifiers in every life of a store, which may be restored again and again.
type ledger struct {
	meant map[string]string // by the identifier
	made  map[string]int    // the checkouts and agreements of an order
	wrong []string          // identifiers that stood for two things
}

// note notes what an identifier stands for, and reports whether it is new.
func (l *ledger) note(kind, id, meaning string) (isNew bool) {
	before, known := l.meant[kind+" "+id]
	if known && before != meaning {
		l.wrong = append(l.wrong, kind+" "+id+" is\n"+before+"\nand\n"+meaning)
	}
	if l.meant == nil {
		l.meant, l.made = make(map[string]string), make(map[string]int)
	}
	l.meant[kind+" "+id] = meaning
	return !known
}

// records notes what a store has on record.
func (l *ledger) records(on []*record) {
	for _, r := range on {
		order, id := r.order(), r.Text("checkout_id")
		if l.note("checkout", id, order+" of "+r.Text("created_at")) {
			l.made[order]++
		}
		for _, kind := range []string{"contact", "opportunity", "dda"} { // whatever life it is, an order has the same
			l.note(kind+" of", order, r.all(kind, kind+"_id"))
			l.note(kind, r.all(kind, kind+"_id"), order)
		}
		for _, a := range r.related["agreement"] {
			if l.note("agreement", a.Text("agreement_number"), id+" of "+order+" accepted "+a.Text("accepted_at")) {
				l.made[order]++
			}
		}
		for _, d := range r.related["document"] {
			l.note("document of", d.Text("agreement_number"), d.Text("sha256"))
		}
		for _, e := range r.related["event"] {
			l.note("event", e.Text("event_id"), e.Text("body"))
		}
	}
}

// twice returns how many orders had more than one checkout, or more than one agreement.
func (l *ledger) twice() (n int) {
	for _, made := range l.made {
		if made > 2 {
			n++
		}
	}
	return n
}
