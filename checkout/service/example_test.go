package service_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/hostedpages"
	"github.com/provider-checkout/provider-checkout/adapters/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/memory"
	"github.com/provider-checkout/provider-checkout/adapters/pdf"
	"github.com/provider-checkout/provider-checkout/adapters/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/webhook"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
)

// Embedding Provider Checkout in a program of your own: put the service together from the
// adapters you want, mount its two handlers, run its background work, and call it directly
// where your own code is the provider.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	// The outside. Take adapters/sqlite for a store that lasts, and your own ports.Processor for
	// a processor that moves money.
	store := memory.New()
	auckland, err := time.LoadLocation("Pacific/Auckland")
	check(err)
	printer, err := pdf.New(2, auckland)
	check(err)
	keyring, err := checkout.NewKeyring(bytes.Repeat([]byte("secret! "), 4)) // the operator's, 32 bytes or more
	check(err)
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))

	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()

	checkouts, err := service.New(service.Config{
		Environment: catalogue.Sandbox,
		BaseURL:     server.URL,
		Keyring:     keyring,
		Store:       store,
		Processor:   fakeprocessor.Processor{},
		Printer:     printer,
		Sender:      webhook.New(webhook.Options{}),
		Now:         time.Now,
		Rand:        rand.Reader,
		Report: func(ctx context.Context, f service.Failure) {
			log.Error(string(f.Operation), "severity", f.Severity, "request_id", httpapi.RequestID(ctx), "error", f.Err)
		},
	})
	check(err)

	// The doors: the JSON API, the payer's pages, and the sandbox's bank.
	options := httpapi.Options{Log: log, RateLimit: 100, Now: time.Now, Rand: rand.Reader}
	mux.Handle("/v1/", httpapi.New(checkouts, options))
	mux.Handle("/api/dd-setup", hostedpages.New(checkouts, options))
	mux.Handle("/api/dd-setup/", hostedpages.New(checkouts, options))
	mux.Handle("/sandbox/processor/", fakeprocessor.Pages(checkouts, options))

	// The background work, with somebody who waits for it.
	done := make(chan struct{})
	go func() { defer close(done); checkouts.Run(ctx) }()
	defer func() { stop(); <-done }()

	// What "provider-checkout apply" does: read the provider file, and replace the providers by it.
	all, err := providerfile.Parse([]byte(`{"providers": [{
		"provider_code": "KOWHAI", "name": "Kōwhai Institute", "account_id": "acc-kowhai",
		"environment": "sandbox", "active": true, "api_enabled": true,
		"courses": [{"course_code": "NZDIP", "course_name": "Diploma in Business",
			"course_price": 2990.00, "upfront_payment": 200.00, "active": true,
			"plans": [{"payment_frequency": "Weekly", "number_of_instalments": 52}]}]}]}`))
	check(err)
	check(store.ReplaceProviders(ctx, func([]catalogue.Configuration) ([]catalogue.Configuration, error) {
		return all, nil
	}))

	// Your own enrolment form opens a checkout without going through HTTP, as the provider that it is for.
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
	defer page.Body.Close()
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
