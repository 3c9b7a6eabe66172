package checkout

import (
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
)

// CheckoutRecord is everything on record about one checkout.
type CheckoutRecord struct {
	Checkout  Checkout
	Agreement *agreement.Agreement // nil until confirmed
	Document  *DocumentInfo        // nil unless rendered
	Jobs      []JobRecord          // in the order in which they entered
	Moments   []Moment             // in the order of their positions
}

// Events returns the record's events in the order in which they were stored.
func (r CheckoutRecord) Events() (list []EventRecord) {
	for _, j := range r.Jobs {
		if j.Job.Kind == JobDeliver {
			list = append(list, EventOf(j))
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

// DocumentInfo describes a document without its bytes.
type DocumentInfo struct {
	ID     string
	SHA256 [32]byte
	Size   int // bytes
}

// EventRecord is an event with its status.
type EventRecord struct {
	Event    events.Event
	Status   events.Status
	Attempts int     // after a retry by hand too
	Failure  Failure // the latest
}

// EventOf returns the event of a job of kind JobDeliver.
func EventOf(r JobRecord) EventRecord {
	return EventRecord{Event: r.Job.Event(), Status: r.State.EventStatus(), Attempts: r.Attempts, Failure: r.Failure}
}

// About names the checkout that something is about, as far as it is known.
type About struct {
	CheckoutID, OrderID, ProviderCode string
}

// About names the checkout.
func (c Checkout) About() About { return About{c.ID, c.OrderID, c.ProviderCode} }

// About names the job's checkout.
func (j Job) About() About { return About{j.CheckoutID, j.OrderID, j.ProviderCode} }

// Noted is a moment of a checkout. A store needs no more of About than the id.
type Noted struct {
	About
	Moment Moment
}

// Reference names a checkout other than by its id. One of OrderID, Key, BillingRequestID and MandateID is set; a reference
// without any of them names no checkout.
type Reference struct {
	ProviderCode     string // of OrderID and Key
	OrderID          string
	Key              string // the idempotency key that is bound to it
	BillingRequestID string // its latest, like MandateID
	MandateID        string
}
