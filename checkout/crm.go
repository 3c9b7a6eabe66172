package checkout

import (
	"fmt"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

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
	Student    Student
	CourseCode string // "" for a legacy provider
	Intent     Intent
}

// Completion is the request to complete an enrolment in the CRM.
type Completion struct {
	EnrolmentKey
	Records   Records             // that Open returned
	Agreement agreement.Agreement // its ID is not the CRM's, and is not stored there
	Document  *agreement.Document // nil if it could not be rendered; its ID is not stored either
	Setup     Setup               // the direct debit; it has a mandate
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
	Complete     bool // its enrolment is complete: an agreement without a document never gets one
	Document     bool // its document is stored
}

// AuthorityUpdate is the request to record what became of the direct debit of a complete enrolment.
type AuthorityUpdate struct {
	EnrolmentKey
	Records Records // that Open returned
	Setup   Setup   // the direct debit as it is: Authorisation, Mandate, MandateReason and MandateSince
}

// Ending is the request to record that an enrolment has ended: it was cancelled before it was complete, or its agreement withdrawn.
type Ending struct {
	EnrolmentKey
	Records   Records // that Open returned
	End       End
	Withdrawn bool // its agreement; else it was cancelled
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
	Faults []Fault
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

// CRMInfo describes a CRM.
type CRMInfo struct {
	Name        string // as operators see it: "salesforce"
	Environment catalogue.Environment
	Company     string // that gets the students' personal data, by the name that the privacy notice says; "" for this service itself
	// WithinCommit says that Open and Complete are functions of their arguments: they do no I/O, ask no clock and never fail.
	// They are called within the store's transaction, and its commit is theirs.
	WithinCommit bool
}
