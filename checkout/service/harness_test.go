package service_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// world is a service over the in-memory store, with fakes for the other ports that the test controls.
type world struct {
	*service.Service
	store     *memory.Store
	processor *processor
	printer   *printer
	receiver  *receiver
	reports   *reports
	clock     *clock
	config    service.Config
}

// newWorld returns a world with the provider KOWHAI, which has a catalogue and a destination.
// change, if any, changes the configuration of the service.
func newWorld(t *testing.T, change ...func(*service.Config)) *world {
	t.Helper()
	w := &world{processor: &processor{}, printer: &printer{}, receiver: &receiver{}, reports: &reports{},
		clock: &clock{}}
	w.store = memory.New(w.clock.now)
	ring, err := checkout.NewKeyring([]byte(strings.Repeat("s", 32)))
	must(t, err)
	c := service.Config{Environment: catalogue.Sandbox, BaseURL: "https://pay.example", Keyring: ring,
		Store: w.store, Processor: w.processor, Printer: w.printer, Sender: w.receiver,
		Now: w.clock.now, Rand: rand.Reader, Report: w.reports.add}
	for _, f := range change {
		f(&c)
	}
	w.config = c
	t.Cleanup(func() { w.reports.checkNames(t) })
	if w.Service, err = service.New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.AwaitSent)
	w.configure(t, kowhai())
	return w
}

// again returns the world with a new service over its store, as after a restart.
func (w *world) again(t *testing.T) *world {
	t.Helper()
	next := *w
	var err error
	if next.Service, err = service.New(w.config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(next.AwaitSent)
	return &next
}

func kowhai() catalogue.Configuration {
	return catalogue.Configuration{
		Provider: catalogue.Provider{Code: "KOWHAI", Name: "Kōwhai Institute", AccountID: "acc-1",
			Environment: catalogue.Sandbox, Active: true, APIEnabled: true, Mode: catalogue.Authoritative,
			Destination: catalogue.Destination{URL: "https://hooks.example", Secret: strings.Repeat("w", 24)}},
		Courses: []catalogue.Course{{Code: "NZDIP", Name: "Diploma in Business", Price: 2990_00, Upfront: 200_00,
			Active: true, Environment: catalogue.Sandbox,
			Options: []catalogue.Option{{Frequency: money.Weekly, Number: 52}, {Frequency: money.Monthly, Number: 12}}}},
	}
}

// configure replaces the configuration, and advances the clock until the service uses it.
func (w *world) configure(t *testing.T, configurations ...catalogue.Configuration) {
	t.Helper()
	w.clock.forward(5 * time.Second)
	err := w.store.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error) {
		return configurations, nil, nil
	})
	must(t, err)
}

var caller = service.Caller{ProviderCode: "KOWHAI", KeyID: "k1"}

func create(order string) checkout.Create {
	return checkout.Create{RequestID: "req_1",
		ProviderCode: checkout.Some("KOWHAI"), OrderID: checkout.Some(order),
		FirstName: checkout.Some("Aroha"), LastName: checkout.Some("Ngata"), Email: checkout.Some("aroha@example.ac.nz"),
		CourseCode: checkout.Some("NZDIP"), Frequency: checkout.Some("Weekly"),
		First: checkout.Some(money.Date{Year: 2027, Month: 2, Day: 1})}
}

// opened opens a checkout for the order.
func (w *world) opened(t *testing.T, order string) service.Opened {
	t.Helper()
	o, err := w.Create(t.Context(), caller, create(order))
	must(t, err)
	return o
}

// ready opens a checkout, has the payer complete the bank setup and returns a valid confirm.
func (w *world) ready(t *testing.T, order string) checkout.Confirm {
	t.Helper()
	o := w.opened(t, order)
	w.setUp(t, o.Token)
	return confirm(o)
}

func (w *world) setUp(t *testing.T, token string) {
	t.Helper()
	if _, err := w.BeginSetup(t.Context(), token, checkout.Acceptance{}); err != nil {
		t.Fatal(err)
	}
	w.processor.set(fulfilled)
	if page, err := w.ReturnPage(t.Context(), token); err != nil || !page.Checkout.SetupComplete() {
		t.Fatalf("setup %+v, %v; want it complete", page.Checkout.Setup, err)
	}
}

