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

// Account holders whose mandates come to nothing, a minute after they were set up: so that a provider can try
// what it does then.
const (
	failingHolder   = "MANDATE FAILS"
	cancelledHolder = "MANDATE CANCELLED"
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
// active and authorised after two, unless the account holder's name says that it fails or is cancelled. A
// mandate that died stays dead.
func (Processor) Observe(ctx context.Context, setup checkout.Setup, now time.Time) (checkout.Observation, error) {
	if err := ctx.Err(); err != nil {
		return checkout.Observation{}, err
	}
	seen, age := setup.Observation, now.Sub(setup.CompletedAt)
	const pending, fulfilled = checkout.BillingPending, checkout.BillingFulfilled
	const progress = checkout.CustomerInProgress
	say := func(b checkout.BillingRequestStatus, m checkout.MandateStatus, a checkout.AuthorisationStatus) {
		seen.BillingRequest, seen.Mandate, seen.Authorisation = b, m, a
	}
	switch {
	case seen.Mandate.Dead():
	case seen.CompletedAt.IsZero():
		say(pending, checkout.MandateNone, progress)
	case age < submittedAfter:
		say(fulfilled, checkout.MandatePendingSubmission, progress)
	case seen.AccountHolder == failingHolder:
		say(fulfilled, checkout.MandateFailed, progress)
	case seen.AccountHolder == cancelledHolder:
		say(fulfilled, checkout.MandateCancelled, progress)
	case age < activeAfter:
		say(fulfilled, checkout.MandateSubmitted, progress)
	default:
		say(fulfilled, checkout.MandateActive, checkout.Authorised)
	}
	return seen, nil
}
