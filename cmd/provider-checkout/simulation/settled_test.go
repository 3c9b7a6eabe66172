package simulation_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// This file judges what there is once nothing goes wrong any more.

// settled judges what is on record, at the CRM, at the bank and at the receivers.
func (m *model) settled() {
	records, enrolments := map[string]checkout.CheckoutRecord{}, map[string]memory.CRMEnrolment{}
	all := m.records()
	m.lock.Lock()
	defer m.lock.Unlock()
	unsent := maps.Clone(m.bodies)
	maps.DeleteFunc(unsent, func(id string, _ []byte) bool { return m.lost.events[id] })
	for _, r := range all {
		name := r.Checkout.ProviderCode + " " + r.Checkout.OrderID
		if _, twice := records[name]; twice {
			m.fault("%s is on record twice", name)
		}
		records[name] = r
		m.judgeEvents(r, unsent)
		m.judgeJournal(r)
	}
	if len(unsent) > 0 {
		m.fault("events %q were sent and are not on record", slices.Collect(maps.Keys(unsent)))
	}
	if m.plan.org && !m.mayLack() {
		m.judgeOrg(all)
	}
	ids := map[string]bool{}
	for _, e := range m.crm.Enrolments() {
		name := e.Enrolment.ProviderCode + " " + e.Enrolment.OrderID
		if enrolments[name] = e; records[name].Checkout.ID == "" && !m.mayLack() {
			m.fault("the CRM has %q, which is not on record", name)
		}
		for _, id := range []string{e.Records.ContactID, e.Records.OpportunityID, e.Records.DDAID} {
			if ids[id] {
				m.fault("the CRM has %s twice", id)
			}
			ids[id] = true
		}
	}
	for _, o := range m.orders {
		r := records[o.name]
		m.judgeOrder(o, r, enrolments[o.name])
		if r.Checkout.ID != "" {
			m.judgeEnd(o, r, enrolments[o.name])
			m.judgeMandate(o, r, enrolments[o.name])
		}
	}
}

// judgeOrder judges what there is of an order.
func (m *model) judgeOrder(o *order, r checkout.CheckoutRecord, e memory.CRMEnrolment) {
	c := r.Checkout
	switch {
	case c.ID == "" && (o.first != nil || e.Enrolment.OrderID != "" && !m.mayLack()):
		m.fault("%s is not on record, though it was answered %v, and the CRM has %+v", o.name, o.first, e)
	case c.ID == "":
	case !c.Enrolled(), (c.Confirmation.AgreementNumber != "") != (c.Status == checkout.Confirmed):
		m.fault("%s is %q with %+v a minute after the last fault", o.name, c.Status, c.Confirmation)
	case o.first != nil && (c.ID != o.first.Checkout.ID || c.Records != o.first.Checkout.Records || c.Intent != o.first.Checkout.Intent):
		m.fault("%s is %+v on record, and was answered as %+v", o.name, c, o.first.Checkout)
	case o.refused[c.Intent], m.plan.outside && refusalBy(c.Student) != nil:
		m.fault("%s has an intent or a student on record that was refused: %+v", o.name, c)
	case o.confirmed != nil && *o.confirmed != c.Confirmation:
		m.fault("%s was answered as confirmed with %+v, and is on record with %+v", o.name, *o.confirmed, c.Confirmation)
	case c.Erased() && (!o.erasing || c.Student != checkout.Student{} || c.Setup.AccountMask != ""):
		m.fault("%s was erased: %+v", o.name, c)
	case c.Status == checkout.Confirmed && (o.setUp.IsZero() || r.Agreement == nil || c.Confirmation.PDFGenerated() != (r.Document != nil)):
		m.fault("%s is confirmed with %+v, agreement %v and document %v", o.name, c.Confirmation, r.Agreement, r.Document)
	case c.Status != checkout.Confirmed && (r.Agreement != nil || r.Document != nil):
		m.fault("%s is %q with agreement %v", o.name, c.Status, r.Agreement)
	case m.plan.outside && !m.plan.org:
		m.judgeEnrolment(o, r, e)
	}
	if number := c.Confirmation.AgreementNumber; c.Status == checkout.Confirmed {
		if m.saw("a confirmed order"); m.numbers[number] != "" && m.numbers[number] != c.ID {
			m.fault("agreement %s is of %s, and of %s", number, c.ID, m.numbers[number])
		}
		m.numbers[number] = c.ID
	}
}

