package ports

import (
	"context"
	"errors"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// Printer renders agreements.
type Printer interface {
	// Print returns the agreement as a PDF. The same agreement gives the same bytes. ErrBusy if ctx ended before its turn.
	Print(ctx context.Context, a agreement.Agreement) ([]byte, error)

	// SignedBy returns the SHA-256, in hex, of the certificate under which the PDFs are signed; "" where they are not.
	SignedBy() string
}

// ErrProhibited: events may not be sent to the destination. Nothing was sent.
var ErrProhibited = errors.New("the destination is not allowed")

// Sender sends events. Its caller bounds how many attempts are made at once for each provider, so that one receiver delays
// no other: a sender has no such bound of its own, least of all by host, which providers share.
type Sender interface {
	// Send makes one attempt, counted from 1, to deliver to the destination, in 2 seconds at most, and returns no error if the
	// receiver answered 2xx. It follows no redirect and reads no more of the answer than it must. Its error, which is kept on
	// record, holds neither the destination's secret nor its answer. An attempt that ran out of time wraps
	// context.DeadlineExceeded. With ErrProhibited, and with ErrBusy where the sender could not try, nothing was sent, and it
	// was no attempt.
	Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) error
}

// PayerNotifier notifies payers of what they have set up and agreed: by e-mail, say. It may be called concurrently.
//
// A notice is sent at least once. After an attempt whose outcome is unknown, or could not be stored, the same notice comes
// again. The message must carry its ID, as the Message-ID of an e-mail does, so that copies can be recognised.
type PayerNotifier interface {
	// Notify makes one attempt, and returns the other system's words once that has taken the notice over and answers for its delivery. It
	// returns when ctx ends at the latest. A *NoticeRefusal says that the same notice would be refused again. ErrBusy says
	// that no notice can be sent now, because the other system cannot be reached, say: nothing was sent, and it was no attempt.
	// After any other error it is attempted later, a bounded number of times. Neither errors nor receipts repeat the address, a
	// name or a credential: both are logged, and kept on record for longer than personal data.
	Notify(ctx context.Context, n checkout.PayerNotice) (receipt string, err error)
}

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
	//
	//   - An older revision is never written over a newer one.
	//   - The stage moves forward only, each step once, for the CRM begins to move money when an enrolment is complete: open,
	//     complete, withdrawn; or open, cancelled; or open, withdrawn.
	//
	// Sync returns nil once the CRM has stored e.Checkout.Revision completely. There are three kinds of errors:
	//
	//   - A *checkout.CRMRefusal: the CRM does not take e, now or if it is asked again. Where it knows more than e, which is never taken
	//     back, the code is checkout.CRMAhead, CRMOtherAgreement or CRMMissing, and the text names both values: revisions, stages or
	//     agreement numbers. Without an agreement in e, a completed enrolment is CRMOtherAgreement.
	//   - ErrBusy: the CRM takes no calls now, for no enrolment. It comes at once while a circuit breaker of the CRM's own is open.
	//   - Any other: the outcome is unknown, and the call is to be repeated.
	//
	// No error has personal data.
	Sync(ctx context.Context, e checkout.Enrolment) error

	// Ready returns nil if the CRM takes calls. It changes nothing there.
	Ready(ctx context.Context) error
}
