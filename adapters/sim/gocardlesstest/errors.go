package gocardlesstest

import (
	"fmt"
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
	faults  []faultWire
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s: %s", e.status, e.kind, e.message) }

// reason returns the first fault's reason, or the error's type.
func (e *apiError) reason() string {
	if len(e.faults) > 0 && e.faults[0].Reason != "" {
		return e.faults[0].Reason
	}
	return e.kind
}

func (e *apiError) toWire(requestID string) errorWire {
	faults := e.faults
	if faults == nil {
		faults = []faultWire{}
	}
	return errorWire{errorBodyWire{Message: e.message, Type: e.kind, Code: e.status, RequestID: requestID, Errors: faults,
		DocumentationURL: "https://developer.gocardless.com/api-reference#" + e.reason()}}
}

// usage is an error of how the API is called.
func usage(status int, reason, message string) *apiError {
	return &apiError{status, typeInvalidAPIUsage, message, []faultWire{{Message: message, Reason: reason}}}
}

// wrongState is an error of a resource with which this cannot be done.
func wrongState(reason, message string) *apiError {
	return &apiError{http.StatusUnprocessableEntity, typeInvalidState, message, []faultWire{{Message: message, Reason: reason}}}
}

func notFound() *apiError {
	return usage(http.StatusNotFound, "resource_not_found", "Resource not found")
}

// conflict says that the idempotency key has led to a resource before.
func conflict(id string) *apiError {
	const message = "A resource has already been created with this idempotency key"
	return &apiError{http.StatusConflict, typeInvalidState, message, []faultWire{
		{Message: message, Reason: "idempotent_creation_conflict", Links: map[string]string{"conflicting_resource_id": id}}}}
}

func rateLimited() *apiError {
	return usage(http.StatusTooManyRequests, "rate_limit_reached", "Rate limit exceeded")
}

func internalError() *apiError {
	const message = "Uh-oh, something went wrong on our end"
	return &apiError{http.StatusInternalServerError, typeGoCardless, message,
		[]faultWire{{Message: message, Reason: "internal_server_error"}}}
}

// invalid is an error of values; faults says of which.
func invalid(faults ...faultWire) *apiError {
	return &apiError{http.StatusUnprocessableEntity, typeValidationFailed, "Validation failed", faults}
}
