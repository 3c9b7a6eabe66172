package simulation_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/money"
)

// actor is somebody outside of the processes, who acts by a script that is drawn from the seed.
type actor struct {
	*world
	*rand.Rand
	name   string
	order  *order // that a client is about; nil of the others
	steps  int
	pause  time.Duration // before a step, at most
	choose func(*actor) (what string, act func())
}

// aboutDone is the time that the processes have for what has just come up, such as by an operator, before the model judges it.
const aboutDone = 10 * time.Second

// act makes the steps until it is calm, but no step right before the model looks.
func (a *actor) act() {
	for n := range a.steps {
		a.rest(a.name, between(a.Rand, 0, a.pause))
		if a.isCalm() && a.order != nil {
			return
		}
		if look := time.Until(a.looksAt()); look >= 0 && look < aboutDone {
			a.rest(a.name, look+aboutDone+time.Second)
		}
		if what, act := a.choose(a); act != nil && a.decides(fmt.Sprintf("%s, step %d: %s", a.name, n+1, what)) {
			act()
		}
	}
}

// cast returns everybody who acts.
func (w *world) cast() (all []*actor) {
	add := func(name string, o *order, steps int, pause time.Duration, choose func(*actor) (string, func())) {
		r, _ := w.chance(name)
		all = append(all, &actor{w, r, name, o, 2 + r.IntN(steps), pause, choose})
	}
	for _, o := range w.model.orders {
		for n := range 1 + int(hashOf(o.name)+w.seed)%2 {
			add(fmt.Sprint("client ", n+1, " of ", o.name), o, 12, 6*time.Second, (*actor).client)
		}
	}
	for _, provider := range providers {
		add("reader of "+provider, nil, 6, 15*time.Second, reader(provider))
	}
	add("operator", nil, 6, 15*time.Second, (*actor).operator)
	add("fate", nil, 6, 10*time.Second, (*actor).fate)
	add("spy", nil, 10, 5*time.Second, (*actor).spy)
	return all
}

// request makes a request at a process. Some clients give up waiting; their requests go on.
func (a *actor) request(act func(context.Context, *process)) func() {
	p, patience := a.at(a.IntN(8)), 2*time.Minute
	if a.IntN(4) == 0 {
		patience = between(a.Rand, time.Millisecond, 3*time.Second)
	}
	return func() {
		ctx, giveUp := context.WithTimeout(context.Background(), patience)
		defer giveUp()
		select {
		case <-a.asks(p, func() { act(ctx, p) }):
		case <-ctx.Done():
			a.saw("a client gave up")
		}
	}
}

// asks makes a request at a process, which is over once that has answered, or was killed.
func (w *world) asks(p *process, request func()) (over chan struct{}) {
	over, answered := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(answered)
		request()
	}()
	w.actors.Go(func() {
		defer close(over)
		select {
		case <-answered:
		case <-p.gone:
		}
	})
	return over
}

// client draws what the provider's backend or the payer of an order does next.
func (a *actor) client() (string, func()) {
	o, m := a.order, a.model
	opened := m.opened(o)
	create, confirm, n := m.create(o, a.Rand), checkout.Confirm{}, a.IntN(20)
	if opened != nil {
		confirm = m.confirm(*opened, a.Rand)
	}
	wrong := a.IntN(8) == 0
	switch {
	case opened == nil || n < 6:
		return "create", a.request(func(ctx context.Context, p *process) { m.createAt(ctx, p, o, create) })
	case n < 10:
		return "set up", a.request(func(ctx context.Context, p *process) { m.setUpAt(ctx, p, o, *opened) })
	case n < 16:
		if wrong {
			confirm.DDAID = checkout.Some("another")
		}
		return "confirm", a.request(func(ctx context.Context, p *process) { m.confirmAt(ctx, p, o, confirm) })
	case n < 17:
		return "cancel", a.request(func(ctx context.Context, p *process) { m.cancelAt(ctx, p, o, *opened, confirm.RequestID) })
	case n < 18:
		return "return from the bank", a.request(func(ctx context.Context, p *process) {
			_, err := p.ReturnPage(ctx, opened.Token)
			m.noPanic(p, err)
		})
	}
	return "poll", a.request(func(ctx context.Context, p *process) { m.lookAt(ctx, p, o.provider, opened.Checkout.ID) })
}

