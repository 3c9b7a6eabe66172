package simulation_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// In some worlds time passes at the end, until personal data has been kept for long enough. It goes then, and nothing before its time;
// figures, dates, ids, events and hashes stay.

// era is a time that a world reaches, and the providers whose agreements are over by then.
type era struct {
	checkout.Retention
	at   time.Time
	over string
}

// eras are the times that a world may reach; the first is its own. The last payments to RATA are in 2027, the last ones to KOWHAI in the
// first days of February 2028.
var eras = []era{
	{},
	{shortest, time.Date(2000, 3, 1, 0, 0, 0, 0, time.UTC), ""},
	{shortest, time.Date(2034, 12, 15, 0, 0, 0, 0, time.UTC), "RATA"},
	{shortest, time.Date(2035, 3, 1, 0, 0, 0, 0, time.UTC), "RATA KOWHAI"},
}

var shortest = checkout.Retention{AbandonedDays: checkout.MinAbandonedDays, AgreedYears: checkout.MinAgreedYears}

// ages has time pass while no process runs, and a process starts then, while things go wrong once more. What needs the data is done before.
func (w *world) ages(e era) {
	for n := 0; n < 40 && w.model.needsData(); n++ {
		w.rest("the world", 5*time.Second)
	}
	for slot := range w.slots {
		w.at(slot).end()
	}
	w.processes.Wait()
	w.slots = w.slots[:1]
	was := w.model.records()
	w.rest("the world", time.Until(e.at))
	w.storm, w.calm = time.Now(), time.Now().Add(5*time.Second)
	w.at(0).replace()
	w.rest("the world", time.Until(w.calm))
	for n := 0; n < 14 && !w.model.aged(was, e.over, n == 13); n++ { // what failed is done again a minute later
		w.rest("the world", 5*time.Second)
	}
	w.enrol("later") // which is answered as before
}

// needsData reports whether a job waits that keeps its checkout from being erased.
func (m *model) needsData() bool {
	waiting, err := m.store.Jobs(context.Background(), checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobSync, checkout.JobEnd},
		State: checkout.JobPending}, 1)
	return err == nil && len(waiting) > 0
}

// aged judges what is on record after time has passed, and what was before, and reports whether everything is erased that is over,
// which must be so at last.
func (m *model) aged(before []checkout.CheckoutRecord, over string, last bool) (done bool) {
	done = true
	now := m.records()
	m.lock.Lock()
	defer m.lock.Unlock()
	for i, r := range now {
		was, c := before[i].Checkout, r.Checkout
		pdf, _ := m.store.Document(context.Background(), c.ID)
		isOver := c.Status != checkout.Confirmed || strings.Contains(over, c.ProviderCode)
		personal := fmt.Sprintf("%+v %+v %+v %+v %s", c, r.Agreement, r.Jobs, r.Moments, pdf.Bytes)
		switch {
		case c.ID != was.ID, c.Status != was.Status, c.Intent != was.Intent, c.Confirmation != was.Confirmation,
			!c.End.At.Equal(was.End.At), c.CourseCode != was.CourseCode, m.stays(r) != m.stays(before[i]):
			m.fault("%+v of %+v is left after the retention", r, before[i])
		case !isOver && (c.Student != was.Student || c.Setup != was.Setup || c.Erased() != was.Erased()):
			m.fault("%+v is erased before its time: %+v", was, c)
		case !isOver:
		case !c.Erased(), len(pdf.Bytes) > 0, strings.Contains(personal, "Ngata"), strings.Contains(personal, "NGATA"),
			strings.Contains(personal, "@example"), strings.Contains(personal, "01-0902"), was.Setup.MandateID != "" && strings.Contains(personal, was.Setup.MandateID):
			if done = false; last {
				m.fault("%+v is left after the retention of %+v", r, was)
			}
		case was.Erased():
			m.saw("the retention: what had been erased before")
		default:
			m.saw("the retention: " + string(c.Status))
		}
		for _, o := range m.orders {
			o.erasing = o.erasing || isOver && o.provider == c.ProviderCode && o.id == c.OrderID
		}
	}
	return done
}

// stays returns everything of a record that stays beside its checkout: for ever, or for longer than it is old.
func (m *model) stays(r checkout.CheckoutRecord) string {
	var all []any
	if a := r.Agreement; a != nil {
		all = append(all, a.Number, a.AcceptedAt, a.Pricing, a.Plan)
	}
	for _, e := range r.Events() {
		if time.Since(m.began) < checkout.EventsKept {
			all = append(all, e.Event.ID, string(e.Event.Body))
		}
	}
	return fmt.Sprint(all...)
}
