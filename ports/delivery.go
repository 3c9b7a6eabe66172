package ports

import (
	"context"
	"errors"

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

// Charset is what a Printer also is if there are characters that it cannot print but by their number. The answer to a create
// with one says so at once, and terms with one are refused.
type Charset interface {
	// Unprintable returns the characters of a text that cannot be printed, each once, in their order; nil if all can be.
	Unprintable(text string) []rune
}

// ErrProhibited: the destination is none to which events may be sent. Nothing was sent.
var ErrProhibited = errors.New("the destination is not allowed")

// Sender sends events. Its caller bounds how many attempts are made at once for each provider, so that one receiver delays
// no other: a sender has no such bound of its own, least of all by host, which providers share.
type Sender interface {
	// Send makes one attempt, counted from 1, to deliver to the destination, in 2 seconds at
	// most, and returns nil if the receiver answered 2xx. It follows no redirect and reads no more of
	// the answer than it must. Its error holds neither the destination's secret nor its answer, for it is kept on record as
	// the reason. With ErrProhibited, and with ErrBusy where the sender could not try, nothing was sent, and it was no attempt.
	Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) error
}
