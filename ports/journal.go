package ports

import (
	"context"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Journal keeps the moments of checkouts. Most enter with a Change.
type Journal interface {
	// Note appends moments that no change brings, and counts refusals, all of it or nothing. A moment of a checkout that does
	// not exist is left out, and one whose Times is 0 counts as 1. Refusals older than checkout.RefusalsKept days may be removed.
	Note(ctx context.Context, noted []checkout.Noted, refused []checkout.Refusal) error

	// Moments returns the journal of a checkout in the order of the positions.
	Moments(ctx context.Context, checkoutID string) ([]checkout.Moment, error)
}
