package simulation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/memcrm"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// This file judges what there is once nothing goes wrong any more.

// settled judges what is on record, at the CRM, at the bank and at the receivers.
func (m *model) settled() {
	records := map[string]checkout.CheckoutRecord{}
	all := m.records()
	m.lock.Lock()
	defer m.lock.Unlock()
	unsent := maps.Clone(m.bodies)
	for _, r := range all {
		name := r.Checkout.ProviderCode + " " + r.Checkout.OrderID
		if _, twice := records[name]; twice {
			m.fault("%s is on record twice", name)
		}
		records[name] = r
		m.judgeEvents(r, unsent)
		m.judgeJournal(r)
		if m.plan.crm {
			m.judgeEnrolment(r, m.crm.Record(r.Checkout))
		}
	}
	if len(unsent) > 0 {
		m.fault("events %q were sent and are not on record", slices.Collect(maps.Keys(unsent)))
	}
	if n := len(m.crm.Records()); n > len(all) {
		m.fault("the CRM has %d enrolments, and %d are on record", n, len(all))
	}
	for _, o := range m.orders {
		r := records[o.name]
		m.judgeOrder(o, r)
		if r.Checkout.ID != "" {
			m.judgeEnd(o, r)
			m.judgeMandate(o, r)
		}
	}
}

// judgeOrder judges what there is of an order.
func (m *model) judgeOrder(o *order, r checkout.CheckoutRecord) {
	c := r.Checkout
	switch {
	case c.ID == "" && o.first != nil:
		m.fault("%s is not on record, though it was answered %+v", o.name, *o.first)
	case c.ID == "":
	case (c.Confirmation.AgreementNumber != "") != (c.Status == checkout.Confirmed):
		m.fault("%s is %q with %+v", o.name, c.Status, c.Confirmation)
	case o.first != nil && (c.ID != o.first.Checkout.ID || c.Intent != o.first.Checkout.Intent):
		m.fault("%s is %+v on record, and was answered as %+v", o.name, c, o.first.Checkout)
	case o.refused[c.Intent], c.Student.LastName == "Refused":
		m.fault("%s has an intent or a student on record that was refused: %+v", o.name, c)
	case o.confirmed != nil && *o.confirmed != c.Confirmation:
		m.fault("%s was answered as confirmed with %+v, and is on record with %+v", o.name, *o.confirmed, c.Confirmation)
	case c.Erased() && (!o.erasing || c.Student != checkout.Student{} || c.Setup.AccountMask != ""):
		m.fault("%s was erased: %+v", o.name, c)
	case c.Status == checkout.Confirmed && (o.setUp.IsZero() || r.Agreement == nil || (c.Confirmation.PDFGenerated() && !c.Erased()) != (r.Document > 0)):
		m.fault("%s is confirmed with %+v, agreement %v and a document of %d bytes", o.name, c.Confirmation, r.Agreement, r.Document)
	case c.Status == checkout.Confirmed && len(r.Agreement.Differences(c.Stated(*r.Agreement, catalogue.Sandbox))) > 0:
		m.fault("%s is confirmed with the agreement %+v, and on record is %+v", o.name, r.Agreement, c)
	case c.Status != checkout.Confirmed && (r.Agreement != nil || r.Document > 0):
		m.fault("%s is %q with agreement %v", o.name, c.Status, r.Agreement)
	}
	if number := c.Confirmation.AgreementNumber; c.Status == checkout.Confirmed {
		if m.saw("a confirmed order"); m.numbers[number] != "" && m.numbers[number] != c.ID {
			m.fault("agreement %s is of %s, and of %s", number, c.ID, m.numbers[number])
		}
		m.numbers[number] = c.ID
	}
}

