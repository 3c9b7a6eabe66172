package checkout

import (
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// The records of an enrolment in a CRM follow the store: their ids are the store's own, and a job of kind JobSync makes the CRM say
// what the store says.

// Records are the identifiers of the CRM records of one checkout.
type Records struct {
	ContactID     string
	OpportunityID string
	DDAID         string
}

// Records returns the identifiers of the checkout's records in an environment.
func (c Checkout) Records(env catalogue.Environment) Records {
	return Records{
		ContactID:     NaturalKey(env, c.ProviderCode, c.OrderID, "contact"),
		OpportunityID: NaturalKey(env, c.ProviderCode, c.OrderID, "opportunity"),
		DDAID:         NaturalKey(env, c.ProviderCode, c.OrderID, "dda"),
	}
}

// AgreementID returns the identifier of the record of an agreement with a number, and DocumentID that of its PDF. The number
// distinguishes two agreements of the same order, of which a restored store has only one.
func (c Checkout) AgreementID(env catalogue.Environment, number string) string {
	return NaturalKey(env, c.ProviderCode, c.OrderID, "agreement "+number)
}

// DocumentID returns the identifier of the record of an agreement's PDF: see AgreementID.
func (c Checkout) DocumentID(env catalogue.Environment, number string) string {
	return NaturalKey(env, c.ProviderCode, c.OrderID, "document "+number)
}

// Enrolment is the data of one checkout that a CRM is brought up to date with.
type Enrolment struct {
	Environment catalogue.Environment
	Checkout    Checkout
	Agreement   *agreement.Agreement // nil before the confirm
	Document    *agreement.Document  // nil if there is no PDF
	// Written is the latest revision of the checkout that was completely written to the CRM; 0 before the first.
	Written int64
}

// CRMRefusal is the definite refusal of an enrolment: the same call would be refused again until somebody changes the CRM or the
// data. Its text has no personal data.
type CRMRefusal struct {
	Code   string  // the CRM's word: FIELD_CUSTOM_VALIDATION_EXCEPTION
	Faults []Fault // the refused fields, by the contract's name ("student.last_name") where it is known, else by the CRM's, each with the reason
}

func (e *CRMRefusal) Error() string {
	said, sep, end := "the CRM refuses the enrolment: "+e.Code, " (", ""
	for _, f := range e.Faults {
		said += sep + strings.TrimSpace(f.Field+" "+f.Message)
		sep, end = ", ", ")"
	}
	return said + end
}

// Codes of refusals by a CRM that knows more than the store, after a restore of the store to an earlier time.
const (
	CRMAhead          = "CRM_IS_AHEAD"          // it has a newer revision, or a stage beyond
	CRMOtherAgreement = "CRM_OTHER_AGREEMENT"   // the enrolment is complete there under another agreement number
	CRMMissing        = "CRM_RECORD_IS_MISSING" // what was written is not there any more
)

// CRMInfo describes a CRM.
type CRMInfo struct {
	Name        string // as operators see it: "salesforce"
	Environment catalogue.Environment
	Company     string // that gets the students' personal data, by the name in the privacy notice
}

const (
	// settledSetup is the pause before a setup that was completed reaches the CRM: the confirm that mostly follows pulls it forward, and
	// both are one call.
	settledSetup = 10 * time.Second
	// refusedPause is the pause after a refusal of the CRM.
	refusedPause = 10 * time.Minute

	firstSyncPause   = 250 * time.Millisecond
	longestSyncPause = 15 * time.Second
)

// SyncPause returns the pause before the next attempt to bring the CRM up to date, after the attempt with this number, from 1, has
// failed.
func SyncPause(attempt int, refused bool) time.Duration {
	if refused {
		return refusedPause
	}
	return min(firstSyncPause<<min(max(attempt-1, 0), 10), longestSyncPause)
}
