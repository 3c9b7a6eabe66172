package httpserver_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/provider-checkout/provider-checkout/adapters/in/hostedpages"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/in/ops"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// A program serves, drains and stops in this order: requests are answered and the background work runs until the
// context ends, as with signal.NotifyContext. Then readiness fails, the background work ends, requests in flight are
// answered, the operator's listener closes, and last the store is closed. Metrics are registered with the program's
// own registry.
func Example() {
	ctx, stop := context.WithCancel(context.Background())

	log := httpserver.NewLog(os.Stderr)
	registry := prometheus.NewRegistry() // the program's own
	metrics := ops.NewMetrics(registry)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	private, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)

	store := memory.New(time.Now) // or sqlite.Open, with defer store.Close() here
	baseURL := "http://" + listener.Addr().String()
	bank := fakeprocessor.New(fakeprocessor.Options{Records: store, BaseURL: baseURL})
	secrets, err := checkout.ParseSecrets("the operator's secret, 32 bytes or more", "\n")
	check(err)
	keyring, err := checkout.NewKeyring(secrets...)
	check(err)
	signer, err := pdf.Derived(secrets[0], "Example") // production needs a certificate: pdf.ParseSigner
	check(err)
	printer, err := pdf.New(2, signer)
	check(err)
	checkouts, err := service.New(service.Config{Environment: catalogue.Sandbox, BaseURL: baseURL, Keyring: keyring,
		Store: store, Processor: bank, Printer: printer, Sender: webhook.New(webhook.Options{}),
		Now: time.Now, Rand: rand.Reader, Report: httpserver.Report(log), Count: metrics.Count})
	check(err)
	operator, err := ops.New(checkouts, ops.Options{Metrics: metrics, Gatherer: registry, Log: log})
	check(err)

	ended := make(chan error, 1)
	go func() {
		ended <- httpserver.Serve(ctx, httpserver.Config{
			Listener: listener,
			Handler: httpapi.New(checkouts, httpapi.Options{Observe: metrics.ObserveRequest, Mount: map[string]http.Handler{
				hostedpages.Prefix:   hostedpages.New(checkouts, hostedpages.Options{}),
				fakeprocessor.Prefix: bank,
			}}),
			Background: checkouts.Run,
			Private:    []httpserver.Private{{Listener: private, Handler: operator}},
			OnDrain:    operator.Drain,
			Log:        httpserver.NewLog(os.Stderr),
		})
	}()
	for _, address := range []string{baseURL + "/v1/environment", "http://" + private.Addr().String() + "/readyz"} {
		answer, err := http.Get(address)
		check(err)
		answer.Body.Close()
		fmt.Println(answer.Status)
	}
	stop()
	fmt.Println("ended with", <-ended)

	// Output:
	// 200 OK
	// 200 OK
	// ended with <nil>
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