// operator draws what an operator does next, by a command of its own.
func (a *actor) operator() (string, func()) {
	p := a.newProcess(fmt.Sprint("command ", a.Uint64()%1000), -1)
	do := a.world.operator(p)
	ctx, m, o := context.Background(), a.model, a.model.orders[a.IntN(len(a.model.orders))]
	n, job := a.IntN(10), a.IntN(100)
	return o.name + fmt.Sprint(" ", n), func() {
		switch {
		case n < 3:
			m.withdrawAt(ctx, p, do, o)
		case n < 5:
			m.operatorCancelsAt(ctx, p, do, o)
		case n < 6:
			m.eraseAt(ctx, p, do, o)
		case n < 8:
			if list := m.pending(); len(list) > 0 {
				_, err := do.Retry(ctx, []checkout.JobRecord{list[job%len(list)]})
				m.noPanic(p, err)
			}
		case n < 9:
			if opened := m.opened(o); opened != nil {
				m.noPanic(p, do.MailLink(ctx, opened.Checkout.ID, 7*24*time.Hour))
			}
		default:
			changed := kowhai()
			changed.Provider.Branding.PrimaryColour = fmt.Sprintf("#%06x", job)
			_, _, err := do.Configure(ctx, "apply", operate.Change{Named: []catalogue.Configuration{changed}})
			m.noPanic(p, err)
		}
	}
}

// operator returns an operator who acts by a process.
func (w *world) operator(p *process) operate.Operator {
	return operate.Operator{Store: store{w.store, p}, Keyring: w.ring, By: "Ana", Reason: "by letter", Now: p.Now, Rand: p}
}

// fate draws what becomes of a mandate, of a clock or of a process.
func (a *actor) fate() (string, func()) {
	n, slot, step := a.IntN(8), a.IntN(8), drawStep(a.Rand)
	to := []checkout.MandateStatus{checkout.MandateFailed, checkout.MandateCancelled, checkout.MandateActive}[a.IntN(3)]
	notified, freeze := a.IntN(4) > 0, a.IntN(3) == 0
	switch {
	case a.isCalm():
		return "", nil
	case n < 4:
		return "a mandate becomes " + string(to), func() { a.mandate(slot, to, notified) }
	case n < 7 && !a.plan.clocks:
		return "", nil
	case n < 7:
		return fmt.Sprint("a clock steps by ", step, " or freezes: ", freeze), func() { a.clockGoesWrong(slot, step, freeze) }
	}
	return "a process is drained", func() { a.drain(slot) }
}

// mandate has a mandate reach a status, and a process notified of that.
func (a *actor) mandate(n int, to checkout.MandateStatus, notified bool) {
	var all []checkout.Checkout
	for _, r := range a.model.records() {
		if r.Checkout.Setup.MandateID != "" {
			all = append(all, r.Checkout)
		}
	}
	if len(all) == 0 {
		return
	}
	c := all[n%len(all)]
	id := c.Setup.BillingRequestID
	a.model.dies(c, to)
	a.bank.move(id, to)
	a.saw("a mandate became " + string(to))
	if notified { // or else a look finds out
		p := a.at(n)
		m := checkout.Notification{BillingRequestID: id}
		a.asks(p, func() { a.model.noPanic(p, p.Notified(context.Background(), []checkout.Notification{m})) })
	}
}

// clockGoesWrong has a clock step, or freeze until it steps next.
func (a *actor) clockGoesWrong(slot int, step time.Duration, freeze bool) {
	a.saw("a clock went wrong")
	p := a.at(slot)
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &a.machine
	if a.plan.server {
		c = &p.own
	} else { // a step back by less than an hour is no longer than pauses are: jobs wait for as long as it took back
		if step > -time.Hour {
			step = step.Abs()
		}
		step += c.ahead
	}
	if now := c.now(); freeze {
		c.frozen = now
		return
	}
	*c = clock{ahead: step}
}

// drain ends a process as an operator does, after which it answers requests for a while, and starts the next one of its slot.
func (a *actor) drain(slot int) {
	if p := a.at(slot); !p.killed() {
		a.saw("a process was drained")
		p.end()
		a.rest(a.name, between(a.Rand, 0, 10*time.Second))
		p.replace()
	}
}

// spy looks for what it should not see: checkouts of another provider.
func (a *actor) spy() (string, func()) {
	slot := a.IntN(8)
	return "look around", func() {
		for _, r := range a.model.records() {
			c, p := r.Checkout, a.at(slot)
			a.asks(p, func() { a.model.strangerLooksAt(p, c) })
			a.rest(a.name, time.Microsecond) // or else the order of the same call for two checkouts is not known
		}
	}
}

// enrol has each order opened and confirmed, unless it has ended, and every mandate looked at. What it is called names its requests.
func (w *world) enrol(name string) {
	for n, o := range w.model.orders {
		w.rest("enrolment "+name, 0) // or else it is not known which process is in the slot, if all were killed at this instant
		p := w.at(n)
		<-w.asks(p, func() { w.model.enrolAt(p, o, name) })
	}
}

