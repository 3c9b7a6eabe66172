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
	start := func(serve func(context.Context) error) {
		running.Go(func() {
			if err := serve(simulating); err != nil {
				log.Error("simulate", slog.Any("error", err))
			}
		})
	}
	if cfg.GoCardless {
		ln, err := localListener(ctx)
		if err != nil {
			return stop, err
		}
		sim := simulator.GoCardless{Listener: ln, BaseURL: cfg.Site.Service.BaseURL, Log: log}
		start(sim.Serve)
		processor, err := gocardless.New(gocardless.Options{Environment: cfg.Site.Service.Environment, Token: simulator.Token, URL: sim.URL()})
		if err != nil {
			return stop, err
		}
		cfg.Site.GoCardless = &site.GoCardless{Processor: processor, WebhookSecrets: [][]byte{[]byte(simulator.WebhookSecret)}}
	}
	if cfg.Salesforce {
		ln, err := localListener(ctx)
		if err != nil {
			return stop, err
		}
		start(func(ctx context.Context) error { return simulator.Salesforce(ctx, ln, log) })
		crm, err := salesforce.New(salesforce.Options{Environment: cfg.Site.Service.Environment, URL: "http://" + ln.Addr().String(),
			ClientID: simulator.ClientID, ClientSecret: simulator.ClientSecret})
		if err != nil {
			return stop, err
		}
		cfg.Site.Service.CRM = crm
	}
	return stop, nil
}

func localListener(ctx context.Context) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
}
