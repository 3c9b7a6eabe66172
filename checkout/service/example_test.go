package service_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/hostedpages"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
)

// The sandbox over one SQLite file in a program of your own: put the service together, serve everything by one handler,
// and call the service directly where your own code is the provider. The program provider-checkout does the same.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	check(err)
	defer os.RemoveAll(dir)

	// The adapters. In production set sqlite.Options.Secrets, and use a processor that moves money.
	store, err := sqlite.Open(ctx, filepath.Join(dir, "checkouts.db"), sqlite.Options{Environment: catalogue.Sandbox})
	check(err)
	defer store.Close()
	keyring, err := checkout.NewKeyring(store.Secrets()...)
	check(err)
	signer, err := pdf.Derived(store.Secrets()[0], "Example") // production needs a certificate: pdf.ParseSigner
	check(err)
	printer, err := pdf.New(2, signer)
	check(err)
	log := httpserver.NewLog(io.Discard) // os.Stderr, or a log of your own
	server := httptest.NewUnstartedServer(nil)
	baseURL := "http://" + server.Listener.Addr().String()
	bank := fakeprocessor.New(fakeprocessor.Options{Records: store, BaseURL: baseURL, Log: log})

	checkouts, err := service.New(service.Config{Environment: catalogue.Sandbox, BaseURL: baseURL, Keyring: keyring,
		Store: store, Processor: bank, Printer: printer, Sender: webhook.New(webhook.Options{}),
		Now: time.Now, Rand: rand.Reader, Report: httpserver.Report(log)})
	check(err)

	// Everything under the base URL: the JSON API, its documentation, the payer's pages and the sandbox's bank.
	server.Config = httpserver.New(httpapi.New(checkouts, httpapi.Options{Log: log, RateLimit: 100, Mount: map[string]http.Handler{
		hostedpages.Prefix:   hostedpages.New(checkouts, hostedpages.Options{Log: log, RateLimit: 100}),
		fakeprocessor.Prefix: bank,
	}}), log)
	server.Start()
	defer server.Close()

	// The background work, which the caller waits for. The example of adapters/in/httpserver shows how to drain in order.
	running, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); checkouts.Run(running) }()
	defer func() { stop(); <-done }()

	// As "provider-checkout apply" does: read the provider file, and replace the providers by it.
	all, err := providerfile.Parse([]byte(`{"providers": [{
		"provider_code": "KOWHAI", "name": "Kōwhai Institute", "account_id": "acc-kowhai",
		"environment": "sandbox", "active": true, "api_enabled": true,
		"courses": [{"course_code": "NZDIP", "course_name": "Diploma in Business",
			"course_price": 2990.00, "upfront_payment": 200.00, "active": true,
			"plans": [{"payment_frequency": "Weekly", "number_of_instalments": 52}]}]}]}`))
	check(err)
	check(store.ReplaceProviders(ctx, func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error) {
		return all, nil, nil
	}))

	// Your own enrolment form opens a checkout on behalf of its provider, without HTTP.
	kowhai := service.Caller{ProviderCode: "KOWHAI"}
	opened, err := checkouts.Create(ctx, kowhai, checkout.Create{
		ProviderCode: checkout.Some("KOWHAI"),
		OrderID:      checkout.Some("ENROLMENT-1"),
		FirstName:    checkout.Some("Aroha"),
		LastName:     checkout.Some("Ngata"),
		Email:        checkout.Some("aroha@students.example.ac.nz"),
		CourseCode:   checkout.Some("NZDIP"),
		Frequency:    checkout.Some("Weekly"),
		First:        checkout.Some(money.Date{Year: 2027, Month: time.February, Day: 1}),
	})
	check(err)
	fmt.Println(opened.Checkout.Status)
	schedule := opened.Checkout.Schedule()
	for _, charge := range []money.Charge{schedule[0], schedule[1], schedule[len(schedule)-1]} {
		fmt.Println(charge.Due, charge.Amount, charge.Type)
	}

	// The payer's browser opens opened.SetupURL.
	page, err := http.Get(opened.SetupURL)
	check(err)
	page.Body.Close()
	fmt.Println(page.StatusCode, page.Header.Get("Content-Type"))

	// Until the payer has set up the direct debit there is nothing to confirm.
	now, err := checkouts.Checkout(ctx, kowhai, opened.Checkout.ID)
	check(err)
	fmt.Println("setup complete:", now.SetupComplete())

	// Output:
	// direct_debit_setup_required
	// 2027-02-01 200.00 initial_payment
	// 2027-02-08 53.65 instalment
	// 2028-01-31 53.85 final_instalment
	// 200 text/html; charset=utf-8
	// setup complete: false
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
