// Package simulator serves the simulators of GoCardless and of Salesforce, for the command simulate and the
// demonstration.
package simulator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
)

// The credentials of every simulated account and organisation. They protect nothing.
const (
	Token         = "simulated_access_token"
	WebhookSecret = "simulated_webhook_secret"
	ClientID      = "simulated_client_id"
	ClientSecret  = "simulated_client_secret"
)

// minimumNotice is in calendar days. Providers often agree on two days of notice, and so does the demonstration's.
const minimumNotice = 2

// GoCardless serves a simulator of GoCardless until ctx ends. baseURL is that of the service that gets the notifications. The
// payer's pages are on the origin of the simulated API.
func GoCardless(ctx context.Context, ln net.Listener, baseURL string, log *slog.Logger) error {
	sim := gocardlesstest.New(gocardlesstest.Options{
		Token:         Token,
		Creditors:     []gocardlesstest.Creditor{{ID: "CRSIMULATED", Name: "Simulated creditor", MinimumAdvanceNotice: minimumNotice}},
		WebhookURL:    baseURL + gocardless.WebhookPath,
		WebhookSecret: WebhookSecret,
		Control:       true,
		Log:           log,
	})
	defer sim.Close()
	return serve(ctx, ln, sim, log)
}

// configure gives the organisation a provider with a course and a plan, as an administrator does.
func configure(sim *salesforcetest.Simulator) (fault error) {
	insert := func(object string, fields map[string]any) string {
		id, err := sim.Insert(object, fields)
		fault = errors.Join(fault, err)
		return id
	}
	account := insert("Account", map[string]any{"Name": "Kōwhai Institute"})
	provider := insert("Provider_Integration__c", map[string]any{"Name": "Kōwhai Institute", "Provider_Code__c": "KOWHAI",
		"Account__c": account, "Active__c": true, "API_Enabled__c": true, "Environment__c": "sandbox", "Pricing_Mode__c": "catalogue"})
	course := insert("Course__c", map[string]any{"Name": "Diploma in Business", "Course_Code__c": "NZDIP-BUS",
		"Course_Name__c": "Diploma in Business", "Provider_Integration__c": provider, "Price__c": "2990.00",
		"Upfront_Payment__c": "200.00", "Active__c": true})
	insert("Course_Plan__c", map[string]any{"Course__c": course, "Payment_Frequency__c": "Weekly", "Number_Of_Instalments__c": 52})
	return fault
}

// Salesforce serves a simulated Salesforce organisation until ctx ends. It has one provider to pull, with a course.
func Salesforce(ctx context.Context, ln net.Listener, log *slog.Logger) error {
	sim := salesforcetest.New(salesforcetest.Options{ClientID: ClientID, ClientSecret: ClientSecret, Sandbox: true, Control: true})
	defer sim.Close()
	if err := configure(sim); err != nil {
		return fmt.Errorf("configure the simulated organisation: %w", err)
	}
	return serve(ctx, ln, sim, log)
}

// serve serves a simulator until ctx ends, whatever hangs: that is part of the simulation.
func serve(ctx context.Context, ln net.Listener, sim http.Handler, log *slog.Logger) error {
	server := httpserver.New(sim, log)
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
