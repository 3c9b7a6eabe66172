package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/rehearsal"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// checkProvider plays the service against a provider's integration.
func checkProvider(c *call) action {
	addr := c.flags.String("listen", "127.0.0.1:8095", "`HOST:PORT` to listen on, which the integration calls")
	var forwardTo string
	cli.Var(c.flags, &forwardTo, "forward-to", "", parseWebhook,
		"`URL` of the integration's receiver of events; without it their situations are skipped")
	junit := c.flags.String("junit", "", "`FILE` to write the outcome to in the form of JUnit")
	asJSON := c.flags.String("json", "", "`FILE` to write the outcome to as JSON")
	return func(ctx context.Context) error {
		ln, err := c.listen(ctx, "listen", *addr)
		if err != nil {
			return err
		}
		defer ln.Close()
		out := c.Stdout
		if *junit == standard || *asJSON == standard {
			out = c.Stderr
		}
		report, err := rehearsal.Run(ctx, rehearsal.Config{
			Listener: ln,
			Site: site.Config{Log: httpserver.NewLogFrom(c.Stderr, slog.LevelWarn),
				Service: service.Config{Environment: catalogue.Sandbox, BaseURL: localURL(*addr, ln)}},
			Providers: demoProviders,
			Terms:     demoTerms,
			ForwardTo: forwardTo,
			Stdout:    out,
		})
		if err != nil {
			return err
		}
		report.Print(out)
		return errors.Join(c.writeReport(*junit, report.JUnit), c.writeReport(*asJSON, report.JSON), report.Err())
	}
}
