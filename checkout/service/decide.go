package service

import (
	"context"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// decider decides the change of a checkout, as it is in the store now.
type decider = func(c checkout.Checkout, now time.Time) (checkout.Change, error)

// decision holds the latest result of decide: a store may have it decide more than once.
type decision struct {
	service *Service
	decide  decider
	change  checkout.Change
	err     error
}

// decision returns the decision of a call.
func (s *Service) decision(ctx context.Context, decide decider) *decision {
	return &decision{service: s, decide: decide}
}

// run decides. There are no notices where payers are not notified, and a CRM whose
// records travel with the checkout needs no report.
func (d *decision) run(c checkout.Checkout) (checkout.Change, error) {
	d.change, d.err = d.decide(c, d.service.now())
	d.change.Jobs = slices.DeleteFunc(slices.Clone(d.change.Jobs), func(j checkout.Job) bool {
		return j.Kind == checkout.JobNotify && d.service.cfg.Notifier == nil ||
			(j.Kind == checkout.JobAuthority || j.Kind == checkout.JobEnd) && d.service.crmInfo.WithinCommit
	})
	return d.change, d.err
}
