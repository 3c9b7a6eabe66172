package hostedpages_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/hostedpages"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

const baseURL = "https://pay.example"

// setting is the configuration of a bench.
type setting struct {
	provider  catalogue.Provider // kowhai if zero
	create    checkout.Create    // order if zero
	processor ports.Processor    // the fake one if nil
	agency    agreement.Agency
	retention checkout.Retention

	recipients []agreement.Recipient
	terms      agreement.Terms // ofPutea if zero
	printer    ports.Printer   // printer if nil
	notifier   ports.PayerNotifier
}

// bench is a service with one provider and one open checkout, and its pages.
type bench struct {
	config  service.Config
	options hostedpages.Options
	t       *testing.T
	now     time.Time
	store   *store
	service *service.Service
	hosted  http.Handler
	fake    http.Handler
	log     bytes.Buffer
	token   string
	id      string
	failing bool // the processor is expected to fail
}

// store is a memory store that counts updates, and whose reading can be made to fail.
type store struct {
	*memory.Store
	err          error // of checkouts
	agreementErr error
	updates      atomic.Int64
}

func (s *store) Agreement(ctx context.Context, checkoutID string) (agreement.Agreement, error) {
	if s.agreementErr != nil {
		return agreement.Agreement{}, s.agreementErr
	}
	return s.Store.Agreement(ctx, checkoutID)
}

func (s *store) UpdateCheckout(ctx context.Context, known checkout.Checkout, hold time.Duration,
	decide ports.Decide) (checkout.Change, []checkout.Lease, error) {
	s.updates.Add(1)
	return s.Store.UpdateCheckout(ctx, known, hold, decide)
}

func (s *store) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	if s.err != nil {
		return checkout.Checkout{}, s.err
	}
	return s.Store.Checkout(ctx, id)
}

type printer struct{}

func (printer) SignedBy() string { return "" }

func (printer) Print(context.Context, agreement.Agreement) ([]byte, error) {
	return []byte("%PDF"), nil
}

// blunt is a printer that fails.
type blunt struct{}

func (blunt) SignedBy() string { return "" }

func (blunt) Print(context.Context, agreement.Agreement) ([]byte, error) {
	return nil, errors.New("out of ink")
}

type sender struct{}

func (sender) Send(context.Context, catalogue.Destination, events.Delivery, int) error {
	return nil
}

// kowhai is the provider of most tests.
func kowhai() catalogue.Provider {
	return catalogue.Provider{
		Code: "KOWHAI", Name: "Kowhai Ltd", AccountID: "acc-kowhai",
		Environment: catalogue.Sandbox, Active: true, APIEnabled: true,
		EnrolmentOrigins: []string{"https://enrol.kowhai.example", "https://www.kowhai.example"},
		SuccessURL:       "https://enrol.kowhai.example/done?from=bank",
		CancelURL:        "https://enrol.kowhai.example/cancelled",
		Branding: catalogue.Branding{
			DisplayName: "Kōwhai Institute", PrimaryColour: "#1F6F54",
			LogoURL: "https://cdn.kowhai.example/logo.png", SupportEmail: "help@kowhai.example",
		},
		Mode: catalogue.Legacy,
	}
}

// ofPutea are the terms of the lender of most tests.
func ofPutea() agreement.Terms {
	return agreement.Terms{
		Lender: agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay, Wellington", Registration: "FSP1"},
		Blocks: []agreement.Block{{Title: "Hardship", Text: "The payer can ask <the lender> to change the plan."}},
	}
}

// order is a create of 200.00 at once and 2,790.00 in 52 instalments.
func order() checkout.Create {
	return checkout.Create{
		RequestID:    "req_1",
		ProviderCode: checkout.Some("KOWHAI"),
		OrderID:      checkout.Some("order-1"),
		FirstName:    checkout.Some("Hēmi"),
		LastName:     checkout.Some("O'Brien"),
		Email:        checkout.Some("hemi@example.nz"),
		CourseName:   checkout.Some("Diploma in Business"),
		Price:        checkout.Some(money.Cents(2_990_00)),
		Principal:    checkout.Some(money.Cents(2_790_00)),
		Upfront:      checkout.Some(money.Cents(200_00)),
		PaymentType:  checkout.Some("interest_free_payment_plan"),
		Frequency:    checkout.Some("Weekly"),
		Number:       checkout.Some(52),
		Regular:      checkout.Some(money.Cents(53_65)),
		Final:        checkout.Some(money.Cents(53_85)),
		First:        checkout.Some(money.Date{Year: 2027, Month: time.February, Day: 1}),
	}
}

func newBench(t *testing.T, set setting) *bench {
	t.Helper()
	if set.provider.Code == "" {
		set.provider = kowhai()
	}
	if !set.create.OrderID.Given {
		set.create = order()
	}
	if set.printer == nil {
		set.printer = printer{}
	}
	if set.terms.IsZero() {
		set.terms = ofPutea()
	}
	b := &bench{
		t:   t,
		now: time.Date(2027, 1, 20, 21, 0, 0, 0, time.UTC),
	}
	clock := func() time.Time { return b.now }
	b.store = &store{Store: memory.New(clock)}
	b.configure(set.provider)
	keys, err := checkout.NewKeyring(bytes.Repeat([]byte("k"), 32))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewJSONHandler(&b.log, nil))
	fake := fakeprocessor.New(fakeprocessor.Options{Records: b.store, BaseURL: baseURL, Log: log, Now: clock})
	if set.processor == nil {
		set.processor = fake
	}
	b.config = service.Config{
		Environment: catalogue.Sandbox, BaseURL: baseURL, Keyring: keys,
		Store: b.store, Processor: set.processor, Printer: set.printer, Sender: sender{},
		Terms: set.terms, Agency: set.agency, Recipients: set.recipients, Retention: set.retention, Notifier: set.notifier,
		Now: clock, Rand: rand.Reader,
		Report: func(_ context.Context, f service.Failure) {
			expected := b.failing || b.store.err != nil && errors.Is(f.Err, b.store.err)
			if !expected {
				t.Errorf("reported: %s: %v", f.Operation, f.Err)
			}
		},
	}
	b.options = hostedpages.Options{Log: log, Now: clock}
	b.serve()
	b.fake = fake

	opened, err := b.service.Create(t.Context(), service.Caller{ProviderCode: set.provider.Code}, set.create)
	if err != nil {
		t.Fatal(err)
	}
	b.token, b.id = opened.Token, opened.Checkout.ID
	return b
}

