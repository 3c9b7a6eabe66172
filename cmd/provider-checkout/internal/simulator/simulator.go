// Package simulator serves the simulator of GoCardless, for the command simulate and the demonstration.
package simulator

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/gocardless/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/adapters/httpserver"
)

// The credentials of every simulated account. They protect nothing.
const (
	Token         = "simulated_access_token"
	WebhookSecret = "simulated_webhook_secret"
)

// minimumNotice is in calendar days. Providers often agree on two days of notice, and so does the demonstration's.
const minimumNotice = 2

// Config is what a simulator is served with.
type Config struct {
	Listener net.Listener
	BaseURL  string // of the service that gets the notifications
	Log      *slog.Logger
}

// URL returns the base URL of the simulated API, on whose origin the payer's pages are too.
func (c Config) URL() string { return "http://" + c.Listener.Addr().String() }

// Serve serves the simulator until ctx ends.
func (c Config) Serve(ctx context.Context) error {
	sim := gocardlesstest.New(gocardlesstest.Options{
		Token:         Token,
		Creditors:     []gocardlesstest.Creditor{{ID: "CRSIMULATED", Name: "Simulated creditor", MinimumAdvanceNotice: minimumNotice}},
		WebhookURL:    c.BaseURL + gocardless.WebhookPath,
		WebhookSecret: WebhookSecret,
		Control:       true,
		Log:           c.Log,
	})
	defer sim.Close()
	server := httpserver.New(sim, c.Log)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(c.Listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = errors.Join(server.Shutdown(limit), server.Close()) // what hangs is part of the simulation
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
