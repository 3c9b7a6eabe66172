package operate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Cancel cancels a checkout before its confirm, for the operator's reason of 1 to 255 characters. The errors are the errors of
// checkout.Cancel: checkout.ErrEnded for a repeat, which changes and records nothing. ports.ErrNotFound if there is no such
// checkout.
func (o Operator) Cancel(ctx context.Context, id string) error {
	cmd := checkout.Cancel{Actor: checkout.OperatorActor(o.By), By: checkout.PartyOperator, Reason: checkout.Some(o.Reason)}
	if err := cmd.Check(); err != nil {
		return err
	}
	return o.change(ctx, id, o.act(o.now(), "cancel", id), cmd.Decide)
}

// Withdraw withdraws the agreement with this number on a ground, for the operator's reason. The errors are the errors of
// checkout.Withdraw: checkout.ErrEnded for a repeat, which changes and records nothing. ports.ErrNotFound if there is no such
// agreement.
func (o Operator) Withdraw(ctx context.Context, number string, ground checkout.Ground) error {
	if !slices.Contains(checkout.Grounds(), ground) {
		return fmt.Errorf("ground %q is none of %q", ground, checkout.Grounds())
	}
	a, err := o.Store.Agreement(ctx, number)
	if err != nil {
		return err
	}
	cmd := checkout.Withdraw{Actor: checkout.OperatorActor(o.By), Ground: ground, Reason: o.Reason}
	return o.change(ctx, a.CheckoutID, o.act(o.now(), "withdraw", number, "ground: "+string(ground)), cmd.Decide)
}

// MailLink has a new link to the setup page sent to the e-mail address on record, which lasts for a lifetime. The errors are the
// errors of checkout.MailLink, and ports.ErrNotFound if there is no such checkout. A running server that sends e-mail sends it.
func (o Operator) MailLink(ctx context.Context, id string, lifetime time.Duration) error {
	ofPayer := checkout.JobFilter{CheckoutID: id, Kinds: []checkout.JobKind{checkout.JobNotify}}
	notices, err := o.Store.Jobs(ctx, ofPayer, checkout.RecentNotices)
	if err != nil {
		return err
	}
	return o.change(ctx, id, o.act(o.now(), "link", id), func(c checkout.Checkout, now time.Time) (checkout.Change, error) {
		return c.MailLink(o.Keyring, checkout.LinkRequest{Actor: checkout.OperatorActor(o.By), Now: now, Lifetime: lifetime,
			Notices: notices})
	})
}

// change stores what decide makes of a checkout, with the act, unless the operator's reason names the student: acts outlive personal
// data.
func (o Operator) change(ctx context.Context, id string, did *checkout.Act,
	decide func(checkout.Checkout, time.Time) (checkout.Change, error)) error {
	return o.Store.UpdateCheckout(ctx, id, checkout.JobEntry{Now: did.At}, func(c checkout.Checkout) (checkout.Change, error) {
		if err := o.CheckReason(c); err != nil && !c.Ended() {
			return checkout.Change{}, err
		}
		change, err := decide(c, did.At)
		change.Act = did
		return change, err
	})
}
