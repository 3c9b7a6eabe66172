package main

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/httpserver"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/simulator"
)

func simulateGoCardlessFlags(fs *cli.Flags, s *settings) {
	fs.StringVar(&s.addr, "addr", "127.0.0.1:8090", "`HOST:PORT` to listen on")
	fs.StringVar(&s.baseURL, "base-url", "http://127.0.0.1:8080", "`URL` of the service that gets the notifications")
}

// simulateGoCardless serves the simulator of GoCardless until ctx ends.
func simulateGoCardless(ctx context.Context, c *call) error {
	ln, err := listen(ctx, "--addr", c.addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	sim := simulator.GoCardless{Listener: ln, BaseURL: c.baseURL, Log: httpserver.NewLog(c.Stderr)}
	fmt.Fprintf(c.Stdout, "GoCardless is simulated at %s, which sends notifications to %s%s. Serve with it:\n\n"+
		"%s=%s %s=%s \\\n  %s serve --processor gocardless --gocardless-url %s --allow-private-destinations\n\n"+
		"POST %[1]s/simulator/… moves its clock and mandates, and arms faults.\n",
		sim.URL(), c.baseURL, gocardless.WebhookPath, tokenVariable, simulator.Token, webhookVariable, simulator.WebhookSecret,
		program, sim.URL())
	return sim.Serve(ctx)
}

func simulateSalesforceFlags(fs *cli.Flags, s *settings) {
	fs.StringVar(&s.addr, "addr", "127.0.0.1:8091", "`HOST:PORT` to listen on")
}

// simulateSalesforce serves a simulated Salesforce organisation until ctx ends.
func simulateSalesforce(ctx context.Context, c *call) error {
	ln, err := listen(ctx, "--addr", c.addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	url := "http://" + ln.Addr().String()
	fmt.Fprintf(c.Stdout, "A Salesforce organisation is simulated at %s. Sign in to it by client credentials:\n\n"+
		"curl -d grant_type=client_credentials -d client_id=%s -d client_secret=%s \\\n  %[1]s/services/oauth2/token\n\n"+
		"POST %[1]s/simulator/… moves its clock and arms faults; GET %[1]s/simulator/journal shows what was written.\n",
		url, simulator.ClientID, simulator.ClientSecret)
	return simulator.Salesforce(ctx, ln, httpserver.NewLog(c.Stderr))
}
