package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Cancel cancels a checkout before its confirm, for the operator's reason of 1 to 255 characters. The errors are the errors of
// checkout.Cancel: checkout.ErrEnded for a repeat, which changes and records nothing. ports.ErrNotFound if there is no such
// checkout.
func (o Operator) Cancel(ctx context.Context, id string) error {
	cmd := checkout.Cancel{Actor: checkout.OperatorActor(o.By), By: checkout.PartyOperator, Reason: checkout.Some(o.Reason)}
	if err := cmd.Check(); err != nil {
		return err
	}
	op := evidence.Operation{Name: string(ActCancel), Subject: id, Changes: []string{"checkout " + id + ": cancelled"}}
	return o.change(ctx, id, op, "", cmd.Decide)
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
	op := evidence.Operation{Name: string(ActWithdraw), Subject: number,
		Changes: []string{"agreement " + number + ": withdrawn", "ground: " + string(ground)}}
	cmd := checkout.Withdraw{Actor: checkout.OperatorActor(o.By), Ground: ground, Reason: o.Reason}
	return o.change(ctx, a.CheckoutID, op, ground, cmd.Decide)
}

// MailLink has a new link to the setup page sent to the e-mail address on record, which lasts for a lifetime. The errors are the
// errors of checkout.MailLink, and ports.ErrNotFound if there is no such checkout. A running server that sends e-mail sends it.
func (o Operator) MailLink(ctx context.Context, id string, lifetime time.Duration) error {
	ofPayer := checkout.JobFilter{CheckoutID: id, Kinds: []checkout.JobKind{checkout.JobNotify}}
	notices, err := o.Store.Jobs(ctx, ofPayer, checkout.RecentNotices)
	if err != nil {
		return err
	}
	op := evidence.Operation{Name: string(ActLink), Subject: id, Changes: []string{"checkout " + id + ": a new link is sent"}}
	return o.change(ctx, id, op, "", func(c checkout.Checkout, _ catalogue.Environment, now time.Time) (checkout.Change, error) {
		return c.MailLink(o.Keyring, checkout.LinkRequest{Actor: checkout.OperatorActor(o.By), Now: now, Lifetime: lifetime,
			Notices: notices})
	})
}

// change stores what decide makes of a checkout, with the entry of the operation, unless the operator's reason names the student:
// the reason stays in the evidence log for ever. ground is that of a withdrawal.
func (o Operator) change(ctx context.Context, id string, op evidence.Operation, ground checkout.Ground,
	decide func(checkout.Checkout, catalogue.Environment, time.Time) (checkout.Change, error)) error {
	p, err := o.Store.Provider(ctx, checkout.ProviderOf(id))
	if err != nil && !errors.Is(err, ports.ErrNotFound) {
		return err
	}
	for err = checkout.ErrOutdated; errors.Is(err, checkout.ErrOutdated); {
		err = o.changeNow(ctx, id, p, op, ground, decide)
	}
	return err
}

// changeNow makes an attempt. The error is checkout.ErrOutdated if the checkout has something on record by now that is dated later.
func (o Operator) changeNow(ctx context.Context, id string, p catalogue.Provider, op evidence.Operation, ground checkout.Ground,
	decide func(checkout.Checkout, catalogue.Environment, time.Time) (checkout.Change, error)) error {
	c, err := o.Store.Checkout(ctx, id)
	if err != nil {
		return err
	}
	now := o.now()
	at := now
	if o.Ahead != nil {
		at = now.Add(o.Ahead(ctx, c.About()))
	}
	at = c.NotBefore(at)
	if ground != "" {
		op.Object = evidence.EndObject(op.Subject)
		op.After = checkout.End{At: at, By: checkout.PartyOperator, Ground: ground}.Fingerprint()
	}
	record, err := o.entry(op, now)
	if err != nil {
		return err
	}
	entry := checkout.JobEntry{Now: now, Unsent: !p.Destination.Configured()}
	return o.Store.UpdateCheckout(ctx, id, entry, func(c checkout.Checkout) (checkout.Change, error) {
		if err := o.CheckReason(c); err != nil && !c.Ended() {
			return checkout.Change{}, err
		}
		if at.Before(c.NotBefore(at)) {
			return checkout.Change{}, checkout.ErrOutdated
		}
		change, err := decide(c, p.Environment, at)
		for i := range change.Moments {
			if o.approved != nil {
				change.Moments[i].Detail += ", approved by " + o.approved.by
			}
		}
		change.Evidence = &record
		return change.Listed(p).Dated(), err
	})
}
