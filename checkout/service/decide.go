package service

import (
	"slices"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// decider decides the change of a checkout, as it is in the store now.
type decider = func(checkout.Checkout) (checkout.Change, error)

// decision holds the latest result of decide: a store may have it decide more than once.
type decision struct {
	service *Service
	subject *Subject     // of the call; nil without any
	trace   events.Trace // of the call, or of the job that is settled
	decide  decider
	change  checkout.Change
	err     error
}

// run decides. There are no notices where payers are not notified, and a CRM whose records travel with the checkout needs no report.
func (d *decision) run(c checkout.Checkout) (checkout.Change, error) {
	d.change, d.err = d.decide(c)
	d.change.Jobs = slices.DeleteFunc(slices.Clone(d.change.Jobs), func(j checkout.Job) bool {
		return j.Kind == checkout.JobNotify && d.service.cfg.Notifier == nil ||
			(j.Kind == checkout.JobAuthority || j.Kind == checkout.JobEnd) && d.service.crmInfo.WithinCommit
	})
	d.change = d.subject.mark(d.change).Traced(d.trace)
	return d.change, d.err
}
