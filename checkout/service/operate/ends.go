package operate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Cancel cancels a checkout before its confirm, for the operator's reason of 1 to 255 characters. The errors are the errors of
// checkout.Cancel: checkout.ErrEnded for a repeat, which changes and records nothing. ports.ErrNotFound if there is no such checkout.
func (o Operator) Cancel(ctx context.Context, id string) error {
	cmd := checkout.Cancel{Actor: checkout.OperatorActor(o.By), By: checkout.PartyOperator, Reason: checkout.Some(o.Reason)}
	if err := cmd.Check(); err != nil {
		return err
	}
	c, err := o.Store.Checkout(ctx, id)
	if err != nil {
		return err
	}
	return o.change(ctx, c, "cancel", id, func(c checkout.Checkout) (checkout.Change, error) { return cmd.Decide(c, o.now()) })
}

// Withdraw withdraws the agreement with this number on a ground, for the operator's reason. The errors are the errors of checkout.Withdraw:
// checkout.ErrEnded for a repeat, which changes and records nothing. ports.ErrNotFound if there is no such agreement.
func (o Operator) Withdraw(ctx context.Context, number string, ground checkout.Ground) error {
	if !slices.Contains(checkout.Grounds(), ground) {
		return fmt.Errorf("ground %q is none of %q", ground, checkout.Grounds())
	}
	c, err := o.Store.FindCheckout(ctx, checkout.Reference{AgreementNumber: number})
	if err != nil {
		return err
	}
	cmd := checkout.Withdraw{Actor: checkout.OperatorActor(o.By), Ground: ground, Reason: o.Reason}
	return o.change(ctx, c, "withdraw", c.ID, func(c checkout.Checkout) (checkout.Change, error) { return cmd.Decide(c, o.now()) },
		number+", ground: "+string(ground))
}

// MailLink sends a new link to the setup page, which opens for a lifetime, to the e-mail address on record: a running server that sends
// e-mail does. The errors are the errors of checkout.MailLink, and ports.ErrNotFound if there is no such checkout.
func (o Operator) MailLink(ctx context.Context, id string, lifetime time.Duration) error {
	c, err := o.Store.Checkout(ctx, id)
	if err != nil {
		return err
	}
	ofPayer := checkout.JobFilter{CheckoutID: id, Kinds: []checkout.JobKind{checkout.JobNotify}}
	notices, err := o.Store.Jobs(ctx, ofPayer, checkout.RecentNotices)
	if err != nil {
		return err
	}
	return o.change(ctx, c, "link", id, func(c checkout.Checkout) (checkout.Change, error) {
		return c.MailLink(o.Keyring, checkout.LinkRequest{Actor: checkout.OperatorActor(o.By), Now: o.now(), Lifetime: lifetime, Notices: notices})
	})
}

// change stores what decide makes of a checkout, with the act, unless the operator's reason names the student: acts outlive personal data.
func (o Operator) change(ctx context.Context, c checkout.Checkout, name, subject string,
	decide func(checkout.Checkout) (checkout.Change, error), changes ...string) error {
	act, err := o.act(name, subject, c.ProviderCode, changes...)
	if err != nil {
		return err
	}
	_, _, err = o.Store.UpdateCheckout(ctx, c, 0, func(c checkout.Checkout) (checkout.Change, error) {
		if err := o.CheckReason(c); err != nil && !c.Ended() {
			return checkout.Change{}, err
		}
		change, err := decide(c)
		change.Act = &act
		return change, err
	})
	return err
}
