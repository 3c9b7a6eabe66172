package service

import (
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

// countCreate counts a create, which committed the opening of the checkout or not.
func (s *Service) countCreate(committed bool, err error) {
	switch {
	case committed:
		s.cfg.Count(OutcomeCreate)
	case refusedWith(err, checkout.CodeIntentConflict):
		s.cfg.Count(OutcomeConflict)
	case err != nil:
	default:
		s.cfg.Count(OutcomeReplay)
	}
}

// countConfirm counts a confirm, which committed that the checkout is confirmed or not.
func (s *Service) countConfirm(committed bool, err error) {
	switch {
	case committed:
		s.cfg.Count(OutcomeConfirm)
	case refusedWith(err, checkout.CodeConflict):
		s.cfg.Count(OutcomeConflict)
	case err != nil:
	default:
		s.cfg.Count(OutcomeRepeatedConfirm)
	}
}

// countAdvanced counts a create or confirm that the scheduler completed without a caller.
func (s *Service) countAdvanced(done advanced) {
	if done.agreement == nil {
		s.cfg.Count(OutcomeCreate)
	} else {
		s.cfg.Count(OutcomeConfirm)
	}
}

// countStep counts an attempt at a CRM job by its outcome.
func (s *Service) countStep(err error) {
	switch {
	case err == nil:
		s.cfg.Count(OutcomeStepDone)
	case answered(err):
		s.cfg.Count(OutcomeStepRefused)
	default:
		s.cfg.Count(OutcomeStepUnknown)
	}
}

func (s *Service) countSettled(state checkout.JobState) {
	switch state {
	case checkout.JobDone:
		s.cfg.Count(OutcomeDelivered)
	case checkout.JobDead:
		s.cfg.Count(OutcomeFailed)
	case checkout.JobDropped:
		s.cfg.Count(OutcomeNotConfigured)
	}
}

func (s *Service) countNotice(state checkout.JobState) {
	switch state {
	case checkout.JobDone:
		s.cfg.Count(OutcomeNoticeSent)
	case checkout.JobPending:
		s.cfg.Count(OutcomeNoticePutOff)
	case checkout.JobDead:
		s.cfg.Count(OutcomeNoticeFailed)
	case checkout.JobDropped:
		s.cfg.Count(OutcomeNoticeDropped)
	}
}

func refusedWith(err error, code checkout.Code) bool {
	refusal, ok := errors.AsType[*checkout.Error](err)
	return ok && refusal.Code == code
}
