package events

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
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

// MaxAttempts is the number of attempts of one delivery run.
const MaxAttempts = 3

// Delay returns how long to wait before an attempt, counted from 1 to MaxAttempts: 0, 250
// and 750 ms. It panics on any other attempt.
func Delay(attempt int) time.Duration {
	delays := [MaxAttempts]time.Duration{0, 250 * time.Millisecond, 750 * time.Millisecond}
	return delays[attempt-1]
}

// Sign returns the value of X-Service-Signature for body, signed at the given time:
// t=<unix seconds>,v1=<lower-case hex of HMAC-SHA256(secret, "<t>.<body>")>.
func Sign(secret string, at time.Time, body []byte) string {
	t := unixSeconds(at)
	return "t=" + t + ",v1=" + hex.EncodeToString(digest(secret, t, body))
}

// digest returns the HMAC of a body that is signed at t. The key is the secret's bytes as they are.
func digest(secret, t string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

func unixSeconds(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// Why Verify refuses a delivery.
var (
	ErrMalformed = errors.New("signature header is malformed")
	ErrMismatch  = errors.New("signature does not match")
	ErrTooOld    = errors.New("signature is outside the tolerance")
)

// Verify checks a signature header against the raw body, in constant time. now is the
// receiver's clock; a timestamp further from it than tolerance, on either side, is
// ErrTooOld. A header that Sign could not have written is ErrMalformed. The signature is
// looked at before the time, so that ErrTooOld means a genuine delivery. An empty secret
// matches nothing.
func Verify(secret, header string, body []byte, now time.Time, tolerance time.Duration) error {
	t, signature, err := parseSignature(header)
	switch {
	case err != nil:
		return err
	case secret == "" || !hmac.Equal(signature, digest(secret, unixSeconds(t), body)):
		return ErrMismatch
	case now.Sub(t).Abs() > tolerance:
		return ErrTooOld
	}
	return nil
}

// parseSignature reads t=<unix seconds>,v1=<64 digits of lower-case hex>.
func parseSignature(header string) (t time.Time, signature []byte, err error) {
	before, after, _ := strings.Cut(header, ",")
	text, timed := strings.CutPrefix(before, "t=")
	digits, signed := strings.CutPrefix(after, "v1=")
	seconds, err := strconv.ParseInt(text, 10, 64)
	if !timed || !signed || err != nil || strconv.FormatInt(seconds, 10) != text {
		return time.Time{}, nil, ErrMalformed
	}
	signature, err = hex.DecodeString(digits)
	if err != nil || len(signature) != sha256.Size || strings.ToLower(digits) != digits {
		return time.Time{}, nil, ErrMalformed
	}
	return time.Unix(seconds, 0), signature, nil
}

// Delivery is one run of attempts to deliver an event. All of them send the same
// body, timestamp and signature; only the attempt's number differs.
type Delivery struct {
	Event     Event
	Timestamp time.Time
	Signature string
}

// NewDelivery signs e, as Sign does, for one run that starts at the given time.
func NewDelivery(e Event, secret string, at time.Time) Delivery {
	return Delivery{Event: e, Timestamp: at, Signature: Sign(secret, at, e.Body)}
}

// Header returns the names and values of the headers of one attempt, counted from 1:
// the headers of the contract, section 6, with X-Request-Id only where the request's id is known.
func (d Delivery) Header(attempt int) map[string]string {
	h := map[string]string{
		HeaderEvent:       string(d.Event.Name),
		HeaderEventID:     d.Event.ID,
		HeaderTimestamp:   unixSeconds(d.Timestamp),
		HeaderSignature:   d.Signature,
		HeaderAttempt:     strconv.Itoa(attempt),
		HeaderMaxAttempts: strconv.Itoa((attempt + MaxAttempts - 1) / MaxAttempts * MaxAttempts), // the last of its run
	}
	if d.Event.RequestID != "" {
		h[HeaderRequestID] = d.Event.RequestID
	}
	return h
}
