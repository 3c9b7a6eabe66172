package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// model says which answers a provider may get, and what must hold in the end, whatever went wrong. It knows of each order
// what was answered, and never asks a process.
type model struct {
	*saga
	lock    sync.Mutex // guards everything below
	orders  map[string]*modelOrder
	bodies  map[string][]byte // of the events that were sent, by id
	notices map[string]string // the subjects of the notices that were sent, by id
	polled  bool              // every order was polled after calm
	faults  []string          // what may not be
	known   map[string]bool   // requests that reserved a checkout, or decided a confirm, and know it
	held    map[string]held   // by job, the lease that was granted last
}

// held is a lease.
type held struct {
	by    *process
	token int64
	until time.Time // zero where it was given back
}

// modelOrder is the clients' knowledge of an order.
type modelOrder struct {
	opened      *service.Opened // the first answer
	openedAt    time.Time
	confirmed   *checkout.Confirmation
	confirmedAt time.Time
	setUp       time.Time                // since when the direct debit is; zero before
	refused     map[checkout.Intent]bool // by a 409 because of another intent
}

var (
	sagaOrders = []string{"ORDER-1", "ORDER-2"} // of the clients
	lateOrders = []string{"ORDER-3", "ORDER-4"} // that no client opens before calm
)

func newModel(s *saga) *model {
	m := &model{saga: s, orders: map[string]*modelOrder{}, bodies: map[string][]byte{}, notices: map[string]string{}, known: map[string]bool{}, held: map[string]held{}}
	for _, order := range slices.Concat(sagaOrders, lateOrders) {
		m.orders[order] = &modelOrder{refused: map[checkout.Intent]bool{}}
	}
	return m
}

