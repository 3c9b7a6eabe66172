package checkout

import "time"

// BillingRequestStatus is the processor's word for how far the payer's bank setup is.
type BillingRequestStatus string

const (
	BillingPending   BillingRequestStatus = "pending"
	BillingFulfilled BillingRequestStatus = "fulfilled"
	BillingCancelled BillingRequestStatus = "cancelled"
)

// MandateStatus is the processor's word for the direct debit mandate. Words that are
// not listed here are kept as they come; such a mandate cannot be confirmed.
type MandateStatus string

const (
	MandateNone              MandateStatus = "" // there is no mandate yet
	MandatePendingSubmission MandateStatus = "pending_submission"
	MandateSubmitted         MandateStatus = "submitted"
	MandateActive            MandateStatus = "active"
	MandateFailed            MandateStatus = "failed"
	MandateCancelled         MandateStatus = "cancelled"
	MandateExpired           MandateStatus = "expired"
	MandateBlocked           MandateStatus = "blocked"
)

// Dead tells whether nothing can be collected under the mandate any more.
func (m MandateStatus) Dead() bool {
	switch m {
	case MandateFailed, MandateCancelled, MandateExpired, MandateBlocked:
		return true
	}
	return false
}

// Confirmable tells whether a confirm is accepted under the mandate (section 3).
func (m MandateStatus) Confirmable() bool {
	switch m {
	case MandatePendingSubmission, MandateSubmitted, MandateActive:
		return true
	}
	return false
}

// AuthorisationStatus is the CRM's word for the direct debit authority.
type AuthorisationStatus string

const (
	CustomerInProgress AuthorisationStatus = "Customer In Progress"
	Authorised         AuthorisationStatus = "Authorised"
)

// Setup is the direct debit setup of a checkout. The zero value is a setup that nobody began.
type Setup struct {
	Try              int // billing requests begun so far
	BillingRequestID string
	Observation
	AccountHolder string
	AccountTail   string    // last two digits of the account's base number; the rest is not kept
	CompletedAt   time.Time // when the payer completed it; zero until then
}

// Observation is what the processor says of a setup.
type Observation struct {
	BillingRequest BillingRequestStatus
	Mandate        MandateStatus
	Authorisation  AuthorisationStatus
}

// Completion is what a completed bank setup says: who gave the authority over which account.
type Completion struct {
	AccountHolder string
	AccountTail   string
	Observation   Observation
}
