package gocardless

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// placeBlock is the time for which GoCardless refuses a payer who came from a place that it does not serve.
const placeBlock = 24 * time.Hour

// Setback implements ports.SetbackFinder. That a payer was refused for the place, or that a billing request failed, stands
// in no status, only among the latest events.
func (p *Processor) Setback(ctx context.Context, q checkout.SetupQuery) (checkout.Setback, error) {
	latest, err := p.client.events(ctx, q.Purpose, "resource_type", "billing_requests", "billing_request", q.Setup.BillingRequestID)
	if err != nil {
		return checkout.NoSetback, err
	}
	for _, event := range latest { // the newest first
		switch {
		case event.Action == "failed":
			return checkout.SetbackFailure, nil
		case event.Action == "payer_geo_blocked" && p.client.now().Sub(event.CreatedAt) < placeBlock:
			return checkout.SetbackPlace, nil
		}
	}
	return checkout.NoSetback, nil
}
