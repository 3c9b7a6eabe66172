// Package webhook sends events over HTTP.
package webhook

import (
	"context"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Options is how events are sent.
type Options struct {
	AllowPrivate bool // also over plain http, and to loopback and private addresses: for sandboxes
}

// Sender sends events.
type Sender struct{}

var _ ports.Sender = (*Sender)(nil)

// New returns a sender.
func New(o Options) *Sender { panic("todo") }

// Send implements ports.Sender.
func (s *Sender) Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) error {
	panic("todo")
}
