package gocardless

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/ports"
)

// errInvalidState is a call that the resource's present state does not allow.
var errInvalidState = errors.New("invalid_state")

// apiError is an answer that is no success. It repeats GoCardless' own words for the kind of the error, never a message
// or a value, which may be a payer's.
type apiError struct {
	status      int
	kind        string   // "validation_failed", or the whole error where that is a string
	reasons     []string // of its parts, with the field's name where there is one
	requestID   string   // for GoCardless' support
	conflicting string   // the id of the resource that the idempotency key made before
}

func newAPIError(status int, body []byte) error {
	e := &apiError{status: status}
	var w errorWire
	var word string
	var details errorDetailsWire
	switch {
	case json.Unmarshal(body, &w) != nil:
		return e
	case json.Unmarshal(w.Error, &word) == nil:
		e.kind = outbound.Word(word)
		return e
	case json.Unmarshal(w.Error, &details) != nil:
		return e
	}
	e.kind, e.requestID = outbound.Word(details.Type), outbound.Word(details.RequestID)
	for _, part := range details.Errors {
		if reason := strings.TrimSpace(outbound.Word(part.Field) + " " + outbound.Word(part.Reason)); reason != "" && len(e.reasons) < maxReasons {
			e.reasons = append(e.reasons, reason)
		}
		if part.Reason == "idempotent_creation_conflict" {
			e.conflicting = outbound.Word(part.Links.Conflicting)
		}
	}
	return e
}

const maxReasons = 10

func (e *apiError) Error() string {
	text := fmt.Sprintf("GoCardless answered %d", e.status)
	if e.status == http.StatusUnauthorized {
		text = "GoCardless refuses the access token: 401"
	}
	text = strings.TrimSpace(text + " " + e.kind)
	if len(e.reasons) > 0 {
		text += " (" + strings.Join(e.reasons, ", ") + ")"
	}
	if e.requestID != "" {
		text += ", request " + e.requestID
	}
	return text
}

// Is reports whether the error means what a port's error means.
func (e *apiError) Is(target error) bool {
	switch target {
	case errInvalidState:
		return e.kind == "invalid_state"
	case ports.ErrNotFound:
		return e.status == http.StatusNotFound
	case ports.ErrBusy:
		return e.status == http.StatusTooManyRequests
	}
	return false
}

// transient reports whether a call may be sent again. After a refusal for the rate limit the budget has it wait longer, unless a
// person waits for it.
func transient(err error) bool {
	if refused, ok := errors.AsType[*apiError](err); ok {
		return refused.status >= 500 || refused.status == http.StatusTooManyRequests
	}
	return errors.As(err, new(*outbound.Lost))
}