func confirm(o service.Opened) checkout.Confirm {
	c := o.Checkout
	return checkout.Confirm{RequestID: "req_2", CheckoutID: checkout.Some(c.ID),
		ProviderCode: checkout.Some(c.ProviderCode), OrderID: checkout.Some(c.OrderID), Token: checkout.Some(o.Token),
		OpportunityID: checkout.Some(o.Records.OpportunityID), DDAID: checkout.Some(o.Records.DDAID),
		PaymentMethod: checkout.Some("service_payment_plan"), FirstPayment: checkout.Some(c.Intent.Plan.First),
		DepositConfirmed: checkout.Some(true), PaymentPlanAccepted: checkout.Some(true),
		InformationConfirmed: checkout.Some(true), PrivacyConsentAccepted: checkout.Some(true)}
}

// confirm sends a confirm of the checkout that it names.
func (w *world) confirm(t *testing.T, cmd checkout.Confirm) (service.Confirmed, error) {
	t.Helper()
	return w.Confirm(t.Context(), caller, cmd.CheckoutID.Value, cmd)
}

// records returns everything on record, by order id, once the deliveries of all requests have ended.
func (w *world) records(t *testing.T) map[string]checkout.CheckoutRecord {
	t.Helper()
	w.AwaitSent()
	all := make(map[string]checkout.CheckoutRecord)
	err := w.store.Export(t.Context(), "", checkout.Visitor{
		Configuration: func(catalogue.Configuration) error { return nil },
		Key:           func(catalogue.Key) error { return nil },
		Checkout: func(d checkout.CheckoutRecord) error {
			if _, twice := all[d.Checkout.OrderID]; twice {
				return fmt.Errorf("order %s is on record twice", d.Checkout.OrderID)
			}
			all[d.Checkout.OrderID] = d
			return nil
		},
		Unreadable: func(id string, err error) error { return fmt.Errorf("checkout %s: %w", id, err) },
	})
	must(t, err)
	return all
}

// jobs returns what is on record of an order's jobs of one kind.
func (w *world) jobs(t *testing.T, order string, kind checkout.JobKind) (list []checkout.JobRecord) {
	t.Helper()
	for _, j := range w.records(t)[order].Jobs {
		if j.Job.Kind == kind {
			list = append(list, j)
		}
	}
	return list
}

// backlog returns the backlog of one kind of job.
func (w *world) backlog(t *testing.T, kind checkout.JobKind) service.Backlog {
	t.Helper()
	all, err := w.Backlogs(t.Context())
	must(t, err)
	return all[kind]
}

var (
	notBegun  = checkout.Observation{BillingRequest: checkout.BillingPending, Authorisation: checkout.CustomerInProgress}
	fulfilled = checkout.Observation{BillingRequest: checkout.BillingFulfilled,
		Mandate: checkout.MandatePendingSubmission, MandateID: "MD-1", Authorisation: checkout.CustomerInProgress,
		AccountHolder: "A NGATA", AccountMask: "01-0902-•••••89-00", CompletedAt: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)}
)

// clock is a clock that the test advances.
type clock struct {
	mu    sync.Mutex
	moved time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.moved)
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved += d
}

// expect checks that err is a refusal with this code.
func expect(t *testing.T, err error, code checkout.Code) {
	t.Helper()
	var refusal *checkout.Error
	if !errors.As(err, &refusal) || refusal.Code != code {
		t.Errorf("got %v, want a refusal with code %s", err, code)
	}
}

// inWorld runs a test in a bubble of its own, with a new world.
func inWorld(t *testing.T, test func(*testing.T, *world), change ...func(*service.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newWorld(t, change...)) })
}

// confirms sends a confirm, which must succeed.
func (w *world) confirms(t *testing.T, cmd checkout.Confirm) service.Confirmed {
	t.Helper()
	done, err := w.confirm(t, cmd)
	must(t, err)
	return done
}

// polls polls a checkout, which must succeed.
func (w *world) polls(t *testing.T, id string) checkout.Checkout {
	t.Helper()
	c, err := w.Checkout(t.Context(), caller, id)
	must(t, err)
	return c
}

// presses has the payer go on to the bank.
func (w *world) presses(t *testing.T, o service.Opened) {
	t.Helper()
	if _, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{From: "203.0.113.77"}); err != nil {
		t.Fatal(err)
	}
}

// background runs the service's background work until stop is called.
func (w *world) background(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	return func() { cancel(); <-done }
}

// wantDelivered checks that every event of an order was delivered.
func (w *world) wantDelivered(t *testing.T, order string) {
	t.Helper()
	for _, e := range w.records(t)[order].Events() {
		if e.EventStatus() != events.Delivered {
			t.Errorf("%s of %s is %s, want it delivered", e.Event().Name, order, e.EventStatus())
		}
	}
}

