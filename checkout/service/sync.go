package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// written is the progress of a sync job: the newest revision that the CRM was told whole, and the time until which another process may
// have an older one under way; zero without one. What is written before then is written once more.
type written struct {
	revision int64
	beside   time.Time
}

func parseWritten(cursor string) (w written) {
	revision, beside, _ := strings.Cut(cursor, " ")
	w.revision, _ = strconv.ParseInt(revision, 10, 64) // 0 before the first
	if ms, err := strconv.ParseInt(beside, 10, 64); err == nil {
		w.beside = time.UnixMilli(ms).UTC()
	}
	return w
}

func (w written) String() string {
	text := strconv.FormatInt(w.revision, 10)
	if !w.beside.IsZero() {
		text += " " + strconv.FormatInt(w.beside.UnixMilli(), 10)
	}
	return text
}

// sync makes the CRM say what the store says of a checkout. A write after a lease that was taken over is made once more two minutes
// later, when no call of its former holder can be under way.
func (s *Service) sync(ctx context.Context, l checkout.Lease) (o checkout.Outcome, err error) {
	if s.cfg.CRM == nil { // an operator's act; the store is the record
		return checkout.Outcome{State: checkout.JobDropped, Cursor: l.Cursor}, nil
	}
	w := parseWritten(l.Cursor)
	if l.Takeover {
		w.beside = s.now().Add(checkout.TakeoverPause())
		l.Cursor = w.String()
	}
	e, err := s.enrolment(ctx, l.Job.CheckoutID)
	switch {
	case err != nil:
		return o, err
	case e == nil, e.Checkout.Erased():
		return checkout.Outcome{State: checkout.JobDropped, Cursor: l.Cursor}, nil
	}
	e.Written = w.revision
	if err := s.cfg.CRM.Sync(ctx, *e); err != nil {
		return s.unsynced(ctx, l, *e, err)
	}
	w.revision = e.Checkout.Revision
	o = checkout.Outcome{State: checkout.JobDone, Attempts: 1}
	if left := w.beside.Sub(s.now()); left > 0 {
		o.State, o.Pause = checkout.JobPending, min(left, checkout.TakeoverPause())
	} else {
		w.beside = time.Time{}
	}
	o.Cursor = w.String()
	return o, nil
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
	if !refused && isBusy(failure) {
		return checkout.Outcome{Cursor: l.Cursor}, failure
	}
	o = checkout.Outcome{State: checkout.JobPending, Attempts: 1, Pause: checkout.SyncPause(l.Attempts+1, refused), Cursor: l.Cursor,
		Failure: checkout.FailureOf(failure, s.now())}
	severity := Warning
	if refused {
		severity = Error
		o.Moments = []checkout.Moment{{ID: "crm " + o.Failure.Reason, At: s.now(), Kind: checkout.MomentCRMRefused, Actor: checkout.ActorCRM,
			RequestID: l.Job.RequestID, Detail: o.Failure.Reason}}
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
