package checkout

import (
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

// Account is a provider's account at a processor.
type Account struct {
	ProviderCode string
	ID           string // that the operator linked to the provider
	Environment  catalogue.Environment
}

// Creditor is the party for which payments are collected under an account, as the processor knows it.
type Creditor struct {
	Notice    int                 // least number of calendar days between the notice of a payment and the payment
	Authority agreement.Authority // who debits the payers; its Calendar and Conditions are empty
}

// SetupStart is the request to begin a bank setup.
type SetupStart struct {
	Key          string // 32 characters of 0-9a-f for the enrolment and try: the processor's idempotency key
	Account      Account
	ProviderName string // as the payer knows the provider
	CheckoutID   string
	OrderID      string
	// ReturnURL is the address to which the processor redirects the payer's browser. Nothing else may link to it, because opening
	// it queries the processor. It holds the setup token, which nothing should store. A form that leads there by a redirect needs
	// its origin in the page's form-action policy.
	ReturnURL   string
	Student     Student
	Description string               // what the payer agrees to: the course's name
	Terms       agreement.DebitTerms // that the payer has read: who debits, under which authority
	First       money.Payment        // of the plan, as the payer has read it: its day may move with the confirm
}

// SetupQuery asks a processor about a setup.
type SetupQuery struct {
	Account Account
	OrderID string // the provider's
	Setup   Setup  // as on record, which may be behind
}

// BillingRequest is a bank setup that was begun.
type BillingRequest struct {
	ID  string // unique at the processor
	URL string // where the payer goes
}

// ProcessorInfo describes a processor.
type ProcessorInfo struct {
	Name        string // as providers see it: "gocardless"
	Environment catalogue.Environment
	Company     string // that gets the payers' personal data, by the name that the privacy notice says; "" for this service itself
	// PageOrigins are the origins, scheme://host[:port], of the pages that Begin sends payers to, where they are not the
	// service's own: a browser leaves the setup page for no other.
	PageOrigins []string
	// Calendar says on which days the collector behind the processor takes payments; "" where the operator's terms say it.
	Calendar money.Calendar
	// Notifies is set by a processor that has every change notified (Service.Notified) within a minute at most. Polls are then
	// answered from the record.
	Notifies bool
}

// Notification is a hint of the processor that something happened to a setup. The processor is asked what it is.
type Notification struct {
	BillingRequestID string // "" if it is about a mandate
	MandateID        string
}