// fault notes that something is which may not be. The lock is held.
func (m *model) fault(format string, args ...any) {
	m.faults = append(m.faults, time.Now().UTC().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (m *model) noPanic(err error) {
	if err != nil && strings.Contains(err.Error(), "panic:") {
		m.lock.Lock()
		defer m.lock.Unlock()
		m.fault("%v", err)
	}
}

// reported judges a failure that a process reports.
func (m *model) reported(f service.Failure) {
	m.noPanic(f.Err)
	m.lock.Lock()
	defer m.lock.Unlock()
	if f.CheckoutID != "" && (f.OrderID == "" || f.ProviderCode == "") {
		m.fault("reported %+v, without order or provider", f)
	}
}

// answered returns what a client of an order was answered first, or nil.
func (m *model) answered(order string) *service.Opened {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.orders[order].opened
}

// intentOf returns the canonical intent of a create.
func intentOf(cmd checkout.Create) checkout.Intent {
	k := kowhai()
	d, err := cmd.Decide(checkout.Facts{Mode: k.Provider.Mode, Environment: catalogue.Sandbox, Course: &k.Courses[0]})
	if err != nil {
		panic(err) // create draws no such intent
	}
	return d.Intent
}

// createAt sends a create to a process, and judges its answer.
func (m *model) createAt(ctx context.Context, p *process, cmd checkout.Create) {
	began := time.Now()
	got, err := p.Create(ctx, caller, cmd)
	m.noPanic(err)
	if p.killed() {
		return
	}
	want, o, c := intentOf(cmd), m.orders[cmd.OrderID.Value], got.Checkout
	m.lock.Lock()
	defer m.lock.Unlock()
	refusedByCRM := refusalBy(checkout.Student{LastName: cmd.LastName.Value}) != nil
	_, raw := errors.AsType[*checkout.CRMRefusal](err)
	switch code, _ := codeOf(err); {
	case err == nil:
		m.sawAnswer("create", map[bool]string{true: "replay", false: "new"}[got.Replay])
		if o.opened == nil {
			o.opened, o.openedAt = &got, time.Now()
		}
		first := o.opened.Checkout
		switch {
		case c.ID != first.ID, c.Records != first.Records, got.Token != "" && got.Token != o.opened.Token:
			m.fault("create of %s answers %s with %+v after %s with %+v", c.OrderID, c.ID, c.Records, first.ID, first.Records)
		case c.Status == checkout.Reserved, c.OrderID != cmd.OrderID.Value, c.Records.DDAID == "", (got.Token == "") != (c.Status == checkout.Confirmed):
			m.fault("create of %s answers %+v", cmd.OrderID.Value, got)
		case c.Intent != want, !got.Replay && c.Student.LastName != cmd.LastName.Value, refusalBy(c.Student) != nil:
			m.fault("create of %s with %+v answers %+v of %+v", c.OrderID, want, c.Intent, c.Student)
		case !got.Replay && began.After(o.openedAt):
			m.fault("create of %s answers that it is new, after an answer at %s", c.OrderID, o.openedAt)
		case got.Replay == (c.RequestID == cmd.RequestID && m.known[cmd.RequestID]):
			m.fault("create %s of %s, which %s reserved, answers that it is a replay: %v", cmd.RequestID, c.OrderID, c.RequestID, got.Replay)
		}
	case code == checkout.CodeIntentConflict:
		m.sawAnswer("create", m.conflict(cmd, want, o))
	case code == checkout.CodeValidation && refusedByCRM && cmd.LastName.Value == "Refused":
		m.sawAnswer("create", "refused by the CRM")
	case raw && cmd.LastName.Value == "Ruled":
		m.sawAnswer("create", "refused by a rule of the CRM's own")
	default:
		m.mayFail("create", cmd.OrderID.Value, began, err)
	}
}

// conflict judges a 409: what it contradicts must be open for good.
func (m *model) conflict(cmd checkout.Create, want checkout.Intent, o *modelOrder) string {
	byOrder, err := m.store.FindCheckout(context.Background(), checkout.Reference{ProviderCode: "KOWHAI", OrderID: cmd.OrderID.Value})
	if err == nil && byOrder.Status != checkout.Reserved && byOrder.Intent != want {
		o.refused[want] = true
		return "other intent"
	}
	byKey, err := m.store.FindCheckout(context.Background(), checkout.Reference{ProviderCode: "KOWHAI", Key: cmd.Key()})
	if err == nil && byKey.Status != checkout.Reserved && byKey.OrderID != cmd.OrderID.Value {
		return "key of another order"
	}
	m.fault("create of %s with %+v under %s contradicts nothing that is open: %+v, %+v", cmd.OrderID.Value, want, cmd.Key(), byOrder, byKey)
	return ""
}

// mayFail judges an error: only faults excuse it.
func (m *model) mayFail(of, what string, began time.Time, err error) {
	code, refused := codeOf(err)
	// What began within a minute after the last fault may still find a job leased or put off, and the CRM left alone.
	if !began.Before(m.calm.Add(time.Minute)) || refused && code != checkout.CodeBusy {
		m.fault("%s of %s: %v", of, what, err)
	}
	m.sawAnswer(of, map[bool]string{true: "busy", false: "failure"}[refused])
}

func (m *model) sawAnswer(of, answer string) { m.saw(of + ": " + answer) }

// confirmAt sends a confirm to a process, and judges its answer.
func (m *model) confirmAt(ctx context.Context, p *process, cmd checkout.Confirm) {
	began := time.Now()
	got, err := p.Confirm(ctx, caller, cmd.CheckoutID.Value, cmd)
	m.noPanic(err)
	if p.killed() {
		return
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	order, c := cmd.OrderID.Value, got.Checkout
	o := m.orders[order]
	fits := cmd.DDAID.Value == o.opened.Checkout.Records.DDAID
	switch code, _ := codeOf(err); {
	case err == nil:
		m.sawAnswer("confirm", map[bool]string{true: "repeat", false: "new"}[got.Already])
		if o.confirmed == nil {
			o.confirmed, o.confirmedAt = &c.Confirmation, time.Now()
		}
		switch {
		case !fits, o.setUp.IsZero():
			m.fault("confirm of %s, with the right ids: %v, set up at %s, answers %+v", order, fits, o.setUp, c)
		case c.Status != checkout.Confirmed, c.ID != o.opened.Checkout.ID, c.Records != o.opened.Checkout.Records, c.Confirmation != *o.confirmed:
			m.fault("confirm of %s answers %+v after %+v", order, c, *o.confirmed)
		case !got.Already && began.After(o.confirmedAt):
			m.fault("confirm of %s answers that it is new, after an answer at %s", order, o.confirmedAt)
		case !m.complete(order):
			m.fault("confirm of %s answers before the CRM has it", order)
		case got.Already == (c.Confirmation.RequestID == cmd.RequestID && m.known[cmd.RequestID]):
			m.fault("confirm %s of %s, which %s decided, answers that it is a repeat: %v", cmd.RequestID, order, c.Confirmation.RequestID, got.Already)
		}
	case code == checkout.CodeConflict && !fits:
		m.sawAnswer("confirm", "conflict")
	case code == checkout.CodeSetupIncomplete && (o.setUp.IsZero() || began.Before(o.setUp)):
		m.sawAnswer("confirm", "setup incomplete")
	default:
		m.mayFail("confirm", order, began, err)
	}
}

// complete reports whether the CRM has completed the enrolment of an order.
func (m *model) complete(order string) bool {
	return slices.ContainsFunc(m.crm.Enrolments(), func(e memory.CRMEnrolment) bool {
		return e.Enrolment.OrderID == order && e.Completions == 1
	})
}

// lookAt looks at a checkout and at its page: a reserved checkout does not exist.
func (m *model) lookAt(ctx context.Context, p *process, id string) {
	c, err := p.Checkout(ctx, caller, id)
	token, _ := m.ring.Text(id, m.ring.Issue(1, time.Now()))
	page, pageErr := p.SetupPage(ctx, token)
	m.noPanic(errors.Join(err, pageErr))
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, seen := range []checkout.Checkout{c, page.Checkout} {
		if seen.Status == checkout.Reserved && err == nil || seen.Status != "" && seen.Records.DDAID == "" {
			m.fault("%s is visible: %+v", id, seen)
		}
	}
	if code, _ := codeOf(err); code == checkout.CodeCheckoutNotFound {
		m.sawAnswer("look", "not found")
	}
}

// knows notes that a request has the answer to its reservation, or to its decided confirm: of all requests for an order
// that one answers that it is new, and no other.
func (m *model) knows(requestID string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.known[requestID] = true
}

// stores judges a change that a process stores, with the outcome of a lease or without: only who holds the latest lease of a job
// settles it.
func (m *model) stores(p *process, l *checkout.Lease, o checkout.Outcome, change *checkout.Change, q checkout.JobEntry, store func() error) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	err := store()
	switch {
	case errors.Is(err, ports.ErrDuplicate) && change.Next.Status != checkout.Reserved, errors.Is(err, checkout.ErrSettled):
		m.fault("%s decides what was decided of %s: %v", p.name, change.Next.ID, err)
	case errors.Is(err, ports.ErrNotFound) && l != nil:
		m.saw("a lease was lost")
	case err != nil:
	default:
		if l != nil {
			m.holds(p, *l, "settles")
			m.held[l.Job.ID] = held{by: p, token: l.Token} // an extension may be under way, which puts it off a little more
		}
		if change.Remove {
			m.saw("a reservation was released")
		}
		for _, e := range change.Events {
			m.enters(p, e.ID, q)
		}
		for _, j := range change.Jobs {
			if j.Kind == checkout.JobOpen || j.Kind == checkout.JobComplete {
				m.enters(p, j.ID, q)
			}
		}
	}
	return err
}

// enters notes that a job entered the queue.
func (m *model) enters(p *process, id string, q checkout.JobEntry) {
	if _, known := m.held[id]; !known && q.Hold > 0 {
		m.held[id] = held{p, 1, q.Now.Add(q.Hold)}
	}
}

// holds judges what a process does with a lease.
func (m *model) holds(p *process, l checkout.Lease, does string) {
	if h := m.held[l.Job.ID]; h.by != p || h.token != l.Token {
		m.fault("%s %s %s with token %d, of which the latest lease is %+v", p.name, does, l.Job.ID, l.Token, h)
	}
}

// leases judges the leases that a process gets: no job is leased again before its lease ends.
func (m *model) leases(p *process, lease func() ([]checkout.Lease, error)) ([]checkout.Lease, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	got, err := lease()
	for _, l := range got {
		switch before := m.held[l.Job.ID]; {
		case before.until.After(time.Now()), l.Token <= before.token:
			m.fault("%s leases %s with token %d, which is leased as %+v", p.name, l.Job.ID, l.Token, before)
		case before.token > 0:
			m.saw("a job was leased again")
		}
		m.held[l.Job.ID] = held{p, l.Token, l.Until}
	}
	return got, err
}

// extends judges a lease that a process extends or gives back.
func (m *model) extends(p *process, l checkout.Lease, now time.Time, d time.Duration, extend func() error) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	err := extend()
	switch {
	case errors.Is(err, ports.ErrNotFound):
		m.saw("a lease was lost")
	case err != nil:
	case d == 0:
		m.holds(p, l, "gives back")
		m.held[l.Job.ID] = held{token: l.Token}
		m.saw("a lease was given back")
	default:
		m.holds(p, l, "extends")
		m.held[l.Job.ID] = held{p, l.Token, now.Add(d)}
		m.saw("a lease was extended")
	}
	return err
}

// sent judges an event that a receiver gets.
func (m *model) sent(e events.Event) {
	c, err := m.store.Checkout(context.Background(), e.CheckoutID)
	before, listed := m.store.Jobs(context.Background(), checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}, CheckoutID: e.CheckoutID,
		OldestFirst: true}, 10)
	m.lock.Lock()
	defer m.lock.Unlock()
	if err != nil || c.Status == checkout.Reserved || e.Name != events.CheckoutCreated && c.Status != checkout.Confirmed {
		m.fault("%s of %s is sent while it is %q, %v", e.Name, e.CheckoutID, c.Status, err)
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
}

