package simulation_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/events"
)

// This file judges the answers of the processes to clients, payers and operators.

func (o *order) caller() service.Caller {
	return service.Caller{ProviderCode: o.provider, KeyID: "k1"}
}

// createAt sends a create to a process, and judges its answer.
func (m *model) createAt(ctx context.Context, p *process, o *order, cmd checkout.Create) {
	began := time.Now()
	got, err := p.Create(ctx, o.caller(), cmd)
	m.noPanic(p, err)
	if p.killed() {
		return
	}
	want, c := m.intentOf(cmd), got.Checkout
	m.lock.Lock()
	defer m.lock.Unlock()
	switch {
	case err == nil:
		m.sawAnswer("create", map[bool]string{true: "replay", false: "new"}[got.Replay])
		if o.first == nil {
			o.first, o.openedAt = &got, time.Now()
		}
		first := o.first
		switch {
		case c.ID != first.Checkout.ID, got.Records != first.Records, got.Token != "" && first.Token != "" && got.Token != first.Token:
			m.fault("create of %s answers %s with %+v after %s with %+v", o.name, c.ID, got.Records, first.Checkout.ID, first.Records)
		case c.OrderID != o.id, c.ProviderCode != o.provider, (got.Token == "") != (c.Status == checkout.Confirmed):
			m.fault("create of %s answers %+v", o.name, got)
		case c.Intent != want, !got.Replay && c.Student.LastName != cmd.LastName.Value, c.Student.LastName == "Refused":
			m.fault("create of %s with %+v answers %+v of %+v", o.name, want, c.Intent, c.Student)
		case !got.Replay && began.After(o.openedAt):
			m.fault("create of %s answers that it is new, after an answer at %s", o.name, o.openedAt)
		case got.Replay == (c.RequestID == cmd.RequestID && m.known[cmd.RequestID]):
			m.fault("create %s of %s, which %s opened, answers that it is a replay: %v", cmd.RequestID, o.name, c.RequestID, got.Replay)
		case !o.cancelled.IsZero() && began.After(o.cancelled):
			m.fault("create of %s answers %s after it was cancelled", o.name, c.Status)
		}
	case m.hasEnded(o, err):
		m.sawAnswer("create", "ended")
	case checkout.Refused(err, checkout.CodeIntentConflict):
		m.sawAnswer("create", m.conflict(o, cmd, want))
	case checkout.Refused(err, checkout.CodeValidation) && cmd.LastName.Value == "Refused":
		m.sawAnswer("create", "refused by the CRM")
	default:
		m.mayFail("create", o.name, began, err)
	}
}

// conflict judges a 409: what it contradicts must be open for good.
func (m *model) conflict(o *order, cmd checkout.Create, want checkout.Intent) string {
	byOrder := m.stored(o)
	if byOrder != nil && byOrder.Intent != want {
		o.refused[want] = true
		return "other intent"
	}
	byKey, err := m.store.FindCheckout(context.Background(), checkout.Reference{ProviderCode: o.provider, Key: cmd.Key()})
	if err == nil && byKey.OrderID != o.id {
		return "key of another order"
	}
	m.fault("create of %s with %+v under %s contradicts nothing that is open: %+v, %+v", o.name, want, cmd.Key(), byOrder, byKey)
	return ""
}

// mayFail judges an error: only faults excuse it.
func (m *model) mayFail(of, what string, began time.Time, err error) {
	refused := checkout.Refused(err)
	// What began within a minute after the last fault may still find a job leased or put off, and the CRM left alone.
	if !began.Before(m.calm.Add(time.Minute)) || refused && !checkout.Refused(err, checkout.CodeBusy) {
		m.fault("%s of %s: %v", of, what, err)
	}
	m.sawAnswer(of, map[bool]string{true: "busy", false: "failure"}[refused])
}

func (m *model) sawAnswer(of, answer string) { m.saw(of + ": " + answer) }

// setUpAt is a payer who sets up the direct debit from start to end.
func (m *model) setUpAt(ctx context.Context, p *process, o *order, opened service.Opened) {
	url, err := p.BeginSetup(ctx, opened.Token, checkout.Acceptance{})
	m.noPanic(p, err)
	if err != nil || p.killed() {
		return
	}
	if m.bank.finish(url) {
		m.lock.Lock()
		if o.setUp.IsZero() {
			o.setUp = time.Now()
		}
		m.lock.Unlock()
	}
	_, err = p.ReturnPage(ctx, opened.Token)
	m.noPanic(p, err)
}

