package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// NotifyAgain has a notice sent again that the payer of a checkout was sent, or that was given up. A running server sends it, if
// what it says is still true. A link is not sent so: MailLink does. ports.ErrNotFound if the checkout has no such notice.
func (o Operator) NotifyAgain(ctx context.Context, checkoutID, id string) error {
	notices := checkout.JobFilter{ID: id, CheckoutID: checkoutID, Kinds: []checkout.JobKind{checkout.JobNotify}}
	found, err := o.Store.Jobs(ctx, notices, 1)
	switch {
	case err != nil:
		return err
	case id == "" || len(found) == 0 || found[0].State == checkout.JobPending || found[0].Job.Name == string(checkout.NoticeOfLink):
		return fmt.Errorf("notice %s: %w", id, ports.ErrNotFound)
	}
	again := found[0].Job
	if again.ID, err = o.newID("ntc_"); err != nil {
		return err
	}
	op := evidence.Operation{Name: string(ActNotice), Subject: checkoutID,
		Changes: []string{"e-mail " + again.Name + ": sent again as " + again.ID}}
	return o.change(ctx, checkoutID, op, "", func(c checkout.Checkout, _ catalogue.Environment, now time.Time) (checkout.Change, error) {
		again.CreatedAt = now
		return checkout.Change{Next: c, Jobs: []checkout.Job{again}, Moments: []checkout.Moment{{At: now,
			Kind: checkout.MomentOperated, Actor: checkout.OperatorActor(o.By), Detail: "notice " + again.ID, Times: 1}}}, nil
	})
}
