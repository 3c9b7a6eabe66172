package ports

import (
	"context"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// CRM is a customer relationship management system outside of the store, which keeps records of enrolments. It follows the store:
// each record belongs to an identifier of the store's own (checkout.Records, Checkout.AgreementID, Checkout.DocumentID).
type CRM interface {
	// Info describes the CRM. It never changes.
	Info() checkout.CRMInfo

	// Check returns the values of a new enrolment that the CRM cannot take by its published limits, by the names of the contract's
	// fields. It does no I/O. A text that is only a label there is shortened instead.
	Check(e checkout.Enrolment) []checkout.Fault

	// Sync brings the CRM up to date with one checkout: contact, enrolment with its stage, direct debit authority, agreement
	// with the facts of its schedule, document and end. It may be called again at any time, by many processes at once, and after a
	// call whose outcome is unknown; it leads to one record under each identifier. Two things hold however calls overtake each other:
	// an older revision is never written over a newer one, and the stage moves forward only, each step once, for the CRM begins to
	// move money when an enrolment is complete: open, complete, withdrawn; or open, cancelled; or open, withdrawn.
	//
	// nil says that the CRM has e.Checkout.Revision whole. There are three kinds of errors. A *checkout.CRMRefusal says that the CRM does
	// not take it, now or if it is asked again: also where it knows more than e (checkout.CRMAhead and its like), which is never taken
	// back. ErrBusy says that the CRM takes no calls now, for no enrolment; it comes at once while a circuit breaker of the CRM's own is
	// open. After any other error the outcome is unknown, and the call is to be repeated. No error has personal data.
	Sync(ctx context.Context, e checkout.Enrolment) error

	// Ready returns nil if the CRM takes calls. It changes nothing there.
	Ready(ctx context.Context) error
}