// judgeEnrolment judges what the CRM has of a checkout: what is on record, by the stages that lead to it. While a rule of its own
// refuses the student it has nothing. Erased data is not taken there any more.
func (m *model) judgeEnrolment(r checkout.CheckoutRecord, e memcrm.Record) {
	c, has, path := r.Checkout, e.Checkout, "open"
	i := slices.IndexFunc(r.Jobs, func(j checkout.JobRecord) bool { return j.Kind == checkout.JobSync })
	switch {
	case c.Withdrawn() && slices.Contains(e.Stages, "complete"):
		path = "open complete withdrawn"
	case c.Withdrawn():
		path = "open withdrawn"
	case c.Ended():
		path = "open cancelled"
	case c.Status == checkout.Confirmed:
		path = "open complete"
	}
	switch {
	case i < 0, r.Jobs[i].State == checkout.JobFailed:
		m.fault("the CRM is not to be told of %+v: %+v", c, r.Jobs)
	case c.Erased(), !m.polled && r.Jobs[i].State == checkout.JobPending: // what has just changed
	case strings.Join(e.Stages, " ") != path, has.Student != c.Student, has.Intent != c.Intent, has.Confirmation != c.Confirmation, has.End != c.End,
		has.SetupComplete() != c.SetupComplete(), c.Status == checkout.Confirmed && has.Setup.Observation != c.Setup.Observation:
		m.fault("the CRM has %+v by %q, and on record is %+v: %+v", has, e.Stages, c, r.Jobs[i])
	case c.Status != checkout.Confirmed:
		m.saw("an enrolment that the CRM has")
	case e.Agreement == nil, e.Agreement.Number != c.Confirmation.AgreementNumber, (e.Document != nil) != c.Confirmation.PDFGenerated(),
		e.Document != nil && string(e.Document.Bytes) != "%PDF of "+e.Agreement.Number:
		m.fault("the CRM has agreement %+v with document %v of %+v", e.Agreement, e.Document, c)
	default:
		m.saw("an enrolment that the CRM has")
	}
}

// judgeEnd judges the end of an order: one, as it was answered.
func (m *model) judgeEnd(o *order, r checkout.CheckoutRecord) {
	c := r.Checkout
	switch {
	case !o.cancelled.IsZero() && c.Status != checkout.Cancelled, o.withdrawn && !c.Withdrawn():
		m.fault("%s is %s, %+v; answered that it is cancelled: %s, withdrawn: %v", o.name, c.Status, c.End, o.cancelled, o.withdrawn)
	case c.Ended() != (c.Status == checkout.Cancelled || c.Withdrawn()), c.ToEnd():
		m.fault("%s is %s with %+v and %+v", o.name, c.Status, c.End, c.Setup)
	}
	if id := c.Setup.BillingRequestID; c.Ended() && id != "" && m.polled {
		if seen := m.bank.seen(id); seen.BillingRequest != checkout.BillingCancelled && !seen.Mandate.Dead() {
			m.fault("%s has ended, and the bank has %+v", o.name, seen)
		}
	}
	if c.Ended() {
		m.saw("an ended order: " + string(c.Status))
	}
}

