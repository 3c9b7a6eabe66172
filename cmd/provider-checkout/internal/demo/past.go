package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// failingCode is the provider whose receiver was out of order before the demonstration began.
const failingCode = "TUI"

// past is the week before the demonstration, of which operators are asked: it happens through the API and the pages of a service on
// the same store, whose clock is behind.
type past struct {
	scenario
	behind atomic.Int64 // nanoseconds
}

func (p *past) now() time.Time { return time.Now().Add(-time.Duration(p.behind.Load())) }

// week is the time between the beginning of the past and the demonstration.
const week = 7 * 24 * time.Hour

// order is an order of the past.
type order struct {
	ago                time.Duration
	id                 string
	first, last, email string                                          // of the student
	then               func(context.Context, apiclient.Response) error // has happen to the checkout what did; nil: nothing
}

// orders lists the orders of the past, the oldest first.
func (p *past) orders() []order {
	return []order{
		{6 * 24 * time.Hour, "ENROL-0901", "Hana", "Rēweti", "hana@example.nz", p.enrols},
		{4 * 24 * time.Hour, "ENROL-0902", "Tama", "Walker", "tama@example.nz", p.losesMandate},
		{30 * time.Hour, "ENROL-0903", "Mere", "Parata", "mere@example.nz", p.leavesAtBank},
		{5 * time.Hour, "ENROL-0904", "Sione", "Latu", "sione@example.nz", p.setsUp},
		{2 * time.Hour, "ENROL-0905", "Tūhoe", "Ngata", "tuhoe@example.nz", nil},
		{time.Hour, "ENROL-0906", "Anahera", "Pene", "anahera@example.nz", nil},
	}
}

// hasPast reports whether the demonstration begins with a past: GoCardless' simulator has no clock that could be behind.
func (d *demonstration) hasPast() bool { return !d.cfg.Walk && !d.cfg.GoCardless }

// remember has the past happen.
func (d *demonstration) remember(ctx context.Context, web *website) error {
	ln, err := localListener(ctx)
	if err != nil {
		return err
	}
	cfg := d.cfg.Site
	cfg.Service.BaseURL = "http://" + ln.Addr().String() // the demonstration's own address answers later
	p := &past{scenario: scenario{demonstration: d, backend: apiclient.New(cfg.Service.BaseURL, d.Keys), out: io.Discard}}
	p.payer = apiclient.NewBrowser(p.backend.HTTP)
	p.behind.Store(int64(week))
	cfg.Now, cfg.Desk, cfg.DrainDelay, cfg.Log = p.now, nil, 0, slog.New(slog.DiscardHandler)
	s, err := site.New(cfg)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	web.receiver.past.Store(true)
	defer web.receiver.past.Store(false)
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- s.Serve(serving, ln, nil) }()
	err = p.happen(ctx)
	stop()
	err = errors.Join(err, <-served)
	for provider := range d.Keys { // whose integrations did none of it
		err = errors.Join(err, cfg.Store.LogRequests(ctx, provider, time.Now(), nil, time.Now(), 0))
	}
	return err
}

// happen makes the orders of the past, one after the other, and an order whose event its receiver did not take.
func (p *past) happen(ctx context.Context) error {
	for _, o := range p.orders() {
		p.behind.Store(int64(o.ago))
		body := apiclient.CreateRequest{ProviderCode: providerCode, OrderID: o.id, FirstName: o.first, LastName: o.last, Email: o.email,
			CourseCode: "NZDIP-BUS", Frequency: "Weekly", FirstPayment: p.FirstPayment}.String()
		created, err := p.call(ctx, http.MethodPost, apiclient.CheckoutsPath, body, http.StatusCreated)
		if err == nil && o.then != nil {
			err = o.then(ctx, created)
		}
		if err != nil {
			return fmt.Errorf("order %s: %w", o.id, err)
		}
	}
	return p.failingReceiver(ctx)
}

func (p *past) setsUp(ctx context.Context, created apiclient.Response) error {
	return p.payer.SetUp(ctx, created.SetupURL())
}

func (p *past) enrols(ctx context.Context, created apiclient.Response) error {
	if err := p.setsUp(ctx, created); err != nil {
		return err
	}
	_, err := p.call(ctx, http.MethodPost, created.CheckoutPath()+apiclient.ConfirmSuffix, created.ConfirmBody(), http.StatusOK)
	return err
}

// losesMandate has the payer's mandate cancelled an hour after the confirm.
func (p *past) losesMandate(ctx context.Context, created apiclient.Response) error {
	p.payer.Holder = "MANDATE CANCELLED" // as the fake processor understands it
	err := p.enrols(ctx, created)
	p.payer.Holder = ""
	if err != nil {
		return err
	}
	p.behind.Add(-int64(time.Hour))
	_, err = p.call(ctx, http.MethodGet, created.CheckoutPath(), "", http.StatusOK,
		expectEqual("direct_debit.mandate_status", "cancelled"))
	return err
}

func (p *past) leavesAtBank(ctx context.Context, created apiclient.Response) error {
	page, err := p.payer.Open(ctx, http.MethodGet, created.SetupURL(), nil)
	if err == nil {
		_, err = p.payer.Submit(ctx, page)
	}
	return err
}

// failingReceiver has the provider whose receiver is out of order create a checkout, and confirm it too early.
func (p *past) failingReceiver(ctx context.Context) error {
	created, err := p.backend.Create(ctx, failingCode, `{"provider": {"provider_code": "TUI", "provider_order_id": "T-70"},
		"student": {"first_name": "Wiremu", "last_name": "Heke", "email": "wiremu.heke@example.nz"},
		"course": {"course_name": "Carpentry, Level 4"},
		"pricing": {"course_price": 1000.00, "upfront_payment": 0.00, "amount_to_finance": 1000.00},
		"plan": {"payment_type": "interest_free_payment_plan", "payment_frequency": "Weekly", "number_of_instalments": 2,
		"instalment_amount": 500.00, "final_instalment_amount": 500.00, "first_payment_date": "`+p.FirstPayment+`"}}`)
	if err != nil || created.Status != http.StatusCreated {
		return errors.Join(fmt.Errorf("order T-70: %d %s", created.Status, created.Body), err)
	}
	refused, err := p.backend.Confirm(ctx, created, created.ConfirmBody())
	if err == nil && refused.Status != http.StatusConflict {
		err = fmt.Errorf("the early confirm answers %d: %s", refused.Status, refused.Body)
	}
	return err
}
