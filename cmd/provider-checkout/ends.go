package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/ports"
)

// acted prints what an operator's act on a checkout or an agreement has done, by its error. A repeat is no failure, and says so.
func (c *call) acted(noun, id, done, repeated string, err error) error {
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return fmt.Errorf(`there is no %s %s; "show" finds it by its order`, noun, id)
	case errors.Is(err, checkout.ErrEnded), errors.Is(err, checkout.ErrLinkSent):
		done = repeated
	case err != nil:
		return fmt.Errorf("%s %s: %w", noun, id, err)
	}
	return c.print(record{{label: noun, value: id}, {label: "result", value: done}})
}

// cancelCheckout cancels a checkout before its confirm.
type cancelCheckout struct {
	StoreFlags
	RequiredReason
	Checkout string `arg:""`
}

func (f *cancelCheckout) Run(ctx context.Context, c *call, o operate.Operator) error {
	return c.acted("checkout", f.Checkout, "cancelled", "was cancelled before; nothing was changed",
		o.Cancel(ctx, f.Checkout))
}

// withdrawAgreement withdraws the agreement of a confirmed checkout.
type withdrawAgreement struct {
	StoreFlags
	RequiredReason
	Ground checkout.Ground `enum:"${grounds}" required:"" placeholder:"GROUND" help:"one of ${grounds} (required)"`
	Number string          `arg:""`
}

func (f *withdrawAgreement) Run(ctx context.Context, c *call, o operate.Operator) error {
	return c.acted("agreement", f.Number, "withdrawn", "was withdrawn before; nothing was changed",
		o.Withdraw(ctx, f.Number, f.Ground))
}

// mailLink queues an e-mail with a new link for the payer. The command does not know whether a server sends e-mail, and claims nothing.
type mailLink struct {
	ChangeFlags
	SetupLifetime time.Duration `type:"lifetime" default:"168h" help:"how long the page opens"`
	Checkout      string        `arg:""`
}

func (f *mailLink) Run(ctx context.Context, c *call, o operate.Operator) error {
	return c.acted("checkout", f.Checkout, "queued: a new link goes to the e-mail address on record once a server with a mail server (--smtp) runs",
		"a link was queued less than ten minutes ago; nothing was queued",
		o.MailLink(ctx, f.Checkout, f.SetupLifetime))
}