// confirmAt sends a confirm to a process, and judges its answer.
func (m *model) confirmAt(ctx context.Context, p *process, o *order, cmd checkout.Confirm) {
	began := time.Now()
	got, err := p.Confirm(ctx, o.caller(), cmd.CheckoutID.Value, cmd)
	m.noPanic(p, err)
	if p.killed() {
		return
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	c, fits := got.Checkout, cmd.DDAID.Value == o.first.Records.DDAID
	switch {
	case err == nil:
		m.sawAnswer("confirm", map[bool]string{true: "repeat", false: "new"}[got.Already])
		if o.confirmed == nil {
			o.confirmed, o.confirmedAt = &c.Confirmation, time.Now()
		}
		switch {
		case !fits, o.setUp.IsZero(), !o.cancelled.IsZero():
			m.fault("confirm of %s, with the right ids: %v, set up at %s, cancelled at %s, answers %+v", o.name, fits, o.setUp, o.cancelled, c)
		case c.Status != checkout.Confirmed, c.ID != o.first.Checkout.ID, c.Confirmation != *o.confirmed:
			m.fault("confirm of %s answers %+v after %+v", o.name, c, *o.confirmed)
		case !got.Already && began.After(o.confirmedAt):
			m.fault("confirm of %s answers that it is new, after an answer at %s", o.name, o.confirmedAt)
		case got.Already == (c.Confirmation.RequestID == cmd.RequestID && m.known[cmd.RequestID]):
			m.fault("confirm %s of %s, which %s decided, answers that it is a repeat: %v", cmd.RequestID, o.name, c.Confirmation.RequestID, got.Already)
		}
	case m.hasEnded(o, err):
		m.sawAnswer("confirm", "ended")
	case checkout.Refused(err, checkout.CodeConflict) && !fits:
		m.sawAnswer("confirm", "conflict")
	case checkout.Refused(err, checkout.CodeSetupIncomplete) && (o.setUp.IsZero() || began.Before(o.setUp) ||
		o.died && began.Before(m.calm.Add(time.Minute))):
		m.sawAnswer("confirm", "setup incomplete")
	default:
		m.mayFail("confirm", o.name, began, err)
	}
}

// dies notes that the mandate of a checkout ends.
func (m *model) dies(c checkout.Checkout, to checkout.MandateStatus) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, o := range m.orders {
		if o.provider == c.ProviderCode && o.id == c.OrderID && to.Dead() {
			o.died = true
		}
	}
}

