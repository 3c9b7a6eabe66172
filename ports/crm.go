package ports

import (
	"context"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// CRM is the customer relationship management system that keeps the records of enrolments. A CRM outside of the store may be
// far away: callers bound its calls by ctx and make them outside any transaction. service.EmbeddedCRM answers within the
// store's commit: see CRMInfo.
//
// A record belongs to checkout.NaturalKey of the enrolment's environment, provider and order and of its kind: contact,
// opportunity, dda, agreement or document. Both Open and Complete may be called at any time, again and by many processes
// at once, and lead to one record under each key: after a call whose outcome is unknown the same call finds its records.
// The CRM gives the records their ids, which never change.
//
// An error is one of three. A *CRMRefusal says that the CRM does not take this enrolment, now or if it is asked again.
// ErrBusy says that it takes no more calls now; while it has few calls left it may refuse Open alone, because money waits on
// Complete. After any other error the outcome is unknown, and the call is to be repeated: also where the CRM does not let its
// records be read, because its user has lost a permission, say. No error repeats personal data.
type CRM interface {
	// Info describes the CRM. It never changes.
	Info() checkout.CRMInfo

	// Open makes the records of an enrolment that is opened (contact, opportunity and a direct debit authority in
	// progress) and returns their ids. Records that exist stay as they are, with their student and checkout id; the missing
	// records are made. An enrolment that exists with another intent is refused. Two enrolments never share a record,
	// even of one student.
	Open(ctx context.Context, e checkout.Enrolment) (checkout.Records, error)

	// Complete stores the agreement and its document, the result of the direct debit, and last that the enrolment is
	// complete, upon which the CRM begins to move money. It returns the ids of the records that it made or found. Once the
	// enrolment is complete it writes nothing more, and returns the ids on record: an agreement without a document never gets
	// a document. The first document that is stored stays, also before the enrolment is complete: a call with other bytes, or
	// without a document, takes it. Of concurrent calls several may make the last write, but only the first changes anything.
	//
	// Every call for an enrolment has the same agreement. An agreement with another number than that on record is refused,
	// even in concurrent calls, as is an enrolment that was not opened, or that has other records.
	Complete(ctx context.Context, c checkout.Completion) (checkout.Completed, error)

	// UpdateAuthority records the authorisation status, the status of the mandate, its reason and its time with the authority of a
	// complete enrolment: the mandate has ended, or was reinstated. It changes nothing else, and nothing when it is repeated or comes
	// late: where a later time is on record than that of the update. An enrolment that is not complete, or that has other records, is
	// refused.
	UpdateAuthority(ctx context.Context, u checkout.AuthorityUpdate) error

	// End records that an enrolment has ended: it was cancelled after Open and is never complete, or its agreement was withdrawn
	// after Complete, and no more money is to be collected for it. The agreement and its document stay, and so does what
	// UpdateAuthority records. Repeated it changes nothing. A withdrawal of an enrolment that is not complete is refused, as are a
	// cancel of a complete one, an enrolment that was not opened, and other records.
	End(ctx context.Context, e checkout.Ending) error

	// Agreed returns the agreement on record of an enrolment from the moment at which Complete has stored it, whether or not
	// the enrolment is complete, or ErrNotFound.
	//
	// It is for a store that was restored to an earlier moment than the CRM: it is called before an agreement is concluded,
	// and an agreement that is on record is concluded again, under its number, with a document as Complete will have it.
	Agreed(ctx context.Context, k checkout.EnrolmentKey) (checkout.Agreed, error)

	// Ready returns nil if the CRM can be reached and would take an Open, which it finds out by a call, not from memory: a circuit
	// breaker closes by it. It changes nothing there.
	Ready(ctx context.Context) error
}
