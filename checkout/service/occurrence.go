package service

import (
	"errors"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// Occurrence is something that an operator counts: see Config.Count.
type Occurrence string

const (
	OccurrenceCreate          Occurrence = "create"           // a checkout was opened
	OccurrenceReplay          Occurrence = "replay"           // a create found the checkout that it opened before
	OccurrenceConflict        Occurrence = "conflict"         // a create or confirm contradicted what is on record
	OccurrenceConfirm         Occurrence = "confirm"          // a checkout was confirmed
	OccurrenceRepeatedConfirm Occurrence = "repeated confirm" // a confirm found the checkout confirmed

	OccurrenceDelivered     Occurrence = "event delivered"      // a receiver took an event
	OccurrenceFailed        Occurrence = "event failed"         // the attempts to deliver an event are used up
	OccurrenceNotConfigured Occurrence = "event not configured" // an event had no destination
	OccurrenceRecovery      Occurrence = "recovery"             // an event that its request left was settled after all
)

// Occurrences lists every occurrence, for tables that must be complete.
func Occurrences() []Occurrence {
	return []Occurrence{OccurrenceCreate, OccurrenceReplay, OccurrenceConflict, OccurrenceConfirm, OccurrenceRepeatedConfirm,
		OccurrenceDelivered, OccurrenceFailed, OccurrenceNotConfigured, OccurrenceRecovery}
}

// countCreate counts what became of a create.
func (s *Service) countCreate(opened Opened, err error) {
	switch {
	case refusedWith(err, checkout.CodeIntentConflict):
		s.cfg.Count(OccurrenceConflict)
	case err != nil:
	case opened.Replay:
		s.cfg.Count(OccurrenceReplay)
	default:
		s.cfg.Count(OccurrenceCreate)
	}
}

// countConfirm counts what became of a confirm.
func (s *Service) countConfirm(confirmed Confirmed, err error) {
	switch {
	case refusedWith(err, checkout.CodeConflict):
		s.cfg.Count(OccurrenceConflict)
	case err != nil:
	case confirmed.Already:
		s.cfg.Count(OccurrenceRepeatedConfirm)
	default:
		s.cfg.Count(OccurrenceConfirm)
	}
}

// countSettled counts what became of an event.
func (s *Service) countSettled(status events.Status) {
	switch status {
	case events.Delivered:
		s.cfg.Count(OccurrenceDelivered)
	case events.Failed:
		s.cfg.Count(OccurrenceFailed)
	case events.NotConfigured:
		s.cfg.Count(OccurrenceNotConfigured)
	}
}

func refusedWith(err error, code checkout.Code) bool {
	refusal, ok := errors.AsType[*checkout.Error](err)
	return ok && refusal.Code == code
}
