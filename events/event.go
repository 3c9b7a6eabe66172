// Package events holds the notifications that the service sends to a provider: the contract's three (section 6).
// It has their bodies, and signs and verifies a delivery. A receiver written in Go can import it for Verify. It does no I/O and
// reads no clock.
package events

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Name is the name of an event.
type Name string

const (
	CheckoutCreated    Name = "checkout.created"
	CheckoutConfirmed  Name = "checkout.confirmed"
	AgreementGenerated Name = "agreement.generated"
)

// Status is the state of an event's delivery.
type Status string

const (
	Pending       Status = "pending"        // not yet delivered, not yet given up
	Delivered     Status = "delivered"      // the receiver answered 2xx
	Failed        Status = "failed"         // the attempts are used up
	NotConfigured Status = "not_configured" // there was no destination; it is never sent
)

// Event is one notification. Its bytes are fixed when the state change that it reports
// is committed, and never change again.
type Event struct {
	ID           string // evt_…; follows from the body, so that no two bodies have the same
	Name         Name
	CheckoutID   string
	ProviderCode string
	OrderID      string
	RequestID    string
	CreatedAt    time.Time // UTC, to the millisecond
	Body         []byte    // the JSON envelope, as it is signed and sent
}

// Origin holds the fields of every envelope about the source of its event.
type Origin struct {
	RequestID   string // req_…
	Environment string
	CreatedAt   time.Time // any zone; what is below a millisecond is cut off
}

// Created makes the event checkout.created.
func Created(o Origin, s Subject, ddaID, contactID string) Event {
	return newEvent(CheckoutCreated, o, s, createdData{s, ddaID, contactID})
}

// Confirmed makes the event checkout.confirmed.
func Confirmed(o Origin, s Subject, ddaID, agreementID string) Event {
	return newEvent(CheckoutConfirmed, o, s, confirmedData{s, ddaID, "Confirmed", agreementID})
}

// Generated makes the event agreement.generated.
func Generated(o Origin, s Subject, agreementID, agreementNumber, documentID, agreementVersion string) Event {
	return newEvent(AgreementGenerated, o, s, generatedData{s, agreementID, agreementNumber, documentID, agreementVersion})
}

func newEvent(name Name, o Origin, s Subject, data any) Event {
	e := Event{
		Name:         name,
		CheckoutID:   s.CheckoutID,
		ProviderCode: s.ProviderCode,
		OrderID:      s.OrderID,
		RequestID:    o.RequestID,
		CreatedAt:    o.CreatedAt.UTC().Truncate(time.Millisecond),
	}
	body := envelope{
		Event:       name,
		CreatedAt:   Timestamp(e.CreatedAt),
		RequestID:   o.RequestID,
		Environment: o.Environment,
		Data:        data,
	}
	e.ID = identify(e.CreatedAt, encode(body))
	body.EventID = e.ID
	e.Body = encode(body)
	return e
}

// identify returns the identifier of the event whose body, with an empty event_id, is given: a UUID of version 8 that begins with the time,
// so that identifiers made one after the other are neighbours in an index, and goes on with a hash. A receiver takes each identifier once.
// An identifier derived from the checkout alone would make it ignore the events after the store was restored from
// a backup: the same checkout is confirmed again then, with another agreement.
func identify(at time.Time, body []byte) string {
	// The namespace was generated at random once.
	namespace := uuid.UUID{
		0xdc, 0x0d, 0xe4, 0x0c, 0x13, 0xec, 0x4a, 0xbb,
		0xb7, 0xbe, 0xce, 0x32, 0x7e, 0x2f, 0xaf, 0x12,
	}
	id, ms := uuid.NewHash(sha256.New(), namespace, body, 8), at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return "evt_" + id.String()
}

// Timestamp formats a time as the events do: ISO 8601 in UTC with exactly three decimals.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// envelope is the body of every event. Here and in the data, fields are in the
// contract's order, and are sent in that order.
type envelope struct {
	EventID     string `json:"event_id"`
	Event       Name   `json:"event"`
	CreatedAt   string `json:"created_at"`
	RequestID   string `json:"request_id"`
	Environment string `json:"environment"`
	Data        any    `json:"data"`
}

// Subject holds the data that all events have in common.
type Subject struct {
	ProviderCode  string `json:"provider_code"`
	OrderID       string `json:"provider_order_id"`
	CheckoutID    string `json:"checkout_id"`
	OpportunityID string `json:"opportunity_id"`
}

type createdData struct {
	Subject
	DDAID     string `json:"dda_id"`
	ContactID string `json:"contact_id"`
}

type confirmedData struct {
	Subject
	DDAID       string `json:"dda_id"`
	Status      string `json:"status"`
	AgreementID string `json:"payment_plan_agreement_id"`
}

type generatedData struct {
	Subject
	AgreementID      string `json:"payment_plan_agreement_id"`
	AgreementNumber  string `json:"payment_plan_agreement_number"`
	DocumentID       string `json:"pdf_content_document_id"`
	AgreementVersion string `json:"agreement_version"`
}

// encode returns e as JSON on one line. HTML characters are not escaped: an order id
// is in the body as the provider wrote it.
func encode(e envelope) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		panic("events: " + err.Error()) // cannot be: the envelope holds only strings
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// ErrAltered is the error of Read for a body that is not as it was made.
var ErrAltered = errors.New("the event_id does not follow from the body")

// Read parses the body of an event. An event's id follows from its body: the error is ErrAltered if anything was changed in it.
// That is a checksum: only a signature proves who sent it.
func Read(body []byte) (Event, error) {
	var e struct {
		ID        string  `json:"event_id"`
		Name      Name    `json:"event"`
		CreatedAt string  `json:"created_at"`
		RequestID string  `json:"request_id"`
		Data      Subject `json:"data"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return Event{}, fmt.Errorf("read the body of an event: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, e.CreatedAt)
	const field = `{"event_id":"`
	bare := strings.Replace(string(body), field+e.ID+`"`, field+`"`, 1)
	if err != nil || e.ID != identify(at, []byte(bare)) {
		return Event{}, ErrAltered
	}
	return Event{ID: e.ID, Name: e.Name, CheckoutID: e.Data.CheckoutID, ProviderCode: e.Data.ProviderCode, OrderID: e.Data.OrderID,
		RequestID: e.RequestID, CreatedAt: at.UTC(), Body: body}, nil
}