// judgeEnrolment judges what the CRM has of an order.
func (m *model) judgeEnrolment(o *order, r checkout.CheckoutRecord, e memory.CRMEnrolment) {
	c, done := r.Checkout, r.Checkout.Confirmation
	want := checkout.Enrolment{EnrolmentKey: checkout.EnrolmentKey{Environment: catalogue.Sandbox, ProviderCode: o.provider, OrderID: o.id},
		CheckoutID: c.ID, Student: c.Student, CourseCode: c.CourseCode, Intent: c.Intent}
	if c.Erased() {
		want.Student = e.Enrolment.Student
	}
	if !m.lost.at.IsZero() { // it may be of a checkout that was lost
		want.CheckoutID = e.Enrolment.CheckoutID
	}
	switch {
	case e.Enrolment != want || e.Records != c.Records:
		m.fault("the CRM has %+v of %s, want %+v with %+v", e, o.name, want, c.Records)
	case c.Status != checkout.Confirmed:
		if !m.mayLack() && (e.Completions != 0 || e.Agreement != nil || e.Document != nil) {
			m.fault("%s is %q on record, and the CRM has %+v", o.name, c.Status, e)
		}
	case e.Completions != 1, e.Setup.MandateID == "", e.Agreement == nil,
		e.Agreement != nil && (e.Agreement.Number != done.AgreementNumber || e.Agreement.Pricing != r.Agreement.Pricing),
		e.Completed.AgreementID != done.AgreementID, e.Completed.DocumentID != done.DocumentID, (e.Document != nil) != done.PDFGenerated(),
		e.Document != nil && string(e.Document) != "%PDF of "+done.AgreementNumber:
		m.fault("%s is confirmed with %+v, and the CRM has %+v", o.name, done, e)
	}
}

