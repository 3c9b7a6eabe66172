package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service/delivery"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Redeliver sends an event again, and calls each with the result. ports.ErrNotFound if there is no such event.
func (o Operator) Redeliver(ctx context.Context, id string, sender func(catalogue.Environment) ports.Sender, each func(delivery.Result)) error {
	var sent []string
	result, err := o.redeliverer(sender).One(ctx, id)
	if result.Event.ID == "" {
		return err
	}
	counted(&sent, each)(result) // it may have been sent although that could not be recorded
	return errors.Join(err, o.Record(ctx, Operation{"events redeliver", id, sent}))
}

// RedeliverFailed sends again what failed since a time, of one provider or of all for "", and calls each with every result. It reports
// whether there may be more.
func (o Operator) RedeliverFailed(ctx context.Context, since time.Time, provider string, sender func(catalogue.Environment) ports.Sender,
	each func(delivery.Result)) (more bool, err error) {
	var sent []string
	more, err = o.redeliverer(sender).Failed(ctx, since, provider, counted(&sent, each))
	return more, errors.Join(err, o.Record(ctx, Operation{"events redeliver", "failed since " + events.Timestamp(since), sent}))
}

func (o Operator) redeliverer(sender func(catalogue.Environment) ports.Sender) delivery.Redeliverer {
	return delivery.Redeliverer{Store: o.Store, Operator: o.By, Sender: sender, Now: o.Now}
}

// counted returns each with a line for the record of every event that was sent.
func counted(sent *[]string, each func(delivery.Result)) func(delivery.Result) {
	return func(r delivery.Result) {
		if r.Left == "" && r.Event.ID != "" {
			word := "failed"
			if r.Outcome.Delivered {
				word = "delivered"
			}
			*sent = append(*sent, fmt.Sprintf("event %s: %s", r.Event.ID, word))
		}
		each(r)
	}
}
