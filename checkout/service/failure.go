package service

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Operation is the operation in which a Failure happened.
type Operation string

const (
	OperationServe    Operation = "serve request"    // the caller was answered BUSY, or another attempt followed
	OperationPrint    Operation = "render agreement" // the confirm goes on; after two such it has no PDF
	OperationObserve  Operation = "observe setup"    // the processor did not answer; the record does
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
	OperationSeal     Operation = "seal evidence"    // what was agreed is on record, and is sealed later
	OperationRetain   Operation = "erase old data"   // it is erased later
	OperationHook     Operation = "call hook"        // Config.Checkpoint panicked, or hangs
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

// report calls Config.Report, unless the failure is a refusal: then it is BUSY, and fail has reported the cause.
func (s *Service) report(ctx context.Context, f Failure) {
	if checkout.Refused(f.Err) {
		return
	}
	if subject := subjectOf(ctx); subject != nil {
		if known := subject.About(); f.CheckoutID == "" || f.CheckoutID == known.CheckoutID {
			f.About = known
		}
		f.RequestID = subject.requestID
	}
	s.cfg.Report(ctx, f)
}

// reportUnlessStopped reports a failure of the background work, unless that is being stopped.
func (s *Service) reportUnlessStopped(ctx context.Context, f Failure) {
	if ctx.Err() == nil {
		s.report(ctx, f)
	}
}

// fail adds to an error what failed. If the cause is a lack of time, it is reported, and the error becomes the refusal
// BUSY.
func (s *Service) fail(ctx context.Context, doing string, err error) error {
	err = fmt.Errorf("%s: %w", doing, err)
	if errors.Is(err, ports.ErrBusy) || errors.Is(err, context.DeadlineExceeded) {
		s.report(ctx, Failure{Operation: OperationServe, Severity: Warning, Err: err})
		return checkout.Busy()
	}
	return err
}

// recovered, when deferred, turns a panic in a port into an error of the method or goroutine.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}
