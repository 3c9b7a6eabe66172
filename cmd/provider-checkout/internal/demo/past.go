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
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/events"
)

const (
	// failingCode is the provider whose receiver was out of order before the demonstration began. It has no catalogue.
	failingCode = "TUI"
	// week is the time between the beginning of the past and the demonstration.
	week = 7 * 24 * time.Hour
)

// past is the week before the demonstration, of which operators are asked: it happens through the API and the pages of a service on
// the same store, whose clock is behind.
type past struct {
	flow
	behind atomic.Int64 // nanoseconds
}

func (p *past) now() time.Time { return time.Now().Add(-time.Duration(p.behind.Load())) }

// order is an order of the past.
type order struct {
	ago                time.Duration
	provider, id       string
	first, last, email string                                          // of the student
	then               func(context.Context, apiclient.Response) error // has happen to the checkout what did
}

// orders lists the orders of the past, the oldest first.
func (p *past) orders() []order {
	return []order{
		{6 * 24 * time.Hour, providerCode, "ENROL-0901", "Hana", "Rēweti", "hana@example.nz", p.enrols},
		{4 * 24 * time.Hour, providerCode, "ENROL-0902", "Tama", "Walker", "tama@example.nz", p.losesMandate},
		{30 * time.Hour, providerCode, "ENROL-0903", "Mere", "Parata", "mere@example.nz", p.leavesAtBank},
		{5 * time.Hour, providerCode, "ENROL-0904", "Sione", "Latu", "sione@example.nz", p.setsUp},
		{2 * time.Hour, providerCode, "ENROL-0905", "Tūhoe", "Ngata", "tuhoe@example.nz", p.waits},
		{time.Hour, providerCode, "ENROL-0906", "Anahera", "Pene", "anahera@example.nz", p.waits},
		{time.Hour, failingCode, "T-70", "Wiremu", "Heke", "wiremu.heke@example.nz", p.confirmsEarly},
	}
}

// hasPast reports whether the demonstration begins with a past: GoCardless' simulator has no clock that could be behind.
func (d *demonstration) hasPast() bool { return !d.cfg.Walk && !d.cfg.GoCardless }

// remember has the past happen.
func (d *demonstration) remember(ctx context.Context) error {
	ln, err := localListener(ctx)
	if err != nil {
		return err
	}
	cfg := d.cfg.Site
	cfg.Service.BaseURL = "http://" + ln.Addr().String() // the demonstration's own address answers later
	p := &past{flow: flow{demonstration: d, backend: apiclient.New(cfg.Service.BaseURL, d.Keys), out: io.Discard}}
	p.payer = apiclient.NewBrowser(p.backend.HTTP)
	p.behind.Store(int64(week))
	cfg.Service.Sender = p
	cfg.Now, cfg.Desk, cfg.DrainDelay, cfg.Log = p.now, nil, 0, slog.New(slog.DiscardHandler)
	s, err := site.New(cfg)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- s.Serve(serving, ln, nil) }()
	err = p.happen(ctx)
	stop()
	err = errors.Join(err, <-served)
	for provider := range d.Keys { // whose integrations sent none of its requests
		err = errors.Join(err, cfg.Store.LogRequests(ctx, provider, time.Now(), nil, time.Now(), 0))
	}
	return err
}

// Send implements ports.Sender: the receiver of failingCode is out of order, and every event of another provider is taken.
func (p *past) Send(_ context.Context, _ catalogue.Destination, d events.Delivery, _ int) (checkout.Answer, error) {
	if d.Event.ProviderCode == failingCode {
		return checkout.Answer{Status: http.StatusServiceUnavailable}, errors.New("answered 503")
	}
	return checkout.Answer{Status: http.StatusOK, Body: scenario.OwnAnswer}, nil
}

// happen makes the orders of the past, one after the other.
func (p *past) happen(ctx context.Context) error {
	for _, o := range p.orders() {
		p.behind.Store(int64(o.ago))
		body := apiclient.CreateRequest{ProviderCode: o.provider, OrderID: o.id, FirstName: o.first, LastName: o.last, Email: o.email,
			Frequency: "Weekly", FirstPayment: p.FirstPayment}
		if o.provider == providerCode {
			body.CourseCode = courseCode
		}
		created, err := p.call(ctx, o.provider, http.MethodPost, apiclient.CheckoutsPath, body.String(), http.StatusCreated)
		if err == nil {
			err = o.then(ctx, created)
		}
		if err != nil {
			return fmt.Errorf("order %s: %w", o.id, err)
		}
	}
	return nil
}

func (p *past) waits(context.Context, apiclient.Response) error { return nil }

func (p *past) setsUp(ctx context.Context, created apiclient.Response) error {
	return p.payer.SetUp(ctx, created.SetupURL())
}

func (p *past) enrols(ctx context.Context, created apiclient.Response) error {
	if err := p.setsUp(ctx, created); err != nil {
		return err
	}
	_, err := p.sendConfirm(ctx, created, http.StatusOK)
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
	_, err = p.call(ctx, providerCode, http.MethodGet, created.CheckoutPath(), "", http.StatusOK,
		"direct_debit.mandate_status", "cancelled")
	return err
}

func (p *past) leavesAtBank(ctx context.Context, created apiclient.Response) error {
	page, err := p.payer.Open(ctx, http.MethodGet, created.SetupURL(), nil)
	if err == nil {
		_, err = p.payer.Submit(ctx, page)
	}
	return err
}

func (p *past) confirmsEarly(ctx context.Context, created apiclient.Response) error {
	_, err := p.sendConfirm(ctx, created, http.StatusConflict)
	return err
}
