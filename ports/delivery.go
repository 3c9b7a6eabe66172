package ports

import (
	"context"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
)

// Printer renders agreements.
type Printer interface {
	// Print returns the agreement as a PDF. The same agreement gives the same bytes. ErrBusy if too many are
	// being rendered, and ctx ended before this one's turn came.
	Print(ctx context.Context, a agreement.Agreement) ([]byte, error)
}

// Sender sends events.
type Sender interface {
	// Send makes one attempt, counted from 1, to deliver to the destination, in 2 seconds at
	// most, and returns nil if the receiver answered 2xx. It follows no redirect and reads no more of
	// the answer than it must. Its error holds neither the destination's secret nor its answer.
	Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) error
}
