// Package fakeprocessor stands in for a direct debit payment processor in the sandbox. It
// keeps nothing: its page hands the result to the service, and later statuses follow from the time.
package fakeprocessor

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"net/url"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// How long after its completion a mandate reaches its next status.
const (
	submittedAfter = time.Minute
	activeAfter    = 2 * time.Minute
)

// Processor is the fake processor.
type Processor struct{}

var _ ports.Processor = Processor{}

// Name returns "fake".
func (Processor) Name() string { return "fake" }

// Ready implements ports.Processor: there is nothing that could be down.
func (Processor) Ready(ctx context.Context) error { return ctx.Err() }

// Begin implements ports.Processor. The billing request's id is a function of start.Key.
func (Processor) Begin(ctx context.Context, start ports.SetupStart) (ports.BillingRequest, error) {
	if err := ctx.Err(); err != nil {
		return ports.BillingRequest{}, err
	}
	sum := sha256.Sum256([]byte(start.Key))
	return ports.BillingRequest{
		ID:  "BR" + base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:15]),
		URL: start.BaseURL + formPath + "?token=" + url.QueryEscape(start.Token),
	}, nil
}

// Observe implements ports.Processor: a completed setup is submitted after one minute, and
// active and authorised after two. A mandate that died stays dead.
func (Processor) Observe(ctx context.Context, setup checkout.Setup, now time.Time) (checkout.Observation, error) {
	if err := ctx.Err(); err != nil {
		return checkout.Observation{}, err
	}
	age := now.Sub(setup.CompletedAt)
	switch {
	case setup.Mandate.Dead():
		return setup.Observation, nil
	case setup.CompletedAt.IsZero():
		return checkout.Observation{
			BillingRequest: checkout.BillingPending,
			Mandate:        checkout.MandateNone,
			Authorisation:  checkout.CustomerInProgress,
		}, nil
	case age < submittedAfter:
		return completed(), nil
	case age < activeAfter:
		return checkout.Observation{
			BillingRequest: checkout.BillingFulfilled,
			Mandate:        checkout.MandateSubmitted,
			Authorisation:  checkout.CustomerInProgress,
		}, nil
	}
	return checkout.Observation{
		BillingRequest: checkout.BillingFulfilled,
		Mandate:        checkout.MandateActive,
		Authorisation:  checkout.Authorised,
	}, nil
}

// completed is what the processor says of a setup that the payer has just completed.
func completed() checkout.Observation {
	return checkout.Observation{
		BillingRequest: checkout.BillingFulfilled,
		Mandate:        checkout.MandatePendingSubmission,
		Authorisation:  checkout.CustomerInProgress,
	}
}
