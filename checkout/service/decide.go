package service

import (
	"context"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// decider decides the change of a checkout, as it is in the store now, at the time by the clock of the checkout.
type decider = func(c checkout.Checkout, now time.Time) (checkout.Change, error)

// decision holds the latest result of decide: a store may have it decide more than once.
type decision struct {
	service *Service
	subject *Subject      // of the call; nil without any
	trace   events.Trace  // of the call, or of the job that is settled
	ahead   time.Duration // of the clock of the checkout
	decide  decider
	change  checkout.Change
	err     error
}

// decision returns the decision of a call, for which the clock of the checkout is read anew: it may have been moved since the call began.
func (s *Service) decision(ctx context.Context, trace events.Trace, decide decider) *decision {
	subject := subjectOf(ctx)
	subject.forgetAhead()
	return &decision{service: s, subject: subject, trace: trace, ahead: s.ahead(ctx), decide: decide}
}

// run decides, at a time that is not before what is on record. There are no notices where payers are not notified, and a CRM whose
// records travel with the checkout needs no report.
func (d *decision) run(c checkout.Checkout) (checkout.Change, error) {
	d.change, d.err = d.decide(c, c.NotBefore(d.service.now().Add(d.ahead)))
	d.change.Jobs = slices.DeleteFunc(slices.Clone(d.change.Jobs), func(j checkout.Job) bool {
		return j.Kind == checkout.JobNotify && d.service.cfg.Notifier == nil ||
			(j.Kind == checkout.JobAuthority || j.Kind == checkout.JobEnd) && d.service.crmInfo.WithinCommit
	})
	d.change = d.subject.mark(d.change).Traced(d.trace).Dated()
	return d.change, d.err
}
