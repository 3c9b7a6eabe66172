package service_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// processor is a fake whose answers the test sets.
type processor struct {
	mu     sync.Mutex
	says   checkout.Observation
	err    error
	begins []string // idempotency keys
	starts []checkout.SetupStart
	asked  int
	ended  int // setups that a call of Cancel ended
	// disturbs, if not nil, returns what becomes of a call before and after its effect.
	disturbs func(after bool) error
	asking   int           // observations in progress
	atOnce   int           // the most observations in progress at once
	takes    time.Duration // how long every call takes
	// observes, if not nil, answers instead of says.
	observes func(checkout.Account, checkout.Setup) (checkout.Observation, error)
}

// call does what every call of the processor does first.
func (p *processor) call(ctx context.Context) error {
	p.mu.Lock()
	takes := p.takes
	p.mu.Unlock()
	if takes == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *processor) Info() checkout.ProcessorInfo {
	return checkout.ProcessorInfo{Name: "scripted", Environment: catalogue.Sandbox, PageOrigins: []string{"https://bank.example"}}
}

func (p *processor) set(o checkout.Observation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.says = o
}

func (p *processor) Begin(ctx context.Context, s checkout.SetupStart) (checkout.BillingRequest, error) {
	if err := p.call(ctx); err != nil {
		return checkout.BillingRequest{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begins = append(p.begins, s.Key)
	p.starts = append(p.starts, s)
	p.says = notBegun
	return checkout.BillingRequest{ID: "BR-" + s.Key, URL: "https://bank.example/" + s.Key}, p.err
}

func (p *processor) Observe(ctx context.Context, q checkout.SetupQuery) (checkout.Observation, error) {
	a, s := q.Account, q.Setup
	p.mu.Lock()
	p.asked++
	p.asking++
	p.atOnce = max(p.atOnce, p.asking)
	observes := p.observes
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asking--
	}()
	if err := p.call(ctx); err != nil {
		return checkout.Observation{}, err
	}
	if observes != nil {
		return observes(a, s)
	}
	if err := p.disturbed(false); err != nil {
		return checkout.Observation{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.says, p.err
}

// Cancel ends what the processor says, unless that has ended.
func (p *processor) Cancel(ctx context.Context, _ checkout.SetupQuery) error {
	if err := cmp.Or(p.call(ctx), p.disturbed(false)); err != nil {
		return err
	}
	return cmp.Or(p.end(), p.disturbed(true))
}

func (p *processor) end() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch s := &p.says; {
	case p.err != nil:
		return p.err
	case s.BillingRequest == checkout.BillingCancelled, s.Mandate.Dead():
		return nil
	case s.BillingRequest == checkout.BillingFulfilled:
		s.Mandate, s.MandateReason = checkout.MandateCancelled, ""
		if !s.MandateSince.IsZero() { // it says since when
			s.MandateSince = s.MandateSince.Add(time.Minute)
		}
	default:
		s.BillingRequest = checkout.BillingCancelled
	}
	p.ended++
	return nil
}

// disturbed returns what becomes of a call before, or after its effect.
func (p *processor) disturbed(after bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.disturbs == nil {
		return nil
	}
	return p.disturbs(after)
}

func (p *processor) Ready(ctx context.Context) error {
	if err := p.call(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// printer renders agreements, unless the test makes the next few calls fail.
type printer struct {
	mu      sync.Mutex
	fail    int
	busy    bool
	printed int
	during  func(agreement.Agreement) // if not nil, what happens while an agreement is rendered
}

func (p *printer) SignedBy() string { return "c0ffee" }

func (p *printer) Print(_ context.Context, a agreement.Agreement) ([]byte, error) {
	p.mu.Lock()
	during := p.during
	p.mu.Unlock()
	if during != nil {
		during(a)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.printed++
	if p.busy {
		return nil, fmt.Errorf("wait for a turn: %w", ports.ErrBusy)
	}
	if p.fail > 0 {
		p.fail--
		return nil, errors.New("out of ink")
	}
	return []byte("%PDF of " + a.Number), nil
}

// receiver records deliveries, and answers each with answer.
type receiver struct {
	mu     sync.Mutex
	answer func(d events.Delivery, attempt int) error // nil accepts
	got    []delivered
}

type delivered struct {
	events.Delivery
	attempt int
	at      time.Time
}

func (r *receiver) Send(ctx context.Context, _ catalogue.Destination, d events.Delivery, attempt int) error {
	r.mu.Lock()
	r.got = append(r.got, delivered{d, attempt, time.Now()})
	answer := r.answer
	r.mu.Unlock()
	if answer == nil {
		return nil
	}
	return answer(d, attempt)
}

func (r *receiver) names() (names []events.Name) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.got {
		names = append(names, d.Event.Name)
	}
	return names
}

// answers has the receiver answer so from now on.
func (r *receiver) answers(answer func(events.Delivery, int) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// requests returns how many attempts were made.
func (r *receiver) requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

type reports struct {
	mu      sync.Mutex
	all     []service.Failure
	unnamed []service.Failure // that are about a checkout, and do not have its provider
}

func (r *reports) add(_ context.Context, f service.Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, f)
	if f.CheckoutID != "" && f.ProviderCode == "" {
		r.unnamed = append(r.unnamed, f)
	}
}

// checkNames checks that every failure about a checkout names its id and its provider.
func (r *reports) checkNames(t *testing.T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.unnamed {
		t.Errorf("%s about %+v: %v", f.Operation, f.About, f.Err)
	}
}

// take returns what was reported since the last take.
func (r *reports) take() []service.Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}