// wantNoReports checks that no failure was reported.
func (w *world) wantNoReports(t *testing.T) {
	t.Helper()
	if reported := w.reports.take(); len(reported) > 0 {
		t.Errorf("reported %+v, want nothing", reported)
	}
}

// must ends the test with an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantReport checks that one failure was reported: of an operation and a severity, unless they are "", with a text in its error.
func (w *world) wantReport(t *testing.T, operation service.Operation, severity service.Severity, text string) {
	t.Helper()
	got := w.reports.take()
	if len(got) != 1 || operation != "" && got[0].Operation != operation || severity != "" && got[0].Severity != severity || !strings.Contains(got[0].Err.Error(), text) {
		t.Errorf("reported %+v, want one %q of %q with %q", got, severity, operation, text)
	}
}

// wantEvent checks the first event of an order: its status, the attempts on record and, where that is given, how often the sender
// was asked in all.
func (w *world) wantEvent(t *testing.T, order string, status events.Status, attempts int, asked ...int) {
	t.Helper()
	e, requests := w.records(t)[order].Events()[0], w.receiver.requests()
	if e.EventStatus() != status || e.Attempts != attempts || len(asked) > 0 && requests != asked[0] {
		t.Errorf("on record %s after %d attempts, and %d requests; want %s after %d, and %d", e.EventStatus(), e.Attempts, requests, status, attempts, asked)
	}
}

// begun opens a checkout whose payer has gone on to the bank.
func (w *world) begun(t *testing.T, order string) service.Opened {
	t.Helper()
	o := w.opened(t, order)
	w.presses(t, o)
	return o
}

// confirmed opens, sets up and confirms a checkout.
func (w *world) confirmed(t *testing.T, order string) checkout.Checkout {
	t.Helper()
	return w.confirms(t, w.ready(t, order)).Checkout
}

// cancels has the provider cancel a checkout.
func (w *world) cancels(t *testing.T, o service.Opened) {
	t.Helper()
	_, err := w.Cancel(t.Context(), caller, o.Checkout.ID, checkout.Cancel{RequestID: "req_3", Reason: checkout.Some("wrong course")})
	must(t, err)
}

// page returns the page of a payer who comes back from the processor.
func (w *world) page(t *testing.T, token string) service.SetupPage {
	t.Helper()
	page, err := w.ReturnPage(t.Context(), token)
	must(t, err)
	return page
}

// setup returns what is on record of the setup of an order.
func (w *world) setup(t *testing.T, order string) checkout.Setup {
	t.Helper()
	return w.records(t)[order].Checkout.Setup
}

// change changes what is on record of an order, as another process does.
func (w *world) change(t *testing.T, order string, change func(*checkout.Checkout)) {
	t.Helper()
	_, _, err := w.store.UpdateCheckout(t.Context(), w.records(t)[order].Checkout, 0, func(c checkout.Checkout) (checkout.Change, error) {
		change(&c)
		return checkout.Change{At: w.clock.now(), Next: c}, nil
	})
	must(t, err)
}

// crashed stores a checkout of a provider like a process that died before it attempted the jobs.
func (w *world) crashed(t *testing.T, provider, order string) {
	t.Helper()
	cmd := create(order)
	cmd.ProviderCode = checkout.Some(provider)
	change := cmd.Open(checkout.Intent{}, checkout.Opening{ID: provider + "-1-" + order, Now: w.clock.now().UTC(), Environment: catalogue.Sandbox,
		Token: checkout.Token{Epoch: 1, Expires: w.clock.now()}})
	if w.config.CRM == nil {
		change.Jobs = change.Jobs[:1]
	}
	_, err := w.store.InsertCheckout(t.Context(), change, 10*time.Second)
	must(t, err)
}

// taken is the lease of a process that takes the one job of a kind over, once the lease of its holder is over.
func (w *world) taken(t *testing.T, kind checkout.JobKind) checkout.Lease {
	t.Helper()
	w.clock.forward(11 * time.Second)
	defer w.clock.forward(-11 * time.Second)
	l, err := w.store.Lease(t.Context(), checkout.JobQuery{Limits: map[checkout.JobKind]int{kind: 1}, For: 5 * time.Second})
	if err != nil || len(l) != 1 {
		t.Fatalf("another process takes %+v, %v; want a job of kind %s", l, err, kind)
	}
	return l[0]
}

// runFor runs the service's background work for a while.
func (w *world) runFor(t *testing.T, d time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	w.Run(ctx)
}
