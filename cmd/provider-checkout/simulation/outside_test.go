package simulation_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/memcrm"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// SignedBy implements ports.Printer.
func (p *process) SignedBy() string { return "c0ffee" }

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
func (p *process) Notify(ctx context.Context, n checkout.PayerNotice) (receipt string, err error) {
	err = p.do(ctx, call{to: "mail", name: "Notify " + n.ID, takes: 500 * time.Millisecond, limit: time.Minute, effect: func(context.Context) error {
		p.world.model.notified(n)
		return nil
	}})
	return "taken over", err
}

// refusal is the definite refusal of a notice.
func refusal(string) error {
	return &checkout.NoticeRefusal{Answer: "550 5.1.1 there is no such mailbox"}
}

// crm is the CRM as one process reaches it. It cannot take a student who is called Refused, by its limits; nor, by a rule of the
// organisation's own, one who is called Ruled, until that is dropped.
type crm struct {
	*memcrm.CRM
	p *process
}

func (c crm) Check(e checkout.Enrolment) []checkout.Fault {
	if e.Checkout.Student.LastName == "Refused" {
		return []checkout.Fault{{Field: checkout.FieldLastName, Message: "is too long"}}
	}
	return nil
}

func (c crm) Sync(ctx context.Context, e checkout.Enrolment) error {
	id := e.Checkout.ID
	return c.p.do(ctx, call{to: "crm", name: "Sync " + id, takes: 200 * time.Millisecond, limit: 40 * time.Second,
		job: e.Checkout.Job(checkout.JobSync, "", time.Time{}, 0).Ref(), effect: func(ctx context.Context) error {
			if e.Checkout.Student.LastName == "Ruled" && c.p.world.hasRules() {
				return &checkout.CRMRefusal{Code: "FIELD_CUSTOM_VALIDATION_EXCEPTION", Faults: []checkout.Fault{{Field: "Rule__c"}}}
			}
			return c.CRM.Sync(ctx, e)
		}})
}

// hasRules reports whether the CRM has rules of its own.
func (w *world) hasRules() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.lenient
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
