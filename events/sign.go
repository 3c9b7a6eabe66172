package events

import (
	"errors"
	"time"
)

// Header names of a delivery.
const (
	HeaderEvent       = "X-Service-Event"
	HeaderEventID     = "X-Service-Event-Id"
	HeaderTimestamp   = "X-Service-Timestamp"
	HeaderSignature   = "X-Service-Signature"
	HeaderAttempt     = "X-Service-Delivery-Attempt"
	HeaderMaxAttempts = "X-Service-Delivery-Max-Attempts"
	HeaderRequestID   = "X-Request-Id"
)

// MaxAttempts is how often one delivery run tries.
const MaxAttempts = 3

// Delay returns how long to wait before an attempt, counted from 1: 0, 250 and 750 ms.
func Delay(attempt int) time.Duration { panic("todo") }

// Sign returns the value of X-Service-Signature for body, signed at the given time:
// t=<unix seconds>,v1=<lower-case hex of HMAC-SHA256(secret, "<t>.<body>")>.
func Sign(secret string, at time.Time, body []byte) string { panic("todo") }

// Why Verify refuses a delivery.
var (
	ErrMalformed = errors.New("signature header is malformed")
	ErrMismatch  = errors.New("signature does not match")
	ErrTooOld    = errors.New("signature is outside the tolerance")
)

// Verify checks a signature header against the raw body, in constant time. now is the
// receiver's clock; a timestamp further from it than tolerance is ErrTooOld.
func Verify(secret, header string, body []byte, now time.Time, tolerance time.Duration) error {
	panic("todo")
}

// Delivery is one run of attempts to deliver an event. All of them send the same
// body, timestamp and signature; only the attempt's number differs.
type Delivery struct {
	Event     Event
	Timestamp time.Time
	Signature string
}

// NewDelivery signs e for one run that starts at the given time.
func NewDelivery(e Event, secret string, at time.Time) Delivery {
	return Delivery{e, at, Sign(secret, at, e.Body)}
}

// Header returns the names and values of the headers of one attempt, counted from 1.
func (d Delivery) Header(attempt int) map[string]string { panic("todo") }
