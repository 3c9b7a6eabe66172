package gocardless

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Observe implements ports.Processor. Once a setup is on record only its mandate is asked for.
func (p *Processor) Observe(ctx context.Context, q checkout.SetupQuery) (checkout.Observation, error) {
	known, request := q.Setup.Observation, q.Setup.BillingRequestID
	seen := known
	if !fulfilled(seen) {
		found, err := p.client.billingRequest(ctx, request)
		if seen = found.observation(); err != nil || seen.MandateID == "" {
			return seen, err
		}
	}
	mandate, err := p.client.mandate(ctx, seen.MandateID)
	if err == nil && seen.CompletedAt.IsZero() {
		seen.CompletedAt, err = p.completedAt(ctx, request, mandate)
	}
	if err == nil {
		seen = mandate.onto(seen)
		seen.MandateSince, seen.MandateReason, err = p.since(ctx, known, mandate)
	}
	return seen, err
}

// fulfilled reports whether everything is known of a setup but how its mandate stands now.
func fulfilled(seen checkout.Observation) bool {
	return seen.BillingRequest == checkout.BillingFulfilled && seen.MandateID != "" && seen.AccountHolder != "" && !seen.CompletedAt.IsZero()
}

// completedAt returns the time of the event that the billing request was fulfilled, or else of its mandate.
func (p *Processor) completedAt(ctx context.Context, request string, m mandateWire) (time.Time, error) {
	event, err := p.client.latestEvent(ctx, "resource_type", "billing_requests", "action", "fulfilled", "billing_request", request)
	if event.CreatedAt.IsZero() {
		event.CreatedAt = m.CreatedAt
	}
	return toMillis(event.CreatedAt), err
}

// since returns when a mandate reached its status, and the reason code, by its latest event. Both are empty where that event leads to
// another status, for the mandate has just changed again. A mandate that lives on keeps what is on record, and a mandate that has never
// ended needs no time: the statuses tell which answer is the later. A dead mandate may have been reinstated and have ended again.
func (p *Processor) since(ctx context.Context, known checkout.Observation, m mandateWire) (since time.Time, reason string, err error) {
	switch {
	case known.MandateID != "" && known.MandateID != m.ID: // it was replaced
	case known.Mandate == m.Status && !m.Status.Dead():
		return known.MandateSince, known.MandateReason, nil
	case known.MandateSince.IsZero() && !known.Mandate.Dead() && !m.Status.Dead():
		return time.Time{}, "", nil
	}
	event, err := p.client.latestEvent(ctx, "resource_type", "mandates", "mandate", m.ID)
	if !event.leadsTo(m.Status) {
		return time.Time{}, "", err
	}
	return toMillis(event.CreatedAt), outbound.Word(event.Details.ReasonCode), err
}

// toMillis returns a time as the service keeps it.
func toMillis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// statusConsumed is the status of a mandate that has collected all it was for.
const statusConsumed checkout.MandateStatus = "consumed"

// Cancel implements ports.Processor: it cancels the billing request or, once that is fulfilled, its mandate. What GoCardless refuses to
// cancel is looked at: only what has ended counts as cancelled.
func (p *Processor) Cancel(ctx context.Context, q checkout.SetupQuery) error {
	mandate := q.Setup.MandateID
	if mandate == "" {
		var err error
		if mandate, err = p.cancelRequest(ctx, q.Setup.BillingRequestID); mandate == "" || err != nil {
			return err
		}
	}
	return p.cancelMandate(ctx, mandate)
}

// cancelRequest cancels a billing request. It returns the id of the mandate if the payer was quicker.
func (p *Processor) cancelRequest(ctx context.Context, id string) (mandate string, err error) {
	if err := p.client.cancel(ctx, "billing_requests", id); !errors.Is(err, errInvalidState) {
		return "", err
	}
	request, err := p.client.billingRequest(ctx, id)
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
func (p *Processor) cancelMandate(ctx context.Context, id string) error {
	for attempt := 1; ; attempt++ {
		mandate, err := p.client.mandate(ctx, id)
		switch {
		case err != nil, mandate.Status.Dead(), mandate.Status == statusConsumed:
			return err
		case attempt > 1:
			return fmt.Errorf("mandate %s is %s and cannot be cancelled", mandate.ID, mandate.Status)
		}
		if err := p.client.cancel(ctx, "mandates", mandate.ID); !errors.Is(err, errInvalidState) {
			return err
		}
	}
}
