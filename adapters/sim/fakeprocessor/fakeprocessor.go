// Package fakeprocessor is a direct debit payment processor for the sandbox: a processor as any other, with a page of its
// own for the payer's bank details. It moves no money. It keeps its records in the store of the service, so that every
// process finds them; later statuses follow from the time.
package fakeprocessor

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// How long after its completion a mandate reaches its next status.
const (
	submittedAfter = time.Minute
	activeAfter    = 2 * time.Minute
)

// Records is the storage of the processor. Every store of this module implements it.
type Records interface {
	// KeepSandboxRecord stores data under a name, unless there is some already, which stays.
	KeepSandboxRecord(ctx context.Context, name string, data []byte) error
	// SandboxRecord returns what was kept under the name, or ports.ErrNotFound.
	SandboxRecord(ctx context.Context, name string) ([]byte, error)
	// DropSandboxRecords removes what was kept under the names with this prefix.
	DropSandboxRecords(ctx context.Context, prefix string) error
}

// Options is the configuration of a processor. Records and BaseURL are required.
type Options struct {
	Records   Records
	BaseURL   string           // of the service, under which the processor's pages are mounted at Prefix
	Log       *slog.Logger     // discards if nil
	RateLimit float64          // requests a second of one client, and for one billing request, in bursts of twice that; 0 for no limit
	Now       func() time.Time // time.Now if nil
}

// Processor is the fake processor, and the handler of its pages, which are mounted at Prefix.
type Processor struct {
	records Records
	clock   func() time.Time
	site    *web.Site // with the form in which a payer gives the bank account
	handler http.Handler
}

var (
	_ ports.Processor   = (*Processor)(nil)
	_ ports.SetupEraser = (*Processor)(nil)
)

// New returns a processor.
func New(o Options) *Processor {
	shared := web.Options{Log: o.Log, BaseURL: o.BaseURL, Now: o.Now}.Complete()
	site := web.NewSite(shared, web.SiteConfig{Assets: assetsPath, Files: files, RateLimit: o.RateLimit})
	p := &Processor{records: o.Records, clock: shared.Now, site: site}
	p.handler = site.Handler(map[string]http.HandlerFunc{"GET " + formPath + "{id}": p.begin, "POST " + formPath + "{id}": p.send})
	return p
}

// Info implements ports.Processor. Its pages are the service's own.
func (p *Processor) Info() checkout.ProcessorInfo {
	return checkout.ProcessorInfo{Name: "fake", Environment: catalogue.Sandbox}
}

// Ready implements ports.Processor: there is nothing that could be down.
func (p *Processor) Ready(ctx context.Context) error { return ctx.Err() }

// Begin implements ports.Processor. The billing request's id is a function of start.Key. Its page has start.ReturnURL,
// which may hold a setup token, in its address, since no token is kept in a store; the page leads only to a return URL
// that was named here. It shows the terms and the first payment of the latest start.
func (p *Processor) Begin(ctx context.Context, start checkout.SetupStart) (checkout.BillingRequest, error) {
	id := billingRequestPrefix + identifier(start.Key)
	if err := p.keepStart(ctx, id, start); err != nil {
		return checkout.BillingRequest{}, fmt.Errorf("keep billing request %s: %w", id, err)
	}
	return checkout.BillingRequest{ID: id, URL: p.site.BaseURL + pagePath(id, start.ReturnURL)}, nil
}

func (p *Processor) EraseSetups(ctx context.Context, keys []string) error {
	for _, key := range keys {
		id := billingRequestPrefix + identifier(key)
		// The start first: without it no payer completes the billing request any more.
		for _, prefix := range []string{startPrefix(id), doneName(id)} {
			if err := p.records.DropSandboxRecords(ctx, prefix); err != nil {
				return fmt.Errorf("erase billing request %s: %w", id, err)
			}
		}
	}
	return nil
}

// billingRequestPrefix begins the id of every billing request.
const billingRequestPrefix = "BR"

var billingRequestID = regexp.MustCompile("^" + billingRequestPrefix + "[A-Z2-7]{24}$")