// settled judges what there is a minute after the last fault.
func (m *model) settled() {
	records, enrolments := map[string]checkout.CheckoutRecord{}, map[string]memory.CRMEnrolment{}
	all := m.records()
	m.lock.Lock()
	defer m.lock.Unlock()
	unsent := maps.Clone(m.bodies)
	for _, r := range all {
		if _, twice := records[r.Checkout.OrderID]; twice {
			m.fault("%s is on record twice", r.Checkout.OrderID)
		}
		records[r.Checkout.OrderID] = r
		m.judgeEvents(r, unsent)
		m.judgeJournal(r)
	}
	if len(unsent) > 0 {
		m.fault("events %q were sent and are not on record", slices.Collect(maps.Keys(unsent)))
	}
	ids := map[string]bool{}
	for _, e := range m.crm.Enrolments() {
		enrolments[e.Enrolment.OrderID] = e
		if r := records[e.Enrolment.OrderID]; r.Checkout.ID == "" {
			m.fault("the CRM has %q, which is not on record", e.Enrolment.OrderID)
		}
		for _, id := range []string{e.Records.ContactID, e.Records.OpportunityID, e.Records.DDAID} {
			if ids[id] {
				m.fault("the CRM has %s twice", id)
			}
			ids[id] = true
		}
	}
	for order, o := range m.orders {
		m.judgeOrder(order, o, records[order], enrolments[order])
		m.judgeMandate(records[order], enrolments[order])
	}
}

