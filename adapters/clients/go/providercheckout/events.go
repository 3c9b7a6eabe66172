package providercheckout

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

const (
	// SignatureHeader is the header of an event that VerifyEvent takes.
	SignatureHeader = events.HeaderSignature
	// Tolerance is the greatest distance of an event's timestamp from the receiver's clock.
	Tolerance = 5 * time.Minute
)

// Event is a notification, as a pointer to a type such as [CheckoutCreatedEvent], or an [UnknownEvent]. A receiver takes each ID
// once, and answers 2xx to an event that it has seen before, or does not know.
type Event interface{ ID() string }

// VerifyEvent checks the signature of an event over the bytes of its body, as they came, and returns the event. now is the
// receiver's clock. The errors of the check are events.ErrMalformed, ErrMismatch and ErrTooOld.
func VerifyEvent(secret, signature string, body []byte, now time.Time) (Event, error) {
	if err := events.Verify(secret, signature, body, now, Tolerance); err != nil {
		return nil, err
	}
	return ParseEvent(body)
}

// ParseEvent reads the body of an event that is believed already, such as that of a list of events.
func ParseEvent(body []byte) (Event, error) {
	unknown := new(UnknownEvent)
	if err := json.Unmarshal(body, unknown); err != nil {
		return nil, fmt.Errorf("read an event: %w", err)
	}
	event := newEvent(unknown.Event)
	if event == nil {
		return unknown, nil
	}
	return event, json.Unmarshal(body, event)
}

// Amount is an amount of New Zealand dollars in whole cents: Amount(1250_00) is $1,250.00.
type Amount money.Cents

// String formats a with two decimals: "1250.00".
func (a Amount) String() string { return money.Cents(a).String() }

// MarshalJSON writes a as a number of dollars.
func (a Amount) MarshalJSON() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalJSON reads a number of dollars exactly.
func (a *Amount) UnmarshalJSON(text []byte) error {
	cents, err := money.Parse(string(text))
	*a = Amount(cents)
	return err
}
