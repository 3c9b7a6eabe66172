package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// sync brings the CRM up to date with a checkout. The cursor is the newest revision that the CRM was told whole. A call of a
// former holder of the lease may still be under way: the CRM writes no older revision over a newer one.
func (s *Service) sync(ctx context.Context, l checkout.Lease) (o checkout.Outcome, err error) {
	if s.cfg.CRM == nil { // an operator's act; the store is the record
		return checkout.Outcome{State: checkout.JobDropped, Cursor: l.Cursor}, nil
	}
	e, err := s.enrolment(ctx, l.Job.CheckoutID)
	switch {
	case err != nil:
		return o, err
	case e == nil, e.Checkout.Erased():
		return checkout.Outcome{State: checkout.JobDropped, Cursor: l.Cursor}, nil
	}
	e.Written, _ = strconv.ParseInt(l.Cursor, 10, 64) // 0 before the first
	if err := s.cfg.CRM.Sync(ctx, *e); err != nil {
		return s.unsynced(ctx, l, *e, err)
	}
	return checkout.Outcome{State: checkout.JobDone, Attempts: 1, Cursor: strconv.FormatInt(e.Checkout.Revision, 10)}, nil
}

// unsynced returns the outcome of a call that failed.
func (s *Service) unsynced(ctx context.Context, l checkout.Lease, e checkout.Enrolment, failure error) (o checkout.Outcome, err error) {
	refusal, refused := errors.AsType[*checkout.CRMRefusal](failure)
	if refused && refusal.Code == checkout.CRMAhead {
		fresh, err := found(s.cfg.Store.Checkout(ctx, e.Checkout.ID))
		if err != nil {
			return o, fmt.Errorf("read checkout %s again: %w", e.Checkout.ID, err)
		}
		if fresh != nil && fresh.Revision > e.Checkout.Revision { // the newer one is ours
			return checkout.Outcome{State: checkout.JobPending, Cursor: l.Cursor}, nil
		}
	}
	if !refused && errors.Is(failure, ports.ErrBusy) {
		return checkout.Outcome{Cursor: l.Cursor}, failure
	}
	o = checkout.Outcome{State: checkout.JobPending, Attempts: 1, Pause: checkout.SyncPause(l.Attempts+1, refused), Cursor: l.Cursor,
		Failure: checkout.FailureOf(failure, s.now())}
	severity := Warning
	if refused {
		severity = Error
		o.Moments = []checkout.Moment{{ID: "crm " + o.Failure.Reason, At: s.now(), Kind: checkout.MomentCRMRefused, Actor: checkout.ActorCRM,
			RequestID: l.Job.RequestID, Detail: o.Failure.Reason}}
		s.cfg.Count(CountSyncRefused, l.Job.ProviderCode)
	}
	s.report(ctx, Failure{Operation: OperationCRM, Severity: severity, About: e.Checkout.About(), RequestID: l.Job.RequestID,
		Attempt: l.Attempts + 1, Err: failure})
	return o, nil
}

// enrolment returns everything that the CRM is told of a checkout, or nil if there is no such checkout.
func (s *Service) enrolment(ctx context.Context, id string) (*checkout.Enrolment, error) {
	c, err := found(s.cfg.Store.Checkout(ctx, id))
	if err != nil || c == nil {
		return nil, err
	}
	e := checkout.Enrolment{Environment: s.cfg.Environment, Checkout: *c}
	if c.Status != checkout.Confirmed || c.Erased() {
		return &e, nil
	}
	if e.Agreement, err = found(s.cfg.Store.Agreement(ctx, id)); err != nil {
		return nil, fmt.Errorf("read the agreement of %s: %w", id, err)
	}
	if e.Document, err = found(s.cfg.Store.Document(ctx, id)); err != nil {
		return nil, fmt.Errorf("read the document of %s: %w", id, err)
	}
	return &e, nil
}
