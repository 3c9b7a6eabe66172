package demo

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/simulator"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// simulate starts the simulators that the configuration asks for, each on a port of its own, and has the site use them.
// stop ends them.
func (cfg *Config) simulate(ctx context.Context, log *slog.Logger) (stop func() error, err error) {
	simulating, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var ended []<-chan error
	stop = func() (err error) {
		cancel()
		for _, end := range ended {
			err = errors.Join(err, <-end)
		}
		return err
	}
	start := func(serve func(context.Context) error) {
		end := make(chan error, 1)
		go func() { end <- serve(simulating) }()
		ended = append(ended, end)
	}
	if cfg.GoCardless {
		ln, err := localListener(ctx)
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		sim := simulator.GoCardless{Listener: ln, BaseURL: cfg.Site.Service.BaseURL, Log: log}
		start(sim.Serve)
		processor, err := gocardless.New(gocardless.Options{Environment: cfg.Site.Service.Environment, Token: simulator.Token, URL: sim.URL()})
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		cfg.Site.GoCardless = &site.GoCardless{Processor: processor, WebhookSecrets: [][]byte{[]byte(simulator.WebhookSecret)}}
	}
	if cfg.Salesforce {
		ln, err := localListener(ctx)
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		start(func(ctx context.Context) error { return simulator.Salesforce(ctx, ln, log) })
		cfg.Site.Service.CRM, err = salesforce.New(salesforce.Options{Environment: cfg.Site.Service.Environment, URL: "http://" + ln.Addr().String(),
			ClientID: simulator.ClientID, ClientSecret: simulator.ClientSecret})
		if err != nil {
			return nil, errors.Join(err, stop())
		}
	}
	return stop, nil
}

func localListener(ctx context.Context) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
}