// enrolAt is enrol of one order at a process.
func (m *model) enrolAt(p *process, o *order, name string) {
	ctx := context.Background()
	cmd := m.create(o, rand.New(rand.NewPCG(0, 0)))
	cmd.LastName, cmd.IdempotencyKey = checkout.Some("Ngata"), checkout.Optional[string]{}
	if opened := m.opened(o); opened != nil {
		cmd = o.create(opened.Checkout.Intent == m.intentOf(o.create(true)))
	}
	cmd.RequestID = "req_" + name + "_create_" + o.name
	m.createAt(ctx, p, o, cmd)
	if m.opened(o) == nil { // the other intent may be on record, without an answer
		cmd = o.create(m.intentOf(cmd) != m.intentOf(o.create(true)))
		cmd.RequestID = "req_" + name + "_again_" + o.name
		m.createAt(ctx, p, o, cmd)
	}
	if opened := m.opened(o); opened != nil {
		if c := m.stored(o); c == nil || c.Status != checkout.Confirmed { // or else the page asks the bank, which hides what was missed
			m.setUpAt(ctx, p, o, *opened)
		}
		cmd := m.confirm(*opened, rand.New(rand.NewPCG(0, 0)))
		cmd.RequestID = "req_" + name + "_confirm_" + o.name
		m.confirmAt(ctx, p, o, cmd)
		_, err := p.Checkout(ctx, service.Caller{ProviderCode: o.provider}, opened.Checkout.ID)
		m.noPanic(p, err)
	}
}

// create returns a create of an order, with one of two intents.
func (o *order) create(other bool) checkout.Create {
	cmd := checkout.Create{RequestID: "req_1", ProviderCode: checkout.Some(o.provider), OrderID: checkout.Some(o.id),
		FirstName: checkout.Some("Aroha"), LastName: checkout.Some("Ngata"), Email: checkout.Some(o.email()),
		Frequency: checkout.Some("Weekly"), First: checkout.Some(money.Date{Year: 2027, Month: 2, Day: 1})}
	if other {
		cmd.Frequency = checkout.Some("Monthly")
	}
	if o.provider == "KOWHAI" {
		cmd.CourseCode = checkout.Some("NZDIP")
		return cmd
	}
	cmd.CourseName, cmd.PaymentType = checkout.Some("Weaving"), checkout.Some(checkout.PaymentType)
	cmd.Price, cmd.Upfront, cmd.Principal = checkout.Some(money.Cents(1000_00)), checkout.Some(money.Cents(0)), checkout.Some(money.Cents(1000_00))
	cmd.Number, cmd.Regular = checkout.Some(10), checkout.Some(money.Cents(100_00))
	return cmd
}

func (o *order) email() string { return strings.ToLower(o.provider+"."+o.id) + "@example.ac.nz" }

// create draws a create of an order: with one of two intents, of students whom the CRM takes or not, under one of two keys.
func (m *model) create(o *order, r *rand.Rand) checkout.Create {
	cmd := o.create(r.IntN(4) == 0)
	cmd.RequestID = fmt.Sprint("req_", r.Uint64())
	if name := []string{"Ngata", "Ngata", "Ngata", "Ngata", "Refused", "Ruled"}[r.IntN(6)]; name != "Ngata" && m.plan.crm {
		cmd.LastName = checkout.Some(name)
	}
	if r.IntN(4) == 0 {
		cmd.IdempotencyKey = checkout.Some("key-1")
	}
	return cmd
}

// confirm draws a confirm of an order that was opened.
func (m *model) confirm(o service.Opened, r *rand.Rand) checkout.Confirm {
	c := o.Checkout
	return checkout.Confirm{RequestID: fmt.Sprint("req_", r.Uint64()), CheckoutID: checkout.Some(c.ID),
		ProviderCode: checkout.Some(c.ProviderCode), OrderID: checkout.Some(c.OrderID), Token: checkout.Some(cmp.Or(o.Token, "lost")),
		OpportunityID: checkout.Some(o.Records.OpportunityID), DDAID: checkout.Some(o.Records.DDAID),
		PaymentMethod: checkout.Some(checkout.PaymentMethod), FirstPayment: checkout.Some(c.Intent.Plan.First),
		DepositConfirmed: checkout.Some(true), PaymentPlanAccepted: checkout.Some(true),
		InformationConfirmed: checkout.Some(true), PrivacyConsentAccepted: checkout.Some(true)}
}
