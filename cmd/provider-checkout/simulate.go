package main

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/httpserver"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/simulator"
)

func simulateFlags(fs *cli.Flags, s *settings) {
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
	sim := simulator.Config{Listener: ln, BaseURL: c.baseURL, Log: httpserver.NewLog(c.Stderr)}
	fmt.Fprintf(c.Stdout, "GoCardless is simulated at %s, which sends notifications to %s%s. Serve with it:\n\n"+
		"%s=%s %s=%s \\\n  %s serve --processor gocardless --gocardless-url %s --allow-private-destinations\n\n"+
		"POST %[1]s/simulator/… moves its clock and mandates, and arms faults.\n",
		sim.URL(), c.baseURL, gocardless.WebhookPath, tokenVariable, simulator.Token, webhookVariable, simulator.WebhookSecret,
		program, sim.URL())
	return sim.Serve(ctx)
}
