package service_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/hostedpages"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// A processor of your own, whose page for bank details is on another origin and which sends notifications: implement
// ports.Processor, test it with adapters/kit/processortest, and call Service.Notified from the receiver of its
// notifications: Service.Run then asks what happened. The notification itself is only a hint.
func Example_processor() {
	ctx := context.Background()
	bank := newRemoteBank()
	defer bank.server.Close()

	store := memory.New()
	checkouts, baseURL, closeServer := serveWith(store, bank)
	defer closeServer()
	bank.notify = baseURL + "/notifications"

	opened, err := checkouts.Create(ctx, service.Caller{ProviderCode: "RIMU"}, legacyOrder("ENROLMENT-1"))
	check(err)

	// The payer's browser: the setup page's form leads to the bank, and the bank leads back.
	page, err := http.Get(opened.SetupURL)
	check(err)
	body, err := io.ReadAll(page.Body)
	check(err)
	page.Body.Close()
	_, terms, _ := strings.Cut(string(body), `name="terms" value="`)
	terms, _, _ = strings.Cut(terms, `"`)
	fmt.Println("the page may lead to the bank:", strings.Contains(page.Header.Get("Content-Security-Policy"),
		"form-action 'self' "+bank.server.URL))
	back, err := http.PostForm(opened.SetupURL, url.Values{"token": {opened.Token}, "terms": {terms}})
	check(err)
	back.Body.Close()
	fmt.Println("back on the setup page:", strings.HasPrefix(back.Request.URL.String(), baseURL+service.SetupPath))

	running, stop := context.WithTimeout(ctx, 100*time.Millisecond)
	defer stop()
	checkouts.Run(running) // which your program does all the time
	stored, err := store.Checkout(ctx, opened.Checkout.ID)
	check(err)
	fmt.Println("setup complete:", stored.SetupComplete(), stored.Setup.Mandate)

	// Output:
	// the page may lead to the bank: true
	// back on the setup page: true
	// setup complete: true pending_submission
}

// remoteBank is a processor over HTTP, reduced to what the port needs.
type remoteBank struct {
	server *httptest.Server
	notify string // where it sends notifications

	mu       sync.Mutex
	requests map[string]checkout.SetupStart // by billing request id
	done     map[string]time.Time
	ended    map[string]bool
}

func newRemoteBank() *remoteBank {
	b := &remoteBank{requests: map[string]checkout.SetupStart{}, done: map[string]time.Time{}, ended: map[string]bool{}}
	b.server = httptest.NewServer(http.HandlerFunc(b.page))
	return b
}

func (b *remoteBank) Info() checkout.ProcessorInfo {
	return checkout.ProcessorInfo{Name: "remotebank", Environment: catalogue.Sandbox, PageOrigins: []string{b.server.URL}}
}

func (b *remoteBank) Ready(context.Context) error { return nil }

func (b *remoteBank) Begin(_ context.Context, start checkout.SetupStart) (checkout.BillingRequest, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := "BRQ-" + start.Key
	b.requests[id] = start
	return checkout.BillingRequest{ID: id, URL: b.server.URL + "/" + id}, nil
}

func (b *remoteBank) Observe(_ context.Context, q checkout.SetupQuery) (checkout.Observation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := checkout.Observation{BillingRequest: checkout.BillingPending, Authorisation: checkout.CustomerInProgress}
	if at, ok := b.done[q.Setup.BillingRequestID]; ok {
		seen = checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandatePendingSubmission,
			MandateID: "MD-" + q.Setup.BillingRequestID, Authorisation: checkout.CustomerInProgress,
			AccountHolder: "A NGATA", AccountMask: "01-0902-•••••89-00", CompletedAt: at}
	}
	switch {
	case b.ended[q.Setup.BillingRequestID] && seen.MandateID != "":
		seen.Mandate = checkout.MandateCancelled
	case b.ended[q.Setup.BillingRequestID]:
		seen.BillingRequest = checkout.BillingCancelled
	}
	return seen, nil
}

func (b *remoteBank) Cancel(_ context.Context, q checkout.SetupQuery) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended[q.Setup.BillingRequestID] = true
	return nil
}

// page serves the form for the bank details of the payer. This fake completes the setup at once.
func (b *remoteBank) page(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.URL.Path, "/")
	b.mu.Lock()
	start, ended := b.requests[id], b.ended[id]
	if !ended {
		b.done[id] = time.Now().UTC().Truncate(time.Millisecond)
	}
	b.mu.Unlock()
	if ended {
		http.Redirect(w, r, start.ReturnURL, http.StatusSeeOther)
		return
	}
	sent, err := http.PostForm(b.notify, url.Values{"billing_request": {id}})
	check(err)
	sent.Body.Close()
	http.Redirect(w, r, start.ReturnURL, http.StatusSeeOther)
}

// serveWith serves a service over the store with this processor, and the receiver of its notifications beside it.
func serveWith(store *memory.Store, bank ports.Processor) (checkouts *service.Service, baseURL string, closeServer func()) {
	server := httptest.NewUnstartedServer(nil)
	baseURL = "http://" + server.Listener.Addr().String()
	config := exampleConfig(store, bank)
	config.BaseURL = baseURL
	checkouts, err := service.New(config)
	check(err)
	notifications := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // check its signature first
		id := r.PostFormValue("billing_request")
		err := checkouts.Notified(r.Context(), []checkout.Notification{{ID: "fulfilled-" + id, Received: time.Now(), BillingRequestID: id}})
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable) // so that the bank sends it again
		}
	})
	server.Config.Handler = httpapi.New(checkouts, httpapi.Options{Mount: map[string]http.Handler{
		hostedpages.Prefix: hostedpages.New(checkouts, hostedpages.Options{}),
		"/notifications":   notifications,
	}})
	check(store.ReplaceProviders(context.Background(), rimu))
	server.Start()
	return checkouts, baseURL, server.Close
}

// rimu configures a provider without a catalogue.
func rimu([]catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error) {
	return []catalogue.Configuration{{Provider: catalogue.Provider{Code: "RIMU", Name: "Rimu College", AccountID: "acc-rimu",
		Environment: catalogue.Sandbox, Active: true, APIEnabled: true, Mode: catalogue.Legacy}}}, nil, nil
}

// legacyOrder is a create of a provider without a catalogue.
func legacyOrder(order string) checkout.Create {
	return checkout.Create{
		ProviderCode: checkout.Some("RIMU"),
		OrderID:      checkout.Some(order),
		FirstName:    checkout.Some("Aroha"),
		LastName:     checkout.Some("Ngata"),
		Email:        checkout.Some("aroha@students.example.ac.nz"),
		CourseName:   checkout.Some("Carpentry, Level 4"),
		Price:        checkout.Some(money.Cents(1000_00)),
		Principal:    checkout.Some(money.Cents(1000_00)),
		Upfront:      checkout.Some(money.Cents(0)),
		PaymentType:  checkout.Some(checkout.PaymentType),
		Frequency:    checkout.Some("Weekly"),
		Number:       checkout.Some(4),
		Regular:      checkout.Some(money.Cents(250_00)),
		First:        checkout.Some(money.Date{Year: 2027, Month: time.February, Day: 1}),
	}
}
