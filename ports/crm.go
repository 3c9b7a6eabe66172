package ports

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
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
	Info() CRMInfo

	// Open makes the records of an enrolment that is opened (contact, opportunity and a direct debit authority in
	// progress) and returns their ids. Records that exist stay as they are, with their student and checkout id; the missing
	// records are made. An enrolment that exists with another intent is refused. Two enrolments never share a record,
	// even of one student.
	Open(ctx context.Context, e Enrolment) (checkout.Records, error)

	// Complete stores the agreement and its document, the result of the direct debit, and last that the enrolment is
	// complete, upon which the CRM begins to move money. It returns the ids of the records that it made or found. Once the
	// enrolment is complete it writes nothing more, and returns the ids on record: an agreement without a document never gets
	// a document. The first document that is stored stays, also before the enrolment is complete: a call with other bytes, or
	// without a document, takes it. Of concurrent calls several may make the last write, but only the first changes anything.
	//
	// Every call for an enrolment has the same agreement. An agreement with another number than that on record is refused,
	// even in concurrent calls, as is an enrolment that was not opened, or that has other records.
	Complete(ctx context.Context, c Completion) (Completed, error)

	// Agreed returns the agreement on record of an enrolment from the moment at which Complete has stored it, whether or not
	// the enrolment is complete, or ErrNotFound.
	//
	// It is for a store that was restored to an earlier moment than the CRM: it is called before an agreement is concluded,
	// and an agreement that is on record is concluded again, under its number.
	Agreed(ctx context.Context, k EnrolmentKey) (Agreed, error)

	// Ready returns nil if the CRM can be reached and would take an Open. It changes nothing there.
	Ready(ctx context.Context) error
}

// CRMInfo describes a CRM.
type CRMInfo struct {
	Name        string // as operators see it: "salesforce"
	Environment catalogue.Environment
	// WithinCommit says that Open and Complete are functions of their arguments: they do no I/O, ask no clock and never fail.
	// They are called within the store's transaction, and its commit is theirs.
	WithinCommit bool
}

// EnrolmentKey names one enrolment. The environment must be the CRM's.
type EnrolmentKey struct {
	Environment  catalogue.Environment
	ProviderCode string
	OrderID      string
}

// Enrolment is the request to open an enrolment in the CRM.
type Enrolment struct {
	EnrolmentKey
	CheckoutID string
	Student    checkout.Student
	CourseCode string // "" for a legacy provider
	Intent     checkout.Intent
}

// Completion is the request to complete an enrolment in the CRM.
type Completion struct {
	EnrolmentKey
	Records   checkout.Records    // that Open returned
	Agreement agreement.Agreement // its ID is not the CRM's, and is not stored there
	Document  *agreement.Document // nil if it could not be rendered; its ID is not stored either
	Setup     checkout.Setup      // the direct debit; it has a mandate
}

// Completed holds the ids of the records that the CRM made of a completion.
type Completed struct {
	AgreementID string
	DocumentID  string // "" if there is no document
}

// Agreed is the CRM's record of an agreement.
type Agreed struct {
	Number       string
	AcceptedAt   time.Time // UTC, to the second or more exactly
	FirstPayment money.Date
}

// CRMRefusal is the definite refusal of an enrolment: the same call would be refused again until an administrator changes the
// CRM or the data. Its text has no personal data.
type CRMRefusal struct {
	Code string // the CRM's word: FIELD_CUSTOM_VALIDATION_EXCEPTION
	// Made says of a refused Open that some of the records exist all the same, so that the order stays this enrolment.
	// Otherwise no record exists, and the order may become another enrolment.
	Made bool
	// OtherIntent says of a refused Open that the order is another enrolment there, whose intent differs in the Faults. The
	// refused enrolment may be forgotten.
	OtherIntent bool
	// Faults are the refused fields, as far as they are known: by the contract's name ("student.last_name"), else by the CRM's.
	Faults []checkout.Fault
}

func (e *CRMRefusal) Error() string {
	var faults []string
	for _, f := range e.Faults {
		faults = append(faults, strings.TrimSpace(f.Field+" "+f.Message))
	}
	if len(faults) == 0 {
		return "the CRM refuses the enrolment: " + e.Code
	}
	return fmt.Sprintf("the CRM refuses the enrolment: %s (%s)", e.Code, strings.Join(faults, ", "))
}
