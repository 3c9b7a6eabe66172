package service

import "github.com/provider-checkout/provider-checkout/checkout"

// Operation is the operation in which a Failure happened.
type Operation string

const (
	OperationServe    Operation = "serve request"    // the caller was answered BUSY, or another attempt followed
	OperationPrint    Operation = "render agreement" // the confirm goes on; after two such it has no PDF
	OperationObserve  Operation = "observe setup"    // the processor did not answer; the record does
	OperationCancel   Operation = "end setup"        // the processor is asked again later
	OperationSend     Operation = "send event"       // one attempt of several at a provider's receiver
	OperationDeliver  Operation = "deliver event"    // it is delivered later
	OperationSchedule Operation = "schedule jobs"    // they are attempted later
	OperationTask     Operation = "run task"         // it is run again later
	OperationJournal  Operation = "write journal"    // a moment or a count is lost
	OperationReady    Operation = "check readiness"  // the part that was checked is not ready
	OperationCRM      Operation = "update CRM"       // it is attempted again
	OperationNotify   Operation = "notify payer"     // the notice is sent later, or was given up
	OperationRetain   Operation = "erase old data"   // it is erased later
)

// Severity is the attention of an operator that a Failure needs.
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
	CountConfirm         Count = "confirm"          // a checkout was confirmed
	CountRepeatedConfirm Count = "repeated confirm" // a confirm found the checkout confirmed
	CountUnprinted       Count = "unprinted"        // a checkout was confirmed without a PDF

	CountSyncRefused Count = "CRM refused" // the CRM refused an update, which is attempted again

	// The mandate of a confirmed checkout has reached a dead status.
	CountMandateFailed    Count = countMandate + "failed"
	CountMandateCancelled Count = countMandate + "cancelled"
	CountMandateExpired   Count = countMandate + "expired"
	CountMandateBlocked   Count = countMandate + "blocked"
)

// Counts returns all counts, for tables that must be complete.
func Counts() []Count {
	return []Count{CountCreate, CountConfirm, CountRepeatedConfirm, CountUnprinted, CountSyncRefused,
		CountMandateFailed, CountMandateCancelled, CountMandateExpired, CountMandateBlocked}
}

const countMandate = "mandate "