// serve begins to serve with the configuration as it is.
func (b *bench) serve() {
	b.t.Helper()
	var err error
	if b.service, err = service.New(b.config); err != nil {
		b.t.Fatal(err)
	}
	b.hosted = hostedpages.New(b.service, b.options)
}

// inShort are the terms of ofPutea with this notice.
func inShort(days int) agreement.Terms {
	t := ofPutea()
	t.NoticeDays = days
	return t
}

// configure makes p the only provider, long enough ago for the running service to see it.
func (b *bench) configure(p catalogue.Provider) {
	b.t.Helper()
	err := b.store.ReplaceProviders(b.t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error) {
		return []catalogue.Configuration{{Provider: p}}, nil, nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.now = b.now.Add(5 * time.Second)
}

// stored returns the checkout as it is on record.
func (b *bench) stored() checkout.Checkout {
	b.t.Helper()
	c, err := b.store.Store.Checkout(b.t.Context(), b.id)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// setUp completes the bank setup, by the forms of both pages, and comes back.
func (b *bench) setUp() {
	b.t.Helper()
	b.complete(b.start())
	b.back()
}

// back returns the page of a payer who comes back from the processor.
func (b *bench) back() answer {
	b.t.Helper()
	page := b.get(b.returnPath())
	if page.status == http.StatusSeeOther && page.header.Get("Location") == b.setupPath() {
		return b.get(b.setupPath())
	}
	return page
}

// start begins the bank setup, and returns the address of the processor's page.
func (b *bench) start() (bankPage string) {
	b.t.Helper()
	begun := b.do(http.MethodPost, "/api/dd-setup", b.pressed())
	begun.is(b.t, http.StatusSeeOther)
	return begun.header.Get("Location")
}

// complete sends the form of the processor's page.
func (b *bench) complete(bankPage string) {
	b.t.Helper()
	b.do(http.MethodPost, bankPage, account().Encode()).is(b.t, http.StatusSeeOther)
}

// account is the processor's form as it should be filled in.
func account() url.Values {
	return url.Values{"account_holder_name": {"Hēmi O'Brien"}, "account_number": {"01-0902-0068389-00"}, "authority_confirmed": {"yes"}}
}

// confirm confirms the enrolment, with a first payment on this date.
func (b *bench) confirm(first checkout.Optional[money.Date]) {
	b.t.Helper()
	c := b.stored()
	records, yes := c.Records(catalogue.Sandbox), checkout.Some(true)
	_, err := b.service.Confirm(b.t.Context(), service.Caller{ProviderCode: c.ProviderCode}, b.id, checkout.Confirm{
		RequestID: "req_2", CheckoutID: checkout.Some(b.id),
		ProviderCode: checkout.Some(c.ProviderCode), OrderID: checkout.Some(c.OrderID), Token: checkout.Some(b.token),
		OpportunityID: checkout.Some(records.OpportunityID), DDAID: checkout.Some(records.DDAID),
		PaymentMethod: checkout.Some("service_payment_plan"), FirstPayment: first,
		DepositConfirmed: yes, PaymentPlanAccepted: yes, InformationConfirmed: yes, PrivacyConsentAccepted: yes,
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// change changes the checkout on record.
func (b *bench) change(edit func(*checkout.Checkout)) {
	b.t.Helper()
	b.decides(func(c checkout.Checkout) (checkout.Change, error) {
		edit(&c)
		return checkout.Change{At: b.now, Next: c}, nil
	})
}

// decides stores a decision about the checkout.
func (b *bench) decides(decide ports.Decide) {
	b.t.Helper()
	if _, _, err := b.store.Store.UpdateCheckout(b.t.Context(), b.stored(), 0, decide); err != nil {
		b.t.Fatal(err)
	}
}

// erases erases the payer's personal data.
func (b *bench) erases() {
	b.t.Helper()
	b.decides(func(c checkout.Checkout) (checkout.Change, error) {
		return c.Erase(b.now, checkout.ActorService, nil), nil
	})
}

// poll reads the checkout as its provider does.
func (b *bench) poll() checkout.Checkout {
	b.t.Helper()
	c, err := b.service.Checkout(b.t.Context(), service.Caller{ProviderCode: "KOWHAI"}, b.id)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// setupPath is the address of the setup page, legalPath of the terms, returnPath that to which the processor leads back.
func (b *bench) setupPath() string  { return "/api/dd-setup?token=" + url.QueryEscape(b.token) }
func (b *bench) legalPath() string  { return "/api/dd-setup/legal?token=" + url.QueryEscape(b.token) }
func (b *bench) returnPath() string { return "/api/dd-setup/return?token=" + url.QueryEscape(b.token) }
