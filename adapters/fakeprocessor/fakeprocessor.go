// Package fakeprocessor stands in for a direct debit payment processor in the sandbox. It
// keeps nothing: its page hands the result to the service, and later statuses follow from the time.
package fakeprocessor

import (
	"context"
	"net/http"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Processor is the fake processor.
type Processor struct{}

var _ ports.Processor = Processor{}

// Name returns "fake".
func (Processor) Name() string { return "fake" }

// Begin implements ports.Processor.
func (Processor) Begin(ctx context.Context, start ports.SetupStart) (ports.BillingRequest, error) {
	panic("todo")
}

// Observe implements ports.Processor.
func (Processor) Observe(ctx context.Context, setup checkout.Setup, now time.Time) (checkout.Observation, error) {
	panic("todo")
}

// Options is how the page is served.
type Options = web.Options

// Pages returns the handler of every path under /sandbox/processor/.
func Pages(s *service.Service, o Options) http.Handler { panic("todo") }
