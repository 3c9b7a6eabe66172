package service

import (
	"errors"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
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
)

// Outcomes lists every outcome, for tables that must be complete.
func Outcomes() []Outcome {
	return []Outcome{OutcomeCreate, OutcomeReplay, OutcomeConflict, OutcomeConfirm, OutcomeRepeatedConfirm,
		OutcomeDelivered, OutcomeFailed, OutcomeNotConfigured, OutcomeRecovery}
}

func (s *Service) countCreate(opened Opened, err error) {
	switch {
	case refusedWith(err, checkout.CodeIntentConflict):
		s.cfg.Count(OutcomeConflict)
	case err != nil:
	case opened.Replay:
		s.cfg.Count(OutcomeReplay)
	default:
		s.cfg.Count(OutcomeCreate)
	}
}

func (s *Service) countConfirm(confirmed Confirmed, err error) {
	switch {
	case refusedWith(err, checkout.CodeConflict):
		s.cfg.Count(OutcomeConflict)
	case err != nil:
	case confirmed.Already:
		s.cfg.Count(OutcomeRepeatedConfirm)
	default:
		s.cfg.Count(OutcomeConfirm)
	}
}

func (s *Service) countSettled(status events.Status) {
	switch status {
	case events.Delivered:
		s.cfg.Count(OutcomeDelivered)
	case events.Failed:
		s.cfg.Count(OutcomeFailed)
	case events.NotConfigured:
		s.cfg.Count(OutcomeNotConfigured)
	}
}

func refusedWith(err error, code checkout.Code) bool {
	refusal, ok := errors.AsType[*checkout.Error](err)
	return ok && refusal.Code == code
}
