package simulation_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Print is the printer of the process. Some agreements cannot be rendered.
func (p *process) Print(ctx context.Context, a agreement.Agreement) (pdf []byte, err error) {
	err = p.do(ctx, call{to: "printer", name: "Print " + a.CheckoutID, takes: time.Second, limit: 10 * time.Second, effect: func(context.Context) error {
		pdf = []byte("%PDF of " + a.Number)
		return nil
	}})
	return pdf, err
}

// Send is the sender of the process. An attempt lasts two seconds at most.
func (p *process) Send(ctx context.Context, _ catalogue.Destination, d events.Delivery, attempt int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return p.do(ctx, call{to: "receiver", name: "Send " + d.Event.ID, takes: 500 * time.Millisecond, limit: 2 * time.Second, job: d.Event.ID, effect: func(context.Context) error {
		p.world.model.sent(d.Event, attempt)
		return nil
	}})
}

// Notify is the notifier of the process.
func (p *process) Notify(ctx context.Context, n checkout.PayerNotice) (checkout.Receipt, error) {
	err := p.do(ctx, call{to: "mail", name: "Notify " + n.ID, takes: 500 * time.Millisecond, limit: time.Minute, effect: func(context.Context) error {
		p.world.model.notified(n)
		return nil
	}})
	if err != nil {
		return checkout.Receipt{}, err
	}
	return checkout.Receipt{Reference: n.ID}, nil
}

// refusal is the definite refusal of a notice.
func refusal(string) error {
	return &checkout.NoticeRefusal{Answer: "550 5.1.1 there is no such mailbox"}
}

// crm is the CRM as one process reaches it. It takes no student who is called Refused, or who is refused by a rule of the
// organisation's own.
type crm struct {
	*memory.CRM
	p *process
}

func asked[T any](ctx context.Context, c crm, name, job string, effect func(context.Context) (T, error), part func(context.Context) error) (T, error) {
	var got T
	err := c.p.do(ctx, call{to: "crm", name: name, takes: 200 * time.Millisecond, limit: 40 * time.Second, job: job, part: part,
		effect: func(ctx context.Context) (err error) { got, err = effect(ctx); return err }})
	if err != nil {
		return *new(T), err
	}
	return got, nil
}

func (c crm) Open(ctx context.Context, e checkout.Enrolment) (checkout.Records, error) {
	return asked(ctx, c, "Open "+e.ProviderCode+" "+e.OrderID, string(checkout.JobOpen)+":"+e.CheckoutID, func(ctx context.Context) (checkout.Records, error) {
		if refusal := refusalBy(e.Student); refusal != nil {
			return checkout.Records{}, refusal
		}
		return c.CRM.Open(ctx, e)
	}, nil)
}

// refusalBy returns how the CRM refuses a student, or nil.
func refusalBy(s checkout.Student) error {
	switch s.LastName {
	case "Refused":
		return &checkout.CRMRefusal{Code: "STRING_TOO_LONG", Faults: []checkout.Fault{{Field: "student.last_name", Message: "is too long"}}}
	case "Ruled":
		return &checkout.CRMRefusal{Code: "FIELD_CUSTOM_VALIDATION_EXCEPTION", Faults: []checkout.Fault{{Field: "Rule__c"}}}
	}
	return nil
}

func (c crm) Complete(ctx context.Context, done checkout.Completion) (checkout.Completed, error) {
	r, _ := c.p.world.chance("part of " + done.ProviderCode + " " + done.OrderID)
	document := r.IntN(2) == 0
	return asked(ctx, c, "Complete "+done.ProviderCode+" "+done.OrderID, string(checkout.JobComplete)+":"+done.Agreement.CheckoutID,
		func(ctx context.Context) (checkout.Completed, error) { return c.CRM.Complete(ctx, done) },
		func(ctx context.Context) error { return c.CRM.CompleteInPart(ctx, done, document) })
}

func (c crm) Agreed(ctx context.Context, k checkout.EnrolmentKey) (checkout.Agreed, error) {
	return asked(ctx, c, "Agreed "+k.ProviderCode+" "+k.OrderID, "", func(ctx context.Context) (checkout.Agreed, error) { return c.CRM.Agreed(ctx, k) }, nil)
}

// UpdateAuthority writes on the condition that the record has the time that it had before the call, as an adapter of an outside CRM
// does: of a write that takes effect late nothing is left.
func (c crm) UpdateAuthority(ctx context.Context, u checkout.AuthorityUpdate) error {
	read := c.since(u.Records)
	_, err := asked(ctx, c, "UpdateAuthority "+u.ProviderCode+" "+u.OrderID, "", func(ctx context.Context) (bool, error) {
		if now := c.since(u.Records); !now.Equal(read) && !now.Equal(u.Setup.MandateSince) {
			return false, ports.ErrBusy
		}
		return true, c.CRM.UpdateAuthority(ctx, u)
	}, nil)
	return err
}

