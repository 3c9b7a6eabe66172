package service

import (
	"slices"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Operation is the operation in which a Failure happened.
type Operation string

const (
	OperationServe    Operation = "serve request"    // the caller was answered BUSY, or another attempt followed
	OperationPrint    Operation = "render agreement" // the confirm goes on; after two such it has no PDF
	OperationObserve  Operation = "observe setup"    // the processor did not answer; the record does
	OperationCancel   Operation = "end setup"        // the processor is asked again later
	OperationSend     Operation = "send event"       // one attempt of several at a provider's receiver
	OperationGiveUp   Operation = "give up event"    // every attempt failed: the event is not sent again
	OperationDeliver  Operation = "deliver events"   // the scheduler delivers the events later
	OperationRecover  Operation = "recover events"   // they are delivered later
	OperationSchedule Operation = "schedule jobs"    // they are attempted later
	OperationTask     Operation = "run task"         // it is run again later
	OperationJournal  Operation = "write journal"    // a moment or a count is lost
	OperationReady    Operation = "check readiness"  // what was checked is not ready
	OperationCRM      Operation = "call CRM"         // the job is attempted again, or the create was refused
	OperationComplete Operation = "complete steps"   // the CRM job is attempted later
	OperationNotify   Operation = "notify payer"     // the notice is sent later, or was given up
	OperationRetain   Operation = "erase old data"   // it is erased later
)

// Severity says how much of an operator's attention a Failure needs.
type Severity string

const (
	Warning Severity = "warning" // it passes by itself, or is not a failure of the service itself
	Error   Severity = "error"   // an operator should look at it
)

// Failure is something that went wrong and that is not returned to a caller, or not in full.
type Failure struct {
	Operation      Operation
	Severity       Severity
	checkout.About        // the checkout; its fields are "" if the failure is of no checkout
	EventID        string // "" if the failure is of no event
	RequestID      string // of the request that the failed job follows from; "" if the failure is the request's own, or of no request
	Attempt        int    // of OperationSend, OperationPrint, OperationCRM and OperationNotify, from 1; 0 otherwise
	Err            error
}

// Count names something that an operator counts: see Config.Count.
type Count string

const (
	CountCreate          Count = "create"           // a checkout was opened
	CountReplay          Count = "replay"           // a create found the checkout that it opened before
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

	// The mandate of a confirmed checkout has reached a dead status.
	CountMandateFailed    Count = countMandate + "failed"
	CountMandateCancelled Count = countMandate + "cancelled"
	CountMandateExpired   Count = countMandate + "expired"
	CountMandateBlocked   Count = countMandate + "blocked"
)

// Counts lists every one, for tables that must be complete.
func Counts() []Count {
	return []Count{CountCreate, CountReplay, CountConfirm, CountRepeatedConfirm,
		CountDelivered, CountFailed, CountNotConfigured, CountRecovery,
		CountStepDone, CountStepUnknown, CountStepRefused,
		CountNoticeSent, CountNoticePutOff, CountNoticeFailed, CountNoticeDropped,
		CountMandateFailed, CountMandateCancelled, CountMandateExpired, CountMandateBlocked}
}

const countMandate = "mandate "

// countEnded counts the end of the mandate of a checkout whose confirm was decided, which the moment of a change tells of, unless its
// agreement was withdrawn.
func (s *Service) countEnded(change checkout.Change) {
	c := change.Next
	ended := func(m checkout.Moment) bool {
		return !c.Ended() && m.Kind == checkout.MomentMandateChanged && c.Confirmation.AgreementNumber != "" && c.Setup.Mandate.Dead()
	}
	if slices.ContainsFunc(change.Moments, ended) {
		s.cfg.Count(Count(countMandate+c.Setup.Mandate), c.ProviderCode)
	}
}