// judgeOrder judges what there is of an order.
func (m *model) judgeOrder(order string, o *modelOrder, r checkout.CheckoutRecord, e memory.CRMEnrolment) {
	c, enrolment := r.Checkout, checkout.Enrolment{EnrolmentKey: checkout.EnrolmentKey{Environment: catalogue.Sandbox, ProviderCode: "KOWHAI",
		OrderID: order}, CheckoutID: r.Checkout.ID, Student: r.Checkout.Student, CourseCode: r.Checkout.CourseCode, Intent: r.Checkout.Intent}
	switch {
	case c.ID == "" && (o.opened != nil || e.Enrolment.OrderID != ""):
		m.fault("%s is not on record, though it was answered %v, and the CRM has %+v", order, o.opened, e)
	case c.ID == "":
	case !c.Enrolled(), (c.Confirmation.AgreementNumber != "") != (c.Status == checkout.Confirmed):
		m.fault("%s is %q with %+v a minute after the last fault", order, c.Status, c.Confirmation)
	case o.opened != nil && (c.ID != o.opened.Checkout.ID || c.Records != o.opened.Checkout.Records || c.Intent != o.opened.Checkout.Intent):
		m.fault("%s is %+v on record, and was answered as %+v", order, c, o.opened.Checkout)
	case o.refused[c.Intent], refusalBy(c.Student) != nil:
		m.fault("%s has an intent or a student on record that was refused: %+v", order, c)
	case e.Enrolment != enrolment || e.Records != c.Records:
		m.fault("the CRM has %+v of %s, want %+v with %+v", e, order, enrolment, c.Records)
	case o.confirmed != nil && *o.confirmed != c.Confirmation:
		m.fault("%s was answered as confirmed with %+v, and is on record with %+v", order, *o.confirmed, c.Confirmation)
	case c.Status != checkout.Confirmed:
		if e.Completions != 0 || e.Agreement != nil || e.Document != nil || r.Agreement != nil {
			m.fault("%s is %q on record, and the CRM has %+v", order, c.Status, e)
		}
	case e.Completions != 1, o.setUp.IsZero(), e.Setup.MandateID != fulfilled.MandateID, e.Agreement == nil, r.Agreement == nil,
		e.Agreement != nil && r.Agreement != nil && (e.Agreement.Number != r.Agreement.Number || e.Agreement.Pricing != r.Agreement.Pricing),
		e.Completed.AgreementID != c.Confirmation.AgreementID, e.Completed.DocumentID != c.Confirmation.DocumentID,
		(e.Document != nil) != (r.Document != nil), (e.Document != nil) != (e.Completed.DocumentID != ""),
		e.Document != nil && string(e.Document) != "%PDF of "+c.Confirmation.AgreementNumber:
		m.fault("%s is confirmed with %+v, and the CRM has %+v", order, c.Confirmation, e)
	default:
		m.saw("a confirmed order")
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
		want = append(want, slices.Repeat([]events.Name{events.MandateChanged}, endings(r))...)
	}
	var got []events.Name
	for _, e := range r.Events() {
		var body struct{ Data map[string]string }
		err := json.Unmarshal(e.Event.Body, &body)
		d := body.Data
		for field, id := range map[string]string{"checkout_id": c.ID, "opportunity_id": c.Records.OpportunityID} {
			if err != nil || d[field] != id {
				m.fault("event %s of %s has %s %q, want %q", e.Event.Name, c.OrderID, field, d[field], id)
			}
		}
		if _, sent := unsent[e.Event.ID]; !sent || e.Status == events.Pending {
			m.fault("event %s of %s was sent: %v, and is %s", e.Event.Name, c.OrderID, sent, e.Status)
		}
		delete(unsent, e.Event.ID)
		got = append(got, e.Event.Name)
	}
	if !slices.Equal(got, want) {
		m.fault("%s is %q with events %q, want %q", c.OrderID, c.Status, got, want)
	}
}