// since returns since when the mandate of an enrolment has its status on record.
func (c crm) since(records checkout.Records) time.Time {
	for _, e := range c.Enrolments() {
		if e.Records == records {
			return e.Setup.MandateSince
		}
	}
	return time.Time{}
}

func (c crm) End(ctx context.Context, e checkout.Ending) error {
	_, err := asked(ctx, c, "End "+e.ProviderCode+" "+e.OrderID, "", func(ctx context.Context) (bool, error) { return true, c.CRM.End(ctx, e) }, nil)
	return err
}

func (c crm) Ready(ctx context.Context) error {
	_, err := asked(ctx, c, "Ready", "", func(ctx context.Context) (bool, error) { return true, c.CRM.Ready(ctx) }, nil)
	return err
}

// bank knows what payers have done at the processor, and what becomes of their mandates.
type bank interface {
	finish(url string) (open bool)             // a payer gives the authority on the page of a billing request, which may be open no more
	move(id string, to checkout.MandateStatus) // the mandate of a billing request reaches a status now
	seen(id string) checkout.Observation       // of a billing request
}

// nearBank is a bank in memory.
type nearBank struct {
	mu       sync.Mutex
	requests map[string]checkout.Observation // by billing request
}

func newNearBank() *nearBank { return &nearBank{requests: map[string]checkout.Observation{}} }

const page = "https://bank.example/"

var notBegun = checkout.Observation{BillingRequest: checkout.BillingPending, Authorisation: checkout.CustomerInProgress}

func (b *nearBank) finish(url string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := strings.TrimPrefix(url, page)
	if b.requests[id] != notBegun {
		return false
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	b.requests[id] = checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandatePendingSubmission, MandateID: "MD-" + id,
		MandateSince: now, Authorisation: checkout.CustomerInProgress, AccountHolder: "A NGATA", AccountMask: "01-0902-•••••89-00", CompletedAt: now}
	return true
}

func (b *nearBank) move(id string, to checkout.MandateStatus) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if seen := b.requests[id]; seen.BillingRequest == checkout.BillingFulfilled && seen.Mandate != to {
		seen.Mandate, seen.MandateSince = to, time.Now().UTC().Truncate(time.Millisecond)
		b.requests[id] = seen
	}
}

func (b *nearBank) seen(id string) checkout.Observation {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.requests[id]
}

// processor is a near bank as one process reaches it.
type processor struct{ p *process }

func (b processor) bank() *nearBank { return b.p.world.bank.(*nearBank) }

func (b processor) Info() checkout.ProcessorInfo {
	return checkout.ProcessorInfo{Name: "simulated", Environment: catalogue.Sandbox, PageOrigins: []string{"https://bank.example"}}
}

func (b processor) do(ctx context.Context, name string, effect func(context.Context) error) error {
	return b.p.do(ctx, call{to: "bank", name: name, takes: 200 * time.Millisecond, limit: 30 * time.Second, effect: effect})
}

func (b processor) Ready(ctx context.Context) error {
	return b.do(ctx, "Ready at the bank", func(ctx context.Context) error { return ctx.Err() })
}

func (b processor) Begin(ctx context.Context, s checkout.SetupStart) (checkout.BillingRequest, error) {
	id, bank := "BR-"+s.Key, b.bank()
	err := b.do(ctx, "Begin "+s.Key, func(context.Context) error {
		bank.mu.Lock()
		defer bank.mu.Unlock()
		if _, made := bank.requests[id]; !made {
			bank.requests[id] = notBegun
		}
		return nil
	})
	if err != nil {
		return checkout.BillingRequest{}, err
	}
	return checkout.BillingRequest{ID: id, URL: page + id}, nil
}

func (b processor) Observe(ctx context.Context, q checkout.SetupQuery) (seen checkout.Observation, err error) {
	id := q.Setup.BillingRequestID
	err = b.do(ctx, "Observe "+id, func(context.Context) error {
		if seen = b.bank().seen(id); seen.BillingRequest == "" {
			return errors.New("there is no such billing request")
		}
		return nil
	})
	if err != nil {
		return checkout.Observation{}, err
	}
	return seen, nil
}

func (b processor) Cancel(ctx context.Context, q checkout.SetupQuery) error {
	id, bank := q.Setup.BillingRequestID, b.bank()
	return b.do(ctx, "Cancel "+id, func(context.Context) error {
		bank.mu.Lock()
		defer bank.mu.Unlock()
		switch seen := bank.requests[id]; {
		case seen.BillingRequest == checkout.BillingPending:
			seen.BillingRequest = checkout.BillingCancelled
			bank.requests[id] = seen
		case seen.BillingRequest == checkout.BillingFulfilled && !seen.Mandate.Dead():
			seen.Mandate, seen.MandateSince = checkout.MandateCancelled, time.Now().UTC().Truncate(time.Millisecond)
			bank.requests[id] = seen
		}
		return nil
	})
}
