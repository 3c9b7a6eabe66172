package demo

import (
	"context"
	"log/slog"
	"net"
	"sync"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/simulator"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// simulate starts the simulators that the configuration asks for, each on a port of its own, and has the site use them.
// They run until stop is called, which is never nil.
func (cfg *Config) simulate(ctx context.Context, log *slog.Logger) (stop func(), err error) {
	simulating, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	stop = func() { cancel(); running.Wait() }
	start := func(serve func(net.Listener) error) (url string, err error) {
		ln, err := localListener(ctx)
		if err != nil {
			return "", err
		}
		running.Go(func() {
			if err := serve(ln); err != nil {
				log.Error("simulate", slog.Any("error", err))
			}
		})
		return "http://" + ln.Addr().String(), nil
	}
	environment := cfg.Site.Service.Environment
	if cfg.GoCardless {
		url, err := start(func(ln net.Listener) error {
			return simulator.GoCardless(simulating, ln, cfg.Site.Service.BaseURL, log)
		})
		if err != nil {
			return stop, err
		}
		processor, err := gocardless.New(gocardless.Options{Environment: environment, Token: simulator.Token, URL: url})
		if err != nil {
			return stop, err
		}
		cfg.Site.GoCardless = &site.GoCardless{Processor: processor, WebhookSecrets: [][]byte{[]byte(simulator.WebhookSecret)}}
	}
	if cfg.Salesforce {
		url, err := start(func(ln net.Listener) error { return simulator.Salesforce(simulating, ln, log) })
		if err != nil {
			return stop, err
		}
		cfg.Site.Service.CRM, err = salesforce.New(salesforce.Options{Environment: environment, URL: url, ClientID: simulator.ClientID,
			ClientSecret: simulator.ClientSecret})
		if err != nil {
			return stop, err
		}
	}
	return stop, nil
}

func localListener(ctx context.Context) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
}
