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

const maxReasons = 10

func newAPIError(status int, body []byte) *apiError {
	var w errorWire
	if json.Unmarshal(body, &w) != nil {
		var text stringErrorWire
		_ = json.Unmarshal(body, &text)
		return &apiError{status: status, kind: outbound.Word(text.Error)}
	}
	e := &apiError{status: status, kind: outbound.Word(w.Error.Type), requestID: outbound.Word(w.Error.RequestID)}
	for _, part := range w.Error.Errors {
		if reason := strings.TrimSpace(outbound.Word(part.Field) + " " + outbound.Word(part.Reason)); reason != "" && len(e.reasons) < maxReasons {
			e.reasons = append(e.reasons, reason)
		}
		if part.Reason == "idempotent_creation_conflict" {
			e.conflicting = outbound.Word(part.Links.Conflicting)
		}
	}
	return e
}

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

// transient reports whether a call may be sent again.
func transient(err error) bool {
	refused, ok := errors.AsType[*apiError](err)
	return ok && (refused.status >= 500 || refused.status == http.StatusTooManyRequests) || errors.As(err, new(*outbound.Lost))
}
