package service

import (
	"slices"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// decider decides the change of a checkout, as it is in the store now.
type decider = func(checkout.Checkout) (checkout.Change, error)

// decision holds the latest result of decide: a store may have it decide more than once.
type decision struct {
	service *Service
	decide  decider
	change  checkout.Change
	err     error
}

// run decides. There are no notices where payers are not notified, and a CRM whose records travel with the checkout needs no report.
func (d *decision) run(c checkout.Checkout) (checkout.Change, error) {
	d.change, d.err = d.decide(c)
	d.change.Jobs = slices.DeleteFunc(slices.Clone(d.change.Jobs), func(j checkout.Job) bool {
		return j.Kind == checkout.JobNotify && d.service.cfg.Notifier == nil ||
			j.Kind == checkout.JobAuthority && d.service.crmInfo.WithinCommit
	})
	return d.change, d.err
}

// listed returns the change without the events that the provider does not list: they do not exist for it.
func listed(change checkout.Change, provider catalogue.Provider) checkout.Change {
	change.Events = slices.DeleteFunc(slices.Clone(change.Events),
		func(e events.Event) bool { return !events.Listed(provider.Destination.Events, e.Name) })
	return change
}
