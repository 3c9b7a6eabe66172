package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/ports"
)

// act returns the work of a command that acts on the checkout or agreement of its argument. A repeat is no failure, and says so.
// name is that of the argument for programs: checkout_id, for one.
func (c *call) act(name, done, repeated string, act func(context.Context, operate.Operator, string) error) action {
	c.changeFlags()
	c.jsonFlag()
	return c.operating(func(ctx context.Context, _ records, operator operate.Operator) error {
		id, again := c.Args[0], false
		noun, _, _ := strings.Cut(name, "_")
		switch err := act(ctx, operator, id); {
		case errors.Is(err, ports.ErrNotFound):
			return fmt.Errorf(`there is no %s %s; "show" finds it by its order`, noun, id)
		case errors.Is(err, checkout.ErrEnded), errors.Is(err, checkout.ErrLinkSent):
			done, again = repeated, true
		case err != nil:
			return fmt.Errorf("%s %s: %w", noun, id, err)
		}
		return c.print(record{{name, noun, id}, {"repeated", "", again}, {"", "result", done}})
	})
}

// cancelCheckout cancels a checkout before its confirm.
func cancelCheckout(c *call) action {
	work := c.act("checkout_id", "cancelled", "was cancelled before; nothing was changed",
		func(ctx context.Context, o operate.Operator, id string) error { return o.Cancel(ctx, id) })
	c.flags.Require("reason")
	return work
}

// withdrawAgreement withdraws the agreement of a confirmed checkout.
func withdrawAgreement(c *call) action {
	var ground checkout.Ground
	cli.Var(c.flags, &ground, "ground", "", parseGround, "`GROUND`: cooling-off, provider, hardship or error")
	work := c.act("agreement_number", "withdrawn", "was withdrawn before; nothing was changed",
		func(ctx context.Context, o operate.Operator, number string) error {
			return o.Withdraw(ctx, number, ground)
		})
	c.flags.Require("ground")
	c.flags.Require("reason")
	return work
}

// mailLink has a new link sent to the payer.
func mailLink(c *call) action {
	var lifetime time.Duration
	c.lifetimeFlag(&lifetime)
	return c.act("checkout_id", "a new link goes to the e-mail address on record", "a link was sent less than ten minutes ago; nothing was sent",
		func(ctx context.Context, o operate.Operator, id string) error { return o.MailLink(ctx, id, lifetime) })
}

func parseGround(text string) (checkout.Ground, error) {
	if g := checkout.Ground(text); slices.Contains(checkout.Grounds(), g) {
		return g, nil
	}
	return "", errors.New("must be cooling-off, provider, hardship or error")
}
