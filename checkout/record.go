package checkout

import (
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// CheckoutRecord is everything on record about one checkout.
type CheckoutRecord struct {
	Checkout  Checkout
	Agreement *agreement.Agreement // nil until confirmed
	Document  int                  // the length of the stored PDF, in bytes; 0 without one
	Jobs      []JobRecord          // in the order of their positions, and of one position of their ids
	Moments   []Moment             // in the order of their positions
}

// Events returns the record's events in the order in which they were stored.
func (r CheckoutRecord) Events() (list []EventRecord) {
	for _, j := range r.Jobs {
		if j.Kind == JobDeliver {
			list = append(list, j.EventRecord())
		}
	}
	return list
}

// Visitor receives what a store exports. No function is nil.
type Visitor struct {
	Configuration func(catalogue.Configuration) error
	Key           func(catalogue.Key) error
	Checkout      func(CheckoutRecord) error
	// Unreadable is called instead of Checkout for a checkout of which something on record cannot be read; the export
	// goes on after it.
	Unreadable func(checkoutID string, err error) error
}

// About names the checkout that something is about, as far as it is known.
type About struct {
	CheckoutID, OrderID, ProviderCode string
}

// About names the checkout.
func (c Checkout) About() About { return About{c.ID, c.OrderID, c.ProviderCode} }

// About names the job's checkout.
func (j Job) About() About { return About{CheckoutID: j.CheckoutID, ProviderCode: j.ProviderCode} }

// Noted is a moment of a checkout. A store needs no more of About than the id.
type Noted struct {
	About
	Moment Moment
}

// KeyUse is the use of an API key on a day (YYYY-MM-DD).
type KeyUse struct{ KeyID, Day string }

// Reference names a checkout other than by its id. One of the fields but ProviderCode is set.
type Reference struct {
	ProviderCode     string // of OrderID and Key
	OrderID          string
	Key              string // the idempotency key that is bound to it
	BillingRequestID string // its latest, like MandateID
	MandateID        string
	AgreementNumber  string
}
