package gocardlesstest

import (
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
)

// The one scheme that this simulator has.
const (
	scheme   = "becs_nz"
	currency = "NZD"
)

// organisation is the account that all creditors belong to.
const organisation = "OR000SIMULATOR"

// Statuses of a billing request.
const (
	requestPending    = "pending"
	requestReady      = "ready_to_fulfil"
	requestFulfilling = "fulfilling"
	requestFulfilled  = "fulfilled"
	requestCancelled  = "cancelled"
)

// billingRequest is one billing request with the customer and the account that it collects.
type billingRequest struct {
	id              string
	created         time.Time
	status          string
	scheme          string
	currency        string
	description     string
	fallback        bool
	metadata        map[string]string
	mandateMetadata map[string]string
	creditor        string

	customer  customer
	collected bool // the customer's details are
	account   *bankAccount
	confirmed bool // by the payer
	blocked   bool // GoCardless does not serve the place of the payer

	mandateRequestID string
	mandateID        string // "" until there is a mandate
	fate             fate
	key              string // Idempotency-Key that it was created under
}

// open reports whether a payer can still fill in or confirm the billing request.
func (b *billingRequest) open() bool { return b.status == requestPending }

// over reports whether nothing will happen to the billing request any more.
func (b *billingRequest) over() bool {
	return b.status == requestFulfilled || b.status == requestCancelled
}

// actions lists what is to be done before the billing request can be fulfilled.
func (b *billingRequest) actions() []actionWire {
	status := func(done bool) string {
		if done {
			return "completed"
		}
		return "pending"
	}
	return []actionWire{
		{"choose_currency", true, []string{}, []string{}, status(true)},
		{"collect_customer_details", true, []string{}, []string{"choose_currency"}, status(b.collected)},
		{"collect_bank_account", true, []string{"choose_currency"}, []string{"choose_currency", "collect_customer_details"},
			status(b.account != nil)},
		{"confirm_payer_details", true, []string{}, []string{"collect_customer_details", "collect_bank_account"}, status(b.confirmed)},
	}
}

// Payer is the person at the hosted page.
type Payer struct {
	GivenName  string
	FamilyName string
	Email      string
	Holder     string // of the account; the two names if empty
	Account    string // as people write it: 01-0902-0068389-00
}

// customer is the record of a payer.
type customer struct {
	id       string
	detailID string // of the customer billing detail
	Payer
	company    string
	phone      string
	address    string
	city       string
	postalCode string
	country    string
	metadata   map[string]string
}

// bankAccount is the payer's account.
type bankAccount struct {
	id       string
	created  time.Time
	number   bankaccount.Number
	holder   string // as the API gives it
	metadata map[string]string
}

// ending returns the part of the account number that the API shows: the last four digits, as for all accounts in NZD.
func (a *bankAccount) ending() string { return a.number.Base[len(a.number.Base)-4:] }

// flow is one visit to the hosted page that was offered to a payer.
type flow struct {
	id            string
	url           string
	request       string // the billing request
	created       time.Time
	expires       time.Time
	redirectURI   string
	exitURI       string
	language      string
	prefilled     map[string]string
	autoFulfil    bool
	lockCurrency  bool
	lockCustomer  bool
	lockAccount   bool
	showButtons   bool
	successButton bool
	skipSuccess   bool
	visited       bool
}

// Statuses of a mandate that the simulator itself distinguishes.
const (
	mandatePendingSubmission = "pending_submission"
	mandateSubmitted         = "submitted"
	mandateActive            = "active"
	mandateFailed            = "failed"
	mandateCancelled         = "cancelled"
	mandateExpired           = "expired"
	mandateConsumed          = "consumed"
	mandateBlocked           = "blocked"
)

// mandate is one direct debit authority.
type mandate struct {
	id          string
	created     time.Time
	reference   string
	status      string
	scheme      string
	nextCharge  time.Time
	metadata    map[string]string
	creditor    string
	customer    string
	account     string
	request     string // the billing request
	replacement string // the mandate that stands in its place
	submission  string // the holder's name as the bank gets it
}

// dead reports whether no money can be collected under the mandate.
func (m *mandate) dead() bool {
	return slices.Contains([]string{mandateFailed, mandateCancelled, mandateExpired, mandateConsumed, mandateBlocked}, m.status)
}

// Types of resources that have events.
const (
	resourceBillingRequests = "billing_requests"
	resourceMandates        = "mandates"
)

// event says that something happened to a resource.
type event struct {
	id               string
	created          time.Time
	resource         string
	action           string
	details          details
	metadata         map[string]string // of the call that caused it
	resourceMetadata map[string]string
	links            map[string]string
}

// details says why an event happened.
type details struct {
	origin      string
	cause       string
	description string
	scheme      string
	reason      string
}

// Creditor is one creditor of the account.
type Creditor struct {
	ID                   string // CR…
	Name                 string
	SchemeStatus         string // of its becs_nz scheme identifier: "active" (if empty), "pending", or NoScheme
	MinimumAdvanceNotice int    // days; 10 if 0
	Reference            string // the authorisation code of the scheme identifier
}

// NoScheme as a creditor's scheme status is a creditor that has no becs_nz scheme identifier.
const NoScheme = "none"

// complete returns the creditor with defaults for what is empty.
func (c Creditor) complete() Creditor {
	if c.ID == "" {
		c.ID = "CR000SIMULATOR"
	}
	if c.Name == "" {
		c.Name = "Rimu College"
	}
	if c.SchemeStatus == "" {
		c.SchemeStatus = "active"
	}
	if c.MinimumAdvanceNotice == 0 {
		c.MinimumAdvanceNotice = 10
	}
	if c.Reference == "" && c.SchemeStatus == "active" {
		c.Reference = "0200001"
	}
	return c
}