// judgeEvents judges the events of a checkout, and takes the events sent off the list.
func (m *model) judgeEvents(r checkout.CheckoutRecord, unsent map[string][]byte) {
	c, want := r.Checkout, []events.Name{events.CheckoutCreated}
	if c.Status == checkout.Confirmed {
		want = append(want, events.CheckoutConfirmed)
		if c.Confirmation.PDFGenerated() {
			want = append(want, events.AgreementGenerated)
		}
	}
	var got []events.Name
	latest := c.CreatedAt
	for _, e := range r.Events() {
		if e.Event().CreatedAt.Before(latest) && !m.plan.clocks {
			m.fault("event %s of %s is of %s, after what is of %s", e.Event().Name, c.OrderID, e.Event().CreatedAt, latest)
		}
		latest = e.Event().CreatedAt
		var body struct{ Data map[string]string }
		err := json.Unmarshal(e.Event().Body, &body)
		d := body.Data
		for field, id := range map[string]string{"checkout_id": c.ID, "opportunity_id": c.Records(catalogue.Sandbox).OpportunityID, "provider_order_id": c.OrderID} {
			if err != nil || d[field] != id {
				m.fault("event %s of %s has %s %q, want %q", e.Event().Name, c.OrderID, field, d[field], id)
			}
		}
		_, sent := unsent[e.Event().ID]
		switch {
		case e.EventStatus() == events.Pending && (m.polled || !m.hadOutage("receiver")), e.EventStatus() == events.Delivered && !sent,
			e.EventStatus() == events.NotConfigured:
			m.fault("event %s of %s was sent: %v, and is %s after %d attempts", e.Event().Name, c.OrderID, sent, e.EventStatus(), e.Attempts)
		case e.EventStatus() == events.Failed && e.Attempts < events.MaxAttempts:
			m.fault("event %s of %s has failed after %d attempts", e.Event().Name, c.OrderID, e.Attempts)
		}
		delete(unsent, e.Event().ID)
		got = append(got, e.Event().Name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		m.fault("%s is %q with events %q, want %q", c.OrderID, c.Status, got, want)
	}
}

// hadOutage reports whether many calls of a system failed: then it is left alone for up to a minute.
func (m *model) hadOutage(to string) bool {
	rate := 0
	for _, kind := range kinds[to] {
		rate += m.plan.rates[to+" "+kind]
	}
	return rate > 20 || slices.ContainsFunc(m.partitions, func(o partition) bool { return o.to == to })
}

// ends returns how many ends the mandate of a checkout has had of which the payer is told, by the journal: from the moment at which it
// was confirmed.
func (m *model) ends(r checkout.CheckoutRecord) (n int) {
	dead, confirmed := false, false
	for _, moment := range r.Moments {
		switch status, ok := strings.CutPrefix(moment.Detail, "mandate "); {
		case moment.Kind == checkout.MomentConfirmed:
			confirmed = true
		case !ok:
			continue
		default:
			dead = checkout.MandateStatus(status).Dead()
		}
		if confirmed && dead {
			n++
		}
	}
	return n
}

// judgeMandate judges what was told of the mandate of a checkout: each end by one notice, unless it was no longer true.
func (m *model) judgeMandate(o *order, r checkout.CheckoutRecord) {
	c, want, notices := r.Checkout, m.ends(r), 0
	if c.Status != checkout.Confirmed {
		return
	}
	for _, j := range r.Jobs {
		if j.Kind != checkout.JobNotify {
			continue
		}
		subject, sent := m.notices[j.ID]
		ofEnd := j.Name == string(checkout.NoticeOfMandateEnd)
		if ofEnd {
			notices++
		}
		switch {
		case j.State == checkout.JobDone && !sent:
			m.fault("notice %s of %s is %s, and was not sent", j.Name, o.name, j.State)
		case j.State == checkout.JobDone && ofEnd && !strings.Contains(subject, "has ended"):
			m.fault("notice %s of %s is sent as %q", j.Name, o.name, subject)
		}
	}
	says := m.bank.seen(c.Setup.BillingRequestID)
	since := c.Setup.MandateSince.Equal(says.MandateSince)
	if m.plan.far { // a status to which a mandate comes back between two looks seems to last; the list may not have that of a new mandate yet
		since = !c.Setup.MandateSince.After(says.MandateSince) && !(c.Setup.Mandate.Dead() && c.Setup.MandateSince.IsZero())
	}
	switch {
	case m.plan.mail && !c.Ended() && notices != want:
		m.fault("%s has %d notices about its mandate, want %d: %+v", o.name, notices, want, r.Jobs)
	case m.polled && !c.Erased() && (c.Setup.Mandate != says.Mandate || !since):
		m.fault("the bank says %s of %s since %s, and on record is %+v", says.Mandate, o.name, says.MandateSince, c.Setup)
	case want > 0:
		m.saw("an order of whose mandate everybody was told")
	}
}

// judgeJournal judges the journal of a checkout, and that nothing of it is left to be done but to look at its setup.
func (m *model) judgeJournal(r checkout.CheckoutRecord) {
	c, got, want, latest := r.Checkout, map[checkout.MomentKind]int{}, map[checkout.MomentKind]int{}, int64(0)
	for _, moment := range r.Moments {
		if got[moment.Kind]++; moment.Position < latest || moment.Times < 1 || moment.Actor == "" {
			m.fault("a moment of %s is %+v, after %d", c.OrderID, moment, latest)
		}
		latest = moment.Position
	}
	for status, kind := range map[checkout.Status]checkout.MomentKind{checkout.Confirmed: checkout.MomentConfirmed, checkout.Cancelled: checkout.MomentCancelled} {
		want[kind] = map[bool]int{true: 1}[c.Status == status]
	}
	want[checkout.MomentWithdrawn] = map[bool]int{true: 1}[c.Withdrawn()]
	putOff := false // a notice, and with it the next ones
	for _, j := range r.Jobs {
		putOff = putOff || j.Kind == checkout.JobNotify && j.State == checkout.JobPending && j.Failure.Reason != ""
		switch {
		case j.State == checkout.JobPending:
			waits := j.Kind == checkout.JobDeliver && !m.polled && m.hadOutage("receiver") ||
				j.Kind == checkout.JobNotify && (!m.plan.mail || m.hadOutage("mail") || putOff) ||
				j.Kind == checkout.JobLook || j.Kind == checkout.JobSync // of which judgeEnrolment judges the effect
			if !waits {
				m.fault("job %s of %s is pending: %+v", j.ID, c.OrderID, j)
			}
		case j.Kind == checkout.JobDeliver && j.State == checkout.JobDone:
			want[checkout.MomentEventDelivered]++
		}
	}
	for kind, n := range want {
		if got[kind] != n {
			m.fault("the journal of %s has %d moments %q, want %d: %+v", c.OrderID, got[kind], kind, n, r.Moments)
		}
	}
}

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
			all = append(all, e.Event().ID, string(e.Event().Body))
		}
	}
	return fmt.Sprint(all...)
}