// judgeEnd judges the end of an order: one, everywhere, as it was answered.
func (m *model) judgeEnd(o *order, r checkout.CheckoutRecord, e memory.CRMEnrolment) {
	c, ends := r.Checkout, map[bool]int{true: 1}[r.Checkout.Ended()]
	switch {
	case !o.cancelled.IsZero() && c.Status != checkout.Cancelled, o.withdrawn && !c.Withdrawn():
		m.fault("%s is %s, %+v; answered that it is cancelled: %s, withdrawn: %v", o.name, c.Status, c.End, o.cancelled, o.withdrawn)
	case c.Ended() != (c.Status == checkout.Cancelled || c.Withdrawn()), c.ToEnd():
		m.fault("%s is %s with %+v and %+v", o.name, c.Status, c.End, c.Setup)
	case m.plan.outside && !m.plan.org && (e.Ends != ends || c.Ended() && !e.End.At.Equal(c.End.At)):
		m.fault("%s has ended %+v, and the CRM has %d ends, %+v", o.name, c.End, e.Ends, e.End)
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
		if e.Event.CreatedAt.Before(latest) && !m.plan.clocks {
			m.fault("event %s of %s is of %s, after what is of %s", e.Event.Name, c.OrderID, e.Event.CreatedAt, latest)
		}
		latest = e.Event.CreatedAt
		var body struct{ Data map[string]string }
		err := json.Unmarshal(e.Event.Body, &body)
		d := body.Data
		for field, id := range map[string]string{"checkout_id": c.ID, "opportunity_id": c.Records.OpportunityID, "provider_order_id": c.OrderID} {
			if err != nil || d[field] != id {
				m.fault("event %s of %s has %s %q, want %q", e.Event.Name, c.OrderID, field, d[field], id)
			}
		}
		_, sent := unsent[e.Event.ID]
		switch {
		case e.Status == events.Pending && (m.polled || !m.hadOutage("receiver")), e.Status == events.Delivered && !sent, e.Status == events.NotConfigured:
			m.fault("event %s of %s was sent: %v, and is %s after %d attempts", e.Event.Name, c.OrderID, sent, e.Status, e.Attempts)
		case e.Status == events.Failed && e.Attempts < events.MaxAttempts:
			m.fault("event %s of %s has failed after %d attempts", e.Event.Name, c.OrderID, e.Attempts)
		}
		delete(unsent, e.Event.ID)
		got = append(got, e.Event.Name)
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

// changes returns how many changes the mandate of a checkout has had of which everybody is told, by the journal: from the moment at
// which it was confirmed.
func (m *model) changes(r checkout.CheckoutRecord) (n int) {
	dead, confirmed, last := false, false, checkout.MomentConfirmed
	if m.plan.outside {
		last = checkout.MomentCRMDone
	}
	for _, moment := range r.Moments {
		was := dead
		switch status, ok := strings.CutPrefix(moment.Detail, "mandate "); {
		case moment.Kind == last && (!m.plan.outside || moment.Detail == string(checkout.JobComplete)):
			confirmed, was = true, false
		case !ok:
			continue
		default:
			dead = checkout.MandateStatus(status).Dead()
		}
		if confirmed && (dead || was) {
			n++
		}
	}
	return n
}

// judgeMandate judges what was told of the mandate of a checkout: each change by one report, and by one notice unless it was no longer
// true; the CRM has the latest.
func (m *model) judgeMandate(o *order, r checkout.CheckoutRecord, e memory.CRMEnrolment) {
	c, want, reports, notices := r.Checkout, m.changes(r), 0, 0
	if c.Status != checkout.Confirmed {
		return
	}
	for _, j := range r.Jobs {
		if j.Job.Kind == checkout.JobNotify && checkout.NoticeKind(j.Job.Name).OfMandate() {
			notices++
		}
		subject, sent := m.notices[j.Job.ID]
		switch kind := checkout.NoticeKind(j.Job.Name); {
		case j.Job.Kind == checkout.JobAuthority && strings.HasSuffix(j.Job.ID, ":dated"): // of an end whose time was learned later
			m.saw("an end whose time the CRM gets later")
		case j.Job.Kind == checkout.JobAuthority:
			reports++
		case j.Job.Kind != checkout.JobNotify:
		case j.State == checkout.JobDone && !sent:
			m.fault("notice %s of %s is %s, and was not sent", j.Job.Name, o.name, j.State)
		case j.State == checkout.JobDone && kind.OfMandate() && strings.Contains(subject, "has ended") == (kind == checkout.NoticeOfReinstatement):
			m.fault("notice %s of %s is sent as %q", j.Job.Name, o.name, subject)
		}
	}
	says := m.bank.seen(c.Setup.BillingRequestID)
	since := c.Setup.MandateSince.Equal(says.MandateSince)
	if m.plan.far { // a status to which a mandate comes back between two looks seems to last; the list may not have that of a new mandate yet
		since = !c.Setup.MandateSince.After(says.MandateSince) && !(c.Setup.Mandate.Dead() && c.Setup.MandateSince.IsZero())
	}
	switch {
	case m.plan.outside && reports != want, m.plan.mail && !c.Ended() && notices != want:
		m.fault("%s has %d reports and %d notices about its mandate, want %d: %+v", o.name, reports, notices, want, r.Jobs)
	case m.polled && !c.Erased() && (c.Setup.Mandate != says.Mandate || !since):
		m.fault("the bank says %s of %s since %s, and on record is %+v", says.Mandate, o.name, says.MandateSince, c.Setup)
	case m.mayLack() && e.Setup.MandateSince.After(c.Setup.MandateSince): // as a poll finds out
	case m.plan.outside && !m.plan.org && want > 0 && e.Setup.Mandate != c.Setup.Mandate:
		m.fault("the CRM has %s for %s, which is %s", e.Setup.Mandate, o.name, c.Setup.Mandate)
	case want > 0:
		m.saw("an order of whose mandate everybody was told")
	}
}

// judgeJournal judges the journal of a checkout, and that nothing of it is left to be done but to look at its setup.
func (m *model) judgeJournal(r checkout.CheckoutRecord) {
	c, got, want := r.Checkout, map[checkout.MomentKind]int{}, map[checkout.MomentKind]int{checkout.MomentCreated: 1}
	for i, moment := range r.Moments {
		if got[moment.Kind]++; moment.Position != i+1 || moment.Times < 1 || moment.Actor == "" {
			m.fault("moment %d of %s is %+v", i+1, c.OrderID, moment)
		}
	}
	if m.plan.outside {
		want[checkout.MomentCRMDone] = 1
	}
	if c.Status == checkout.Confirmed {
		want[checkout.MomentConfirmed] = 1
		want[checkout.MomentCRMDone] *= 2
	}
	for _, j := range r.Jobs {
		switch {
		case j.State == checkout.JobPending:
			waits := j.Job.Kind == checkout.JobDeliver && !m.polled && m.hadOutage("receiver") || j.Job.Kind == checkout.JobNotify && (!m.plan.mail || m.hadOutage("mail") || j.Failure.Reason != "")
			if j.Job.Kind != checkout.JobLook && !waits {
				m.fault("job %s of %s is pending: %+v", j.Job.ID, c.OrderID, j)
			}
		case j.Job.Kind == checkout.JobDeliver && j.State == checkout.JobDone:
			want[checkout.MomentEventDelivered]++
		case m.plan.outside && (j.Job.Kind == checkout.JobAuthority || j.Job.Kind == checkout.JobEnd):
			want[checkout.MomentCRMDone]++
		}
	}
	for kind, n := range want {
		if got[kind] != n {
			m.fault("the journal of %s has %d moments %q, want %d: %+v", c.OrderID, got[kind], kind, n, r.Moments)
		}
	}
}
