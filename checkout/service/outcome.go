package service

import (
	"context"
	"errors"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Outcome is something that an operator counts: see Config.Count.
type Outcome string

const (
	OutcomeCreate          Outcome = "create"           // a checkout was opened
	OutcomeReplay          Outcome = "replay"           // a create found the checkout that it opened before
	OutcomeConflict        Outcome = "conflict"         // a create or confirm contradicted what is on record
	OutcomeConfirm         Outcome = "confirm"          // a checkout was confirmed
	OutcomeRepeatedConfirm Outcome = "repeated confirm" // a confirm found the checkout confirmed

	OutcomeDelivered     Outcome = "event delivered"      // a receiver took an event
	OutcomeFailed        Outcome = "event failed"         // the attempts to deliver an event are used up
	OutcomeNotConfigured Outcome = "event not configured" // an event had no destination
	OutcomeRecovery      Outcome = "recovery"             // an event that its request left behind was settled

	OutcomeStepDone    Outcome = "CRM step done"    // a CRM outside of the store did a CRM job
	OutcomeStepUnknown Outcome = "CRM step unknown" // it may have, and is asked again
	OutcomeStepRefused Outcome = "CRM step refused" // it does not take it

	OutcomeNoticeSent    Outcome = "notice sent"    // a payer's notice was taken over
	OutcomeNoticePutOff  Outcome = "notice put off" // an attempt to send one failed, and another follows
	OutcomeNoticeFailed  Outcome = "notice failed"  // it was refused, or the attempts are used up
	OutcomeNoticeDropped Outcome = "notice dropped" // what it was to say was true no longer

	OutcomeNotSealed   Outcome = "evidence not sealed" // an attempt to seal the evidence log failed
	OutcomeClocksApart Outcome = "clocks apart"        // what was sealed, or the newest checkpoint, has a time that cannot be
)

// Outcomes lists every outcome, for tables that must be complete.
func Outcomes() []Outcome {
	return []Outcome{OutcomeCreate, OutcomeReplay, OutcomeConflict, OutcomeConfirm, OutcomeRepeatedConfirm,
		OutcomeDelivered, OutcomeFailed, OutcomeNotConfigured, OutcomeRecovery,
		OutcomeStepDone, OutcomeStepUnknown, OutcomeStepRefused,
		OutcomeNoticeSent, OutcomeNoticePutOff, OutcomeNoticeFailed, OutcomeNoticeDropped, OutcomeNotSealed, OutcomeClocksApart}
}

// countCall counts a create or a confirm, which committed that the checkout is open or confirmed, or not.
func (s *Service) countCall(first, repeat Outcome, committed bool, err error) {
	switch {
	case committed:
		s.cfg.Count(first)
	case err == nil:
		s.cfg.Count(repeat)
	case refusedWith(err, checkout.CodeIntentConflict), refusedWith(err, checkout.CodeConflict):
		s.cfg.Count(OutcomeConflict)
	}
}

// settleSent settles an attempt at an event or a notice, and counts it. Its end is a moment of the checkout.
func (s *Service) settleSent(ctx context.Context, l checkout.Lease, o checkout.Outcome) error {
	ends := map[checkout.JobKind]map[checkout.JobState]checkout.MomentKind{
		checkout.JobDeliver: {checkout.JobDone: checkout.MomentEventDelivered, checkout.JobDead: checkout.MomentEventFailed},
		checkout.JobNotify:  {checkout.JobDone: checkout.MomentNoticeSent, checkout.JobDead: checkout.MomentNoticeFailed},
	}
	j, now := l.Job, s.now()
	if kind, ended := ends[j.Kind][o.State]; ended {
		m := checkout.Moment{At: now, Kind: kind, Actor: checkout.ActorService, RequestID: j.RequestID, Detail: j.Name, Times: 1}
		if j.Kind == checkout.JobDeliver {
			m.Detail += " " + j.ID
		}
		if kind == checkout.MomentEventFailed {
			m.Detail += ": " + o.Failure.Reason
		}
		o.Moments = []checkout.Moment{m}
	}
	if _, err := s.settle(ctx, l, o, checkout.Enqueue{Now: now}, nil); err != nil {
		return err
	}
	s.countSettled(j.Kind, o.State)
	return nil
}

// countSettled counts an attempt at an event or a notice, by the state in which it left the job.
func (s *Service) countSettled(kind checkout.JobKind, state checkout.JobState) {
	outcomes := map[checkout.JobKind]map[checkout.JobState]Outcome{
		checkout.JobDeliver: {checkout.JobDone: OutcomeDelivered, checkout.JobDead: OutcomeFailed,
			checkout.JobDropped: OutcomeNotConfigured},
		checkout.JobNotify: {checkout.JobDone: OutcomeNoticeSent, checkout.JobPending: OutcomeNoticePutOff,
			checkout.JobDead: OutcomeNoticeFailed, checkout.JobDropped: OutcomeNoticeDropped},
	}
	if outcome, counted := outcomes[kind][state]; counted {
		s.cfg.Count(outcome)
	}
}

func refusedWith(err error, code checkout.Code) bool {
	refusal, ok := errors.AsType[*checkout.Error](err)
	return ok && refusal.Code == code
}
