package events

import (
	"bytes"
	"encoding/json"
	"time"
)

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
