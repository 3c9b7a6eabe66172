package gocardlesstest

import (
	"net/http"
)

// Types of errors.
const (
	typeGoCardless       = "gocardless"
	typeInvalidAPIUsage  = "invalid_api_usage"
	typeInvalidState     = "invalid_state"
	typeValidationFailed = "validation_failed"
)

// apiError is an answer of the API that is not what was asked for.
type apiError struct {
	status  int
	kind    string // one of the types
	message string
	faults  []fault // at least one
}

func (e *apiError) toWire(requestID string) object {
	reason := e.faults[0].Reason
	if reason == "" {
		reason = e.kind
	}
	return object{"error": object{"message": e.message, "type": e.kind, "code": e.status, "request_id": requestID,
		"errors": e.faults, "documentation_url": "https://developer.gocardless.com/api-reference#" + reason}}
}

// because returns an error with one reason.
func because(status int, kind, reason, message string) *apiError {
	return &apiError{status, kind, message, []fault{{Message: message, Reason: reason}}}
}

// usage is an error of how the API is called.
func usage(status int, reason, message string) *apiError {
	return because(status, typeInvalidAPIUsage, reason, message)
}

// wrongState is an error of a resource with which this cannot be done.
func wrongState(reason, message string) *apiError {
	return because(http.StatusUnprocessableEntity, typeInvalidState, reason, message)
}

func notFound() *apiError {
	return usage(http.StatusNotFound, "resource_not_found", "Resource not found")
}

// conflict says that the idempotency key has led to a resource before.
func conflict(id string) *apiError {
	e := because(http.StatusConflict, typeInvalidState, "idempotent_creation_conflict",
		"A resource has already been created with this idempotency key")
	e.faults[0].Links = map[string]string{"conflicting_resource_id": id}
	return e
}

func rateLimited() *apiError {
	return usage(http.StatusTooManyRequests, "rate_limit_reached", "Rate limit exceeded")
}
