package gocardless

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// statusConsumed is the status of a mandate that has collected all it was for.
const statusConsumed checkout.MandateStatus = "consumed"

// Cancel implements ports.Processor: it cancels the billing request or, once that is fulfilled, its mandate. What GoCardless refuses to
// cancel is looked at: only what has ended counts as cancelled.
func (p *Processor) Cancel(ctx context.Context, q checkout.SetupQuery) error {
	mandate := q.Setup.MandateID
	if mandate == "" {
		var err error
		if mandate, err = p.cancelRequest(ctx, q); mandate == "" || err != nil {
			return err
		}
	}
	return p.cancelMandate(ctx, q.Purpose, mandate)
}

// cancelRequest cancels the billing request of a setup. It returns the id of the mandate if the payer was quicker.
func (p *Processor) cancelRequest(ctx context.Context, q checkout.SetupQuery) (mandate string, err error) {
	id := q.Setup.BillingRequestID
	if err := p.client.cancel(ctx, q.Purpose, "billing_requests", id); !errors.Is(err, errInvalidState) {
		return "", err
	}
	request, err := p.client.billingRequest(ctx, q.Purpose, id)
	switch seen := request.observation(); {
	case err != nil, seen.BillingRequest == checkout.BillingCancelled:
		return "", err
	case seen.MandateID == "":
		return "", fmt.Errorf("billing request %s is %s and has no mandate yet", id, seen.BillingRequest)
	default:
		return seen.MandateID, nil
	}
}

// cancelMandate cancels a mandate, or its replacement.
func (p *Processor) cancelMandate(ctx context.Context, purpose checkout.Purpose, id string) error {
	for attempt := 1; ; attempt++ {
		mandate, err := p.mandate(ctx, purpose, id)
		switch {
		case err != nil, mandate.Status.Dead(), mandate.Status == statusConsumed:
			return err
		case attempt > 1:
			return fmt.Errorf("mandate %s is %s and cannot be cancelled", mandate.ID, mandate.Status)
		}
		if err := p.client.cancel(ctx, purpose, "mandates", mandate.ID); !errors.Is(err, errInvalidState) {
			return err
		}
	}
}
