// Package events holds the three notifications that the service sends to a provider
// (contract, section 6): their bodies, and signing and verifying a delivery. A
// receiver written in Go can import it for Verify. It does no I/O and reads no clock.
package events

import "time"

// Name is the name of an event.
type Name string

const (
	CheckoutCreated    Name = "checkout.created"
	CheckoutConfirmed  Name = "checkout.confirmed"
	AgreementGenerated Name = "agreement.generated"
)

// Status is what became of an event.
type Status string

const (
	Pending       Status = "pending"        // not yet delivered, not yet given up
	Delivered     Status = "delivered"      // the receiver answered 2xx
	Failed        Status = "failed"         // the attempts are used up
	NotConfigured Status = "not_configured" // there was no destination; it is never sent
)

// Event is one notification. Its bytes are fixed when the state change that it tells
// of is committed, and never change again.
type Event struct {
	ID           string // evt_…; one for each checkout and name, for ever
	Name         Name
	CheckoutID   string
	ProviderCode string
	OrderID      string
	RequestID    string
	CreatedAt    time.Time // UTC, to the millisecond
	Body         []byte    // the JSON envelope, as it is signed and sent
}

// Origin is what every envelope says of where its event comes from.
type Origin struct {
	RequestID   string // req_…
	Environment string
	CreatedAt   time.Time
}

// Subject is what the data of every event has in common.
type Subject struct {
	ProviderCode  string
	OrderID       string
	CheckoutID    string
	OpportunityID string
}

// Created makes the event checkout.created.
func Created(o Origin, s Subject, ddaID, contactID string) Event { panic("todo") }

// Confirmed makes the event checkout.confirmed.
func Confirmed(o Origin, s Subject, ddaID, agreementID string) Event { panic("todo") }

// Generated makes the event agreement.generated.
func Generated(o Origin, s Subject, agreementID, agreementNumber, documentID, agreementVersion string) Event {
	panic("todo")
}

// ID returns the identifier of the event of this name about this checkout: always the same one.
func ID(checkoutID string, name Name) string { panic("todo") }