// judgeJournal judges the journal of a checkout, and that nothing of it is left to be done but to look at its setup.
func (m *model) judgeJournal(r checkout.CheckoutRecord) {
	c, got := r.Checkout, map[checkout.MomentKind]int{}
	for i, moment := range r.Moments {
		if got[moment.Kind]++; moment.Position != i+1 || moment.Times < 1 || moment.Actor == "" {
			m.fault("moment %d of %s is %+v", i+1, c.OrderID, moment)
		}
	}
	want := map[checkout.MomentKind]int{checkout.MomentCreated: 1, checkout.MomentCRMDone: 1}
	if c.Status == checkout.Confirmed {
		want[checkout.MomentConfirmed], want[checkout.MomentCRMDone] = 1, 2
	}
	for _, j := range r.Jobs {
		if j.Job.Kind == checkout.JobDeliver {
			want[checkout.MomentEventDelivered]++
		}
		if j.Job.Kind == checkout.JobAuthority {
			want[checkout.MomentCRMDone]++
		}
		// A notice waits for long after a failure.
		if j.State == checkout.JobPending && j.Job.Kind != checkout.JobLook && !(j.Job.Kind == checkout.JobNotify && j.Failure.Reason != "") {
			m.fault("job %s of %s is pending: %+v", j.Job.ID, c.OrderID, j)
		}
	}
	for kind, n := range want {
		if got[kind] != n {
			m.fault("the journal of %s has %d moments %q, want %d: %+v", c.OrderID, got[kind], kind, n, r.Moments)
		}
	}
}