// cancelAt sends a cancel to a process, and judges its answer.
func (m *model) cancelAt(ctx context.Context, p *process, o *order, opened service.Opened, requestID string) {
	began := time.Now()
	c, err := p.Cancel(ctx, o.caller(), opened.Checkout.ID, checkout.Cancel{RequestID: requestID, Reason: checkout.Some("wrong course")})
	m.noPanic(p, err)
	if p.killed() {
		return
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	switch {
	case err == nil:
		m.sawAnswer("cancel", "done")
		if o.cancelled = time.Now(); o.confirmed != nil || c.Status != checkout.Cancelled || !c.Ended() {
			m.fault("cancel of %s answers %+v; it was confirmed as %+v", o.name, c, o.confirmed)
		}
	case m.hasEnded(o, err):
	case checkout.Refused(err, checkout.CodeConflict):
		m.sawAnswer("cancel", "too late")
		if c := m.stored(o); c == nil || c.Status != checkout.Confirmed {
			m.fault("cancel of %s is refused, and it is not confirmed: %+v", o.name, c)
		}
	default:
		m.mayFail("cancel", o.name, began, err)
	}
}

// operatorCancelsAt has an operator cancel the checkout of an order.
func (m *model) operatorCancelsAt(ctx context.Context, p *process, by operate.Operator, o *order) {
	opened := m.opened(o)
	if opened == nil {
		return
	}
	err := by.Cancel(ctx, opened.Checkout.ID)
	m.noPanic(p, err)
	m.lock.Lock()
	defer m.lock.Unlock()
	if err == nil && !p.killed() {
		m.sawAnswer("cancel", "done by an operator")
		if o.cancelled = time.Now(); o.confirmed != nil {
			m.fault("an operator cancels %s, which was confirmed", o.name)
		}
	}
}

// withdrawAt has an operator withdraw the agreement of an order.
func (m *model) withdrawAt(ctx context.Context, p *process, by operate.Operator, o *order) {
	m.lock.Lock()
	done := o.confirmed
	m.lock.Unlock()
	if done == nil {
		return
	}
	err := by.Withdraw(ctx, done.AgreementNumber, checkout.GroundCoolingOff)
	m.noPanic(p, err)
	m.lock.Lock()
	defer m.lock.Unlock()
	if err == nil && !p.killed() {
		o.withdrawn = true
		m.sawAnswer("withdraw", "done")
	}
}

// eraseAt has an operator erase the student of an order.
func (m *model) eraseAt(ctx context.Context, p *process, by operate.Operator, o *order) {
	m.lock.Lock()
	o.erasing = true
	m.lock.Unlock()
	student, err := by.Find(ctx, o.email())
	settings := operate.Erasing{Environment: catalogue.Sandbox, Setups: keepsNoSetups{}, Zone: m.zone, Force: true}
	if err == nil {
		err = by.CheckErasure(student, settings)
	}
	if err == nil && len(student.Records) > 0 {
		if _, err = by.Erase(ctx, student, settings); err == nil {
			m.saw("a student was erased")
		}
	}
	m.noPanic(p, err)
}

// keepsNoSetups is a processor whose records are erased there.
type keepsNoSetups struct{}

func (keepsNoSetups) EraseSetups(context.Context, []string) error { return nil }

// lookAt looks at a checkout and at its page.
func (m *model) lookAt(ctx context.Context, p *process, provider, id string) {
	c, err := p.Checkout(ctx, service.Caller{ProviderCode: provider}, id)
	token, _ := m.ring.Text(id, m.ring.Issue(1, time.Now()))
	shown, pageErr := p.SetupPage(ctx, token)
	m.noPanic(p, errors.Join(err, pageErr))
	m.lock.Lock()
	defer m.lock.Unlock()
	if checkout.Refused(err, checkout.CodeCheckoutNotFound) || checkout.Refused(pageErr, checkout.CodeLinkUnknown) ||
		err == nil && c.ID != id || pageErr == nil && shown.Checkout.ID != id {
		m.fault("%s is answered as %+v, %v, and shown as %+v, %v", id, c, err, shown.Checkout, pageErr)
	}
}

// strangerLooksAt has another provider ask for a checkout, which does not exist for it.
func (m *model) strangerLooksAt(p *process, c checkout.Checkout) {
	other := map[string]string{"KOWHAI": "RATA", "RATA": "KOWHAI"}[c.ProviderCode]
	got, err := p.Checkout(context.Background(), service.Caller{ProviderCode: other}, c.ID)
	m.noPanic(p, err)
	m.lock.Lock()
	defer m.lock.Unlock()
	if err == nil || checkout.Refused(err) && !checkout.Refused(err, checkout.CodeCheckoutNotFound, checkout.CodeBusy) {
		m.fault("%s of %s is answered to %s: %+v, %v", c.ID, c.ProviderCode, other, got, err)
	}
}

// The rest of the file judges the lists of events: a provider that reads behind its cursor gets each event once.

// listing is the part of the list of its events that a provider's backend has read.
type listing struct {
	after checkout.Cursor
	ids   map[string]bool // of events, and of the checkouts whose first event it had
}

const listPage = 3

// reader returns what the backend of a provider does: it reads on.
func reader(provider string) func(*actor) (string, func()) {
	return func(a *actor) (string, func()) {
		return "read the events", a.request(func(ctx context.Context, p *process) { a.model.readAt(ctx, p, provider) })
	}
}

// readAt reads the next page of a provider's events at a process, judges it, and reports whether there may be others. A page that comes
// after its reader has given up, or has read on, is not used.
func (m *model) readAt(ctx context.Context, p *process, provider string) (more bool) {
	began, l := time.Now(), m.lists[provider]
	m.lock.Lock()
	after := l.after
	m.lock.Unlock()
	page, err := p.Events(ctx, service.Caller{ProviderCode: provider}, checkout.List{After: checkout.Some(after), Limit: checkout.Some(listPage)})
	m.noPanic(p, err)
	m.lock.Lock()
	defer m.lock.Unlock()
	switch {
	case p.killed(), ctx.Err() != nil, l.after != after:
		return false
	case err != nil:
		m.mayFail("list", provider, began, err)
		return false
	}
	for _, e := range page {
		if first := e.Event().Name == events.CheckoutCreated; l.ids[e.Event().ID] || l.ids[e.Event().CheckoutID] == first {
			m.fault("event %s %s of %s is listed twice, or not in its order: %v", e.Event().Name, e.Event().ID, provider, l.ids)
		}
		l.after, l.ids[e.Event().ID], l.ids[e.Event().CheckoutID] = e.Cursor, true, true
		m.sawAnswer("list", "an event")
	}
	return len(page) == listPage
}

// catchUp has every provider read to the end of its list, which has had each event on record.
func (m *model) catchUp() {
	for _, provider := range providers {
		l := m.lists[provider]
		for m.readAt(context.Background(), m.at(0), provider) {
		}
		var want []string
		for _, r := range m.records() {
			for _, e := range r.Events() {
				if r.Checkout.ProviderCode == provider {
					want = append(want, e.Event().ID)
				}
			}
		}
		m.lock.Lock()
		if missing := slices.DeleteFunc(want, func(id string) bool { return l.ids[id] }); len(missing) > 0 {
			m.fault("%s has read the list of its events to the end, without %q", provider, missing)
		}
		m.lock.Unlock()
	}
}
