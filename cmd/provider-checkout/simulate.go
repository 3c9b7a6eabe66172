package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/simulator"
)

// simulateGoCardless serves the simulator of GoCardless until ctx ends.
func simulateGoCardless(c *call) action {
	addr := c.flags.String("addr", "127.0.0.1:8090", "`HOST:PORT` to listen on")
	baseURL := c.flags.String("base-url", "http://127.0.0.1:8080", "`URL` of the service that gets the notifications")
	return func(ctx context.Context) error {
		ln, err := c.listen(ctx, "addr", *addr)
		if err != nil {
			return err
		}
		defer ln.Close()
		service, err := url.Parse(*baseURL)
		if err != nil || service.Host == "" {
			return cli.UsageError(fmt.Sprintf("--base-url %q must be a URL such as http://127.0.0.1:8080", *baseURL))
		}
		fmt.Fprintf(c.Stdout, "GoCardless is simulated at %s, which sends notifications to %s%s. Serve with it:\n\n"+
			"export %s=%s %s=%s PROVIDER_CHECKOUT_GOCARDLESS_URL=%[1]s\n"+
			"./%[8]s apply --processor gocardless -f providers.json\n"+
			"./%[8]s serve --addr %[9]s --processor gocardless --allow-private-destinations\n\n"+
			"Move its clock, and a mandate by its id or that of its billing request, which export has:\n\n"+
			"curl -H Content-Type:application/json -d '{\"advance\":\"1h\"}' %[1]s/simulator/clock\n"+
			"curl -H Content-Type:application/json -d '{\"status\":\"failed\",\"reason_code\":\"DISHONOUR-AC04\"}' %[1]s/simulator/mandates/BRQ…\n\n"+
			"go doc ./adapters/sim/gocardlesstest lists what else can be moved, and the names that have a fate.\n",
			"http://"+ln.Addr().String(), *baseURL, gocardless.WebhookPath, tokenVariable, simulator.Token, webhookVariable,
			simulator.WebhookSecret, program, service.Host)
		return simulator.GoCardless(ctx, ln, *baseURL, httpserver.NewLog(c.Stderr))
	}
}

// simulateSalesforce serves a simulated Salesforce organisation until ctx ends.
func simulateSalesforce(c *call) action {
	addr := c.flags.String("addr", "127.0.0.1:8091", "`HOST:PORT` to listen on")
	return func(ctx context.Context) error {
		ln, err := c.listen(ctx, "addr", *addr)
		if err != nil {
			return err
		}
		defer ln.Close()
		url := "http://" + ln.Addr().String()
		fmt.Fprintf(c.Stdout, "A Salesforce organisation is simulated at %s, which configures the provider KOWHAI. Serve with it, over a store\n"+
			"that was not served without:\n\n"+
			"export %s=%s %s=%s PROVIDER_CHECKOUT_SALESFORCE_URL=%[1]s\n"+
			"./%[6]s crm check\n"+
			"./%[6]s providers pull\n"+
			"./%[6]s serve --crm salesforce --allow-private-destinations\n\n"+
			"Sign in to it by client credentials:\n\n"+
			"curl -d grant_type=client_credentials -d client_id=%[3]s -d client_secret=%[5]s \\\n  %[1]s/services/oauth2/token\n\n"+
			"POST %[1]s/simulator/… moves its clock and arms faults; GET %[1]s/simulator/journal shows what was written.\n"+
			"go doc ./adapters/sim/salesforcetest lists them.\n",
			url, clientIDVariable, simulator.ClientID, clientSecretVariable, simulator.ClientSecret, program)
		return simulator.Salesforce(ctx, ln, httpserver.NewLog(c.Stderr))
	}
}
