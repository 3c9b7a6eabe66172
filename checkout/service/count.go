package service

import (
	"context"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Count names something that an operator counts: see Config.Count.
type Count string

const (
	CountCreate          Count = "create"           // a checkout was opened
	CountReplay          Count = "replay"           // a create found the checkout that it opened before
	CountConflict        Count = "conflict"         // a create or confirm contradicted what is on record
	CountConfirm         Count = "confirm"          // a checkout was confirmed
	CountRepeatedConfirm Count = "repeated confirm" // a confirm found the checkout confirmed

	CountDelivered     Count = "event delivered"      // a receiver took an event
	CountFailed        Count = "event failed"         // the attempts to deliver an event are used up
	CountNotConfigured Count = "event not configured" // an event had no destination
	CountRecovery      Count = "recovery"             // an event that its request left behind was settled

	CountStepDone    Count = "CRM step done"    // a CRM outside of the store did a CRM job
	CountStepUnknown Count = "CRM step unknown" // it may have, and is asked again
	CountStepRefused Count = "CRM step refused" // it does not take it

	CountNoticeSent    Count = "notice sent"    // a payer's notice was taken over
	CountNoticePutOff  Count = "notice put off" // an attempt to send one failed, and another follows
	CountNoticeFailed  Count = "notice failed"  // it was refused, or the attempts are used up
	CountNoticeDropped Count = "notice dropped" // what it was to say was true no longer

	CountNotSealed   Count = "evidence not sealed" // an attempt to seal the evidence log failed
	CountClocksApart Count = "clocks apart"        // what was sealed, or the newest checkpoint, has a time that cannot be
)

// Counts lists every one, for tables that must be complete.
func Counts() []Count {
	return []Count{CountCreate, CountReplay, CountConflict, CountConfirm, CountRepeatedConfirm,
		CountDelivered, CountFailed, CountNotConfigured, CountRecovery,
		CountStepDone, CountStepUnknown, CountStepRefused,
		CountNoticeSent, CountNoticePutOff, CountNoticeFailed, CountNoticeDropped, CountNotSealed, CountClocksApart}
}

// countCall counts a create or a confirm, which committed that the checkout is open or confirmed, or not.
func (s *Service) countCall(first, repeat Count, committed bool, err error) {
	switch {
	case committed:
		s.cfg.Count(first)
	case err == nil:
		s.cfg.Count(repeat)
	case checkout.Refused(err, checkout.CodeIntentConflict, checkout.CodeConflict):
		s.cfg.Count(CountConflict)
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
	if _, err := s.settle(ctx, l, o, checkout.JobEntry{Now: now}, nil); err != nil {
		return err
	}
	s.countSettled(j.Kind, o.State)
	return nil
}

// countSettled counts an attempt at an event or a notice, by the state in which it left the job.
func (s *Service) countSettled(kind checkout.JobKind, state checkout.JobState) {
	outcomes := map[checkout.JobKind]map[checkout.JobState]Count{
		checkout.JobDeliver: {checkout.JobDone: CountDelivered, checkout.JobDead: CountFailed,
			checkout.JobDropped: CountNotConfigured},
		checkout.JobNotify: {checkout.JobDone: CountNoticeSent, checkout.JobPending: CountNoticePutOff,
			checkout.JobDead: CountNoticeFailed, checkout.JobDropped: CountNoticeDropped},
	}
	if outcome, counted := outcomes[kind][state]; counted {
		s.cfg.Count(outcome)
	}
}
