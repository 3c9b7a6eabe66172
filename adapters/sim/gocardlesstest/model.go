package gocardlesstest

import (
	"cmp"
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
	description     string
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

// over reports whether nothing will happen to the billing request any more.
func (b *billingRequest) over() bool {
	return b.status == requestFulfilled || b.status == requestCancelled
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
}

// bankAccount is the payer's account.
type bankAccount struct {
	id      string
	created time.Time
	number  bankaccount.Number
	holder  string // as the API gives it
}

// ending returns the part of the account number that the API shows: the last four digits, as for all accounts in NZD.
func (a *bankAccount) ending() string { return a.number.Base[len(a.number.Base)-4:] }

// flow is one visit to the hosted page that was offered to a payer.
type flow struct {
	id          string
	url         string
	request     string // the billing request
	created     time.Time
	expires     time.Time
	redirectURI string
	exitURI     string
	language    string
	prefilled   map[string]string
	flags       map[string]bool // by their names in the API
	visited     bool
}

// mandate is one direct debit authority.
type mandate struct {
	id          string
	created     time.Time
	reference   string
	status      string
	nextCharge  time.Time
	metadata    map[string]string
	creditor    string
	customer    string
	account     string
	request     string // the billing request
	replacement string // the mandate that stands in its place
	submission  string // the holder's name as the bank gets it
	ended       bool   // by a call of the API: its fate does not come true any more
}

// dead reports whether no money can be collected under the mandate.
func (m *mandate) dead() bool {
	return slices.Contains([]string{"failed", "cancelled", "expired", "consumed", "blocked"}, m.status)
}

// Types of resources that have events.
const (
	resourceBillingRequests = "billing_requests"
	resourceMandates        = "mandates"
)

// event says that something happened to a resource.
type event struct {
	id       string
	created  time.Time
	resource string
	action   string
	details  details
	metadata map[string]string // of the resource
	links    map[string]string
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
	SchemeName           string // of its becs_nz scheme identifier, as bank statements show it; Name if empty
	SchemeStatus         string // of that identifier: "active" (if empty), "pending", or NoScheme
	MinimumAdvanceNotice int    // days; 10 if 0
	Reference            string // the authorisation code of that identifier; 0200001 if empty and the scheme status is active
}

// NoScheme as a creditor's scheme status is a creditor that has no becs_nz scheme identifier.
const NoScheme = "none"

// complete returns the creditor with defaults for what is empty.
func (c Creditor) complete() Creditor {
	c.ID, c.Name = cmp.Or(c.ID, "CR000SIMULATOR"), cmp.Or(c.Name, "Rimu College")
	c.SchemeName, c.SchemeStatus = cmp.Or(c.SchemeName, c.Name), cmp.Or(c.SchemeStatus, "active")
	c.MinimumAdvanceNotice = cmp.Or(c.MinimumAdvanceNotice, 10)
	if c.SchemeStatus == "active" {
		c.Reference = cmp.Or(c.Reference, "0200001")
	}
	return c
}