// identifier returns 24 characters of A-Z2-7 that follow from a text.
func identifier(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base32.StdEncoding.EncodeToString(sum[:15])
}

// now returns the present in the precision that stores keep.
func (p *Processor) now() time.Time { return p.clock().UTC().Truncate(time.Millisecond) }

// complete records that the payer filled in the form of a billing request, or that it is cancelled. The first time stays.
func (p *Processor) complete(ctx context.Context, id string, c completionWire) error {
	c.At = p.now()
	return p.keep(ctx, doneName(id), c)
}

// completed returns the completion of a billing request, or nil where the payer is not done and it is not cancelled.
func (p *Processor) completed(ctx context.Context, id string) (*completionWire, error) {
	var c completionWire
	err := p.read(ctx, doneName(id), &c)
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read billing request %s: %w", id, err)
	}
	return &c, nil
}

// Observe implements ports.Processor: a completed setup is submitted after one minute, and
// active and authorised after two, unless the account says that it fails or is cancelled.
func (p *Processor) Observe(ctx context.Context, q checkout.SetupQuery) (checkout.Observation, error) {
	id := q.Setup.BillingRequestID
	if !billingRequestID.MatchString(id) {
		return checkout.Observation{}, fmt.Errorf("billing request %q: %w", id, ports.ErrNotFound)
	}
	done, err := p.completed(ctx, id)
	if err != nil {
		return checkout.Observation{}, err
	}
	switch {
	case done == nil:
		return checkout.Observation{BillingRequest: checkout.BillingPending, Authorisation: checkout.CustomerInProgress}, nil
	case done.Cancelled:
		return checkout.Observation{BillingRequest: checkout.BillingCancelled, Authorisation: checkout.CustomerInProgress}, nil
	}
	mandate, authorisation := done.status(p.now())
	var reason string
	var since time.Time // as GoCardless does, it says when a mandate ended
	if mandate.Dead() {
		since, reason = done.At.UTC().Add(submittedAfter), done.Reason
	}
	switch err := p.read(ctx, endName(id), &struct{}{}); {
	case err == nil:
		mandate, reason, authorisation = checkout.MandateCancelled, "", checkout.CustomerInProgress
	case !errors.Is(err, ports.ErrNotFound):
		return checkout.Observation{}, fmt.Errorf("read the end of billing request %s: %w", id, err)
	}
	return checkout.Observation{
		BillingRequest: checkout.BillingFulfilled,
		Mandate:        mandate,
		MandateID:      "MD" + identifier(id),
		MandateSince:   since,
		MandateReason:  reason,
		Authorisation:  authorisation,
		AccountHolder:  done.Holder,
		AccountMask:    done.Mask,
		CompletedAt:    done.At.UTC(),
	}, nil
}

// Cancel implements ports.Processor. The first record of how a billing request was completed stays: the cancel's or the payer's,
// whose mandate is cancelled then.
func (p *Processor) Cancel(ctx context.Context, q checkout.SetupQuery) error {
	id := q.Setup.BillingRequestID
	if !billingRequestID.MatchString(id) {
		return fmt.Errorf("billing request %q: %w", id, ports.ErrNotFound)
	}
	if err := p.complete(ctx, id, completionWire{Cancelled: true}); err != nil {
		return fmt.Errorf("cancel billing request %s: %w", id, err)
	}
	done, err := p.completed(ctx, id)
	if err != nil || done.Cancelled {
		return err
	}
	if err := p.keep(ctx, endName(id), struct{}{}); err != nil {
		return fmt.Errorf("cancel the mandate of billing request %s: %w", id, err)
	}
	return nil
}

// status returns how far the mandate of a completed setup is.
func (c completionWire) status(now time.Time) (checkout.MandateStatus, checkout.AuthorisationStatus) {
	switch age := now.Sub(c.At); {
	case age < submittedAfter:
		return checkout.MandatePendingSubmission, checkout.CustomerInProgress
	case c.Mandate != "":
		return c.Mandate, checkout.CustomerInProgress
	case age < activeAfter:
		return checkout.MandateSubmitted, checkout.CustomerInProgress
	}
	return checkout.MandateActive, checkout.Authorised
}
