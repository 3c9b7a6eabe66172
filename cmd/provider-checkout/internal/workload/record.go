package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// Record is the lines of an export about one checkout.
type Record struct {
	apiclient.Object                               // of kind checkout
	Related          map[string][]apiclient.Object // the others, by kind
}

// ReadRecords reads the checkouts of an export.
func ReadRecords(t *testing.T, export string) (all []*Record) {
	t.Helper()
	byID := make(map[string]*Record)
	for line := range strings.Lines(export) {
		a, err := apiclient.ParseObject([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		kind, id := a.Text("kind"), a.Text("checkout_id")
		switch at := byID[id]; {
		case id == "": // a provider, a course or a key
		case kind == "checkout" && at == nil:
			byID[id] = &Record{a, make(map[string][]apiclient.Object)}
			all = append(all, byID[id])
		case kind == "checkout" || at == nil:
			t.Errorf("the export has checkout %s twice, or after what belongs to it: %s", id, line)
		default:
			at.Related[kind] = append(at.Related[kind], a)
			schedule, _ := a.At("facts.schedule").([]any)
			for _, c := range schedule {
				charge, _ := c.(map[string]any)
				at.Related["charge"] = append(at.Related["charge"], charge)
			}
		}
	}
	return all
}

// order names the order of the checkout.
func (r *Record) order() string { return r.Text("provider_code") + " " + r.Text("provider_order_id") }

// check compares the record of a confirmed checkout with the answers to its provider, and checks its consistency.
func (r *Record) check(t *testing.T, e *Enrolment) {
	t.Helper()
	wrong := r.complain(t)
	if ids := [4]string{r.Text("checkout_id"), r.Text("contact_id"), r.Text("opportunity_id"), r.Text("dda_id")}; ids != e.IDs {
		wrong("has the ids %q, its provider got %q", ids, e.IDs)
	}
	if r.Text("status") != "confirmed" || r.Text("idempotency_key") != e.key {
		wrong("is %s under the key %q, want confirmed under %q", r.Text("status"), r.Text("idempotency_key"), e.key)
	}
	for i, kind := range []string{"contact", "opportunity", "dda"} {
		if got := r.all(kind, kind+"_id"); !slices.Equal(got, e.IDs[i+1:i+2]) {
			wrong("has the records %q of kind %s, its provider got %q", got, kind, e.IDs[i+1])
		}
	}
	if got := r.all("opportunity", "enrolment_status"); !slices.Equal(got, []string{"complete"}) {
		wrong("has the enrolment %q, want it complete", got)
	}
	if got := r.all("agreement", "agreement_id"); !slices.Equal(got, e.Agreement[:1]) {
		wrong("has the agreements %q, its provider got %q", got, e.Agreement[0])
	}
	for _, kind := range []string{"agreement", "document"} {
		if got := r.all(kind, "agreement_number"); !slices.Equal(got, e.Agreement[1:]) {
			wrong("has the numbers %q of kind %s, its provider got %q", got, kind, e.Agreement[1])
		}
	}
	r.checkCharges(t)
	want := []string{string(events.CheckoutCreated), string(events.CheckoutConfirmed), string(events.AgreementGenerated)}
	if got := r.all("event", "event"); !slices.Equal(got, want) {
		wrong("has the events %q, want %q", got, want)
	}
}

// complain returns a function that reports a fault of the checkout.
func (r *Record) complain(t *testing.T) func(format string, args ...any) {
	return func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s %s", r.order(), fmt.Sprintf(format, args...))
	}
}

// all returns a field of every record of the kind.
func (r *Record) all(kind, field string) (values []string) {
	for _, a := range r.Related[kind] {
		values = append(values, a.Text(field))
	}
	return values
}

// checkCharges checks that the charges are one schedule of the whole price.
func (r *Record) checkCharges(t *testing.T) {
	t.Helper()
	wrong := r.complain(t)
	number, upfront := r.amount("plan.number_of_instalments")/100, r.amount("pricing.upfront_payment")
	if upfront > 0 {
		number++
	}
	charges, sum := r.Related["charge"], money.Cents(0)
	for i, c := range charges {
		if got := fmt.Sprint(c.At("sequence")); got != fmt.Sprint(i+1) {
			wrong("has the charge %s in place %d", got, i+1)
		}
		sum += (&Record{Object: c}).amount("amount")
	}
	if price := r.amount("pricing.course_price"); sum != price || len(charges) != int(number) {
		wrong("has %d charges of %v together, want %d of %v", len(charges), sum, number, price)
	}
}

// amount returns the number at a path in cents, or -1.
func (r *Record) amount(path string) money.Cents {
	n, _ := r.At(path).(json.Number)
	c, err := money.Parse(n.String())
	if err != nil {
		return -1
	}
	return c
}

// checkDeliveries compares what the receiver got for a checkout with its events, in the order of their creation. If
// deliveries were held up on their way, a repeated delivery may come at any time.
func (r *Record) checkDeliveries(t *testing.T, got []sandbox.Delivery, w *Workload) {
	t.Helper()
	wrong := r.complain(t)
	rank, came := make(map[string]int), make(map[string]bool)
	for i, e := range r.Related["event"] {
		id := e.Text("event_id")
		rank[id] = i
		accepted, refused := w.Verdicts.of(id)
		switch status := e.Text("status"); {
		case status == "delivered" && accepted > 0:
		case status == "failed" && refused >= events.MaxAttempts:
		case status == "pending" && w.Unsettled:
		default:
			wrong("has event %s %s, which the receiver accepted %d times and refused %d times", id, status, accepted, refused)
		}
	}
	latest := 0
	for _, h := range got {
		id := h.JSON.Text("event_id")
		i, known := rank[id]
		switch {
		case !known:
			wrong("had event %s delivered, which is not on record", id)
			continue
		case string(h.Body) != r.Related["event"][i].Text("body"):
			wrong("had event %s delivered as %q, on record is %q", id, h.Body, r.Related["event"][i].Text("body"))
		case i < latest && !(w.HeldUp && came[id]):
			wrong("had its event %d delivered after its event %d", i+1, latest+1)
		}
		latest, came[id] = max(latest, i), true
	}
}

// checkSigned checks every delivery's signature, and that all deliveries of one event id are the same.
func checkSigned(t *testing.T, all []sandbox.Delivery) {
	t.Helper()
	secrets := map[string]string{"KOWHAI": "whsec_kowhai_0123456789abcdef", "TUI": "whsec_tui_0123456789abcdefgh"}
	bodies := make(map[string][]byte)
	for _, h := range all {
		id := h.JSON.Text("event_id")
		secret := secrets[strings.TrimRight(h.Provider, "0123456789")]
		if err := events.Verify(secret, h.Header.Get(events.HeaderSignature), h.Body, h.At, time.Minute); err != nil {
			t.Errorf("event %s of %s: %v", id, h.Provider, err)
		}
		if h.Header.Get(events.HeaderEventID) != id || h.JSON.Text("data.provider_code") != h.Provider {
			t.Errorf("event %s went to %s with the headers %v", id, h.Provider, h.Header)
		}
		if first, known := bodies[id]; known && !bytes.Equal(first, h.Body) {
			t.Errorf("event %s was delivered as %q and as %q", id, first, h.Body)
		}
		bodies[id] = h.Body
	}
}
