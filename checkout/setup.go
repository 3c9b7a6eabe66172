package checkout

import (
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
)

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
	Consent          agreement.Consent // of the payer who last went on from the setup page to the bank setup
	Observation
}

// Observation is what the processor says of a setup. Once the billing request is fulfilled it must
// say who gave the authority over which account, and when: until then the setup is not complete.
type Observation struct {
	BillingRequest BillingRequestStatus
	Mandate        MandateStatus
	Authorisation  AuthorisationStatus
	AccountHolder  string
	AccountTail    string    // last two digits of the account's base number; the rest is not kept
	CompletedAt    time.Time // when the payer completed the setup, UTC to the millisecond
}

// told tells whether the processor said who gave the authority, over which account and when.
func (o Observation) told() bool {
	return o.AccountHolder != "" && o.AccountTail != "" && !o.CompletedAt.IsZero()
}

// notBegun is what is said of a setup that nobody began.
var notBegun = Observation{BillingRequest: BillingPending, Authorisation: CustomerInProgress}

// SetupComplete tells whether the direct debit is set up, on an account that the processor named. A
// mandate that dies before the confirm takes it back, so that the payer can try again; afterwards
// it stays.
func (c Checkout) SetupComplete() bool {
	return c.Status == Confirmed || c.Setup.done()
}

func (s Setup) done() bool {
	return s.BillingRequest == BillingFulfilled && !s.Mandate.Dead() && s.told()
}

// begun tells whether there is a billing request that the payer can still fulfil.
func (s Setup) begun() bool {
	return s.BillingRequestID != "" && s.BillingRequest == BillingPending && !s.Mandate.Dead()
}

// NextTry returns the number of the billing request that the payer fulfils next: the one
// that is under way, or a new one.
func (c Checkout) NextTry() int {
	if c.Setup.begun() {
		return c.Setup.Try
	}
	return c.Setup.Try + 1
}

// Begin returns the checkout with the billing request that was made for a try, and with the consent of the
// payer who goes on to it. It changes nothing if the setup is complete or another try came between.
func (c Checkout) Begin(try int, billingRequestID string, consent agreement.Consent) Change {
	if c.SetupComplete() || try != c.NextTry() {
		return Change{Next: c}
	}
	if !c.Setup.begun() || c.Setup.BillingRequestID != billingRequestID {
		c.Setup = Setup{Try: try, BillingRequestID: billingRequestID, Observation: notBegun}
	}
	if c.Setup.superseded(consent) {
		c.Setup.Consent = consent
	}
	return Change{Next: c}
}

// renewal is how old a consent is at least before the same payer's going on again is kept in its place.
const renewal = time.Minute

// superseded tells whether a consent is kept in place of the one that there is. Requests may overtake one another: the
// later consent stays. One to terms that are not known takes nothing from one to those that are.
func (s Setup) superseded(by agreement.Consent) bool {
	kept := s.Consent
	switch {
	case by.At.Before(kept.At), by.Terms == "" && kept.Terms != "":
		return false
	case by.From == kept.From && by.Terms == kept.Terms:
		return by.At.Sub(kept.At) >= renewal
	}
	return true
}

// Complete returns the checkout with its bank setup completed. It changes nothing unless a billing
// request waits for that.
func (c Checkout) Complete(done Observation, now time.Time) Change {
	if c.SetupComplete() || !c.Setup.begun() {
		return Change{Next: c}
	}
	c.Setup.Observation = done
	c.Setup.CompletedAt = now
	return Change{Next: c}
}

// Observe returns the checkout with what the processor says of its setup, which may come late: a
// mandate never goes back to an earlier status, and never comes back from the dead. The account, once
// told, stays the one that was told.
func (c Checkout) Observe(seen Observation) Change {
	known := c.Setup.Observation
	if known.Mandate.Dead() || seen.Mandate.before(known.Mandate) ||
		known.BillingRequest == BillingFulfilled && seen.BillingRequest == BillingPending {
		return Change{Next: c}
	}
	if known.told() {
		seen.AccountHolder, seen.AccountTail, seen.CompletedAt = known.AccountHolder, known.AccountTail, known.CompletedAt
	}
	c.Setup.Observation = seen
	return Change{Next: c}
}

// before tells whether a living mandate goes through status m before it comes to status n.
// A status that has no place in that order is before no other.
func (m MandateStatus) before(n MandateStatus) bool {
	order := []MandateStatus{MandateNone, MandatePendingSubmission, MandateSubmitted, MandateActive}
	at := slices.Index(order, m)
	return at >= 0 && at < slices.Index(order, n)
}
