package salesforcetest

import (
	"fmt"
	"net/http"
	"strings"
)

// Codes of errors.
const (
	codeBadJSON           = "JSON_PARSER_ERROR"
	codeBadPicklist       = "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST"
	codeCrossReference    = "INVALID_CROSS_REFERENCE_KEY"
	codeDeleted           = "ENTITY_IS_DELETED"
	codeDuplicates        = "DUPLICATES_DETECTED"
	codeDuplicateValue    = "DUPLICATE_VALUE"
	codeHalted            = "PROCESSING_HALTED"
	codeInvalidField      = "INVALID_FIELD"
	codeInvalidForWrite   = "INVALID_FIELD_FOR_INSERT_UPDATE"
	codeInvalidSession    = "INVALID_SESSION_ID"
	codeInvalidType       = "INVALID_TYPE"
	codeLimitExceeded     = "LIMIT_EXCEEDED"
	codeLockedRow         = "UNABLE_TO_LOCK_ROW"
	codeMalformedID       = "MALFORMED_ID"
	codeMalformedQuery    = "MALFORMED_QUERY"
	codeMethodNotAllowed  = "METHOD_NOT_ALLOWED"
	codeNotFound          = "NOT_FOUND"
	codeNumberRange       = "NUMBER_OUTSIDE_VALID_RANGE"
	codeQueryLocator      = "INVALID_QUERY_LOCATOR"
	codeRequestLimit      = "REQUEST_LIMIT_EXCEEDED"
	codeRequired          = "REQUIRED_FIELD_MISSING"
	codeServerUnavailable = "SERVER_UNAVAILABLE"
	codeStringTooLong     = "STRING_TOO_LONG"
	codeUnknownException  = "UNKNOWN_EXCEPTION"
	codeUnsupportedMedia  = "UNSUPPORTED_MEDIA_TYPE"
	codeValidation        = "FIELD_CUSTOM_VALIDATION_EXCEPTION"
)

// fault is one thing that is wrong with a call.
type fault struct {
	code       string
	message    string
	fields     []string // nil where it is not about a record
	duplicates *duplicateResultWire
}

// apiError is an answer of the API that is not what was asked for.
type apiError struct {
	status  int
	faults  []fault
	choices []string // the addresses of the records that are meant, of status 300
}

func (e *apiError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.status, e.faults[0].code, e.faults[0].message)
}

func failure(status int, code, format string, args ...any) *apiError {
	return &apiError{status: status, faults: []fault{{code: code, message: fmt.Sprintf(format, args...)}}}
}

// refused is an error of a record's values.
func refused(faults ...fault) *apiError {
	return &apiError{status: http.StatusBadRequest, faults: faults}
}

// about is a fault of some fields of a record, or of the whole record without fields.
func about(code, message string, fields ...string) fault {
	return fault{code: code, message: message, fields: append([]string{}, fields...)}
}

func notFound() *apiError {
	return failure(http.StatusNotFound, codeNotFound, "The requested resource does not exist")
}

func badJSON(format string, args ...any) *apiError {
	return failure(http.StatusBadRequest, codeBadJSON, format, args...)
}

func requestLimit() *apiError {
	return failure(http.StatusForbidden, codeRequestLimit, "TotalRequests Limit exceeded.")
}

func duplicateValue(field *Field, id string) fault {
	return about(codeDuplicateValue, "duplicate value found: "+field.Name+" duplicates value on record with id: "+id)
}

func halted(message string) *apiError {
	return failure(http.StatusBadRequest, codeHalted, "%s", message)
}

func unknownColumn(name, object string) fault {
	return fault{code: codeInvalidField, message: "No such column '" + name + "' on sobject of type " + object}
}

func methodNotAllowed(method string, allowed []string) *apiError {
	return failure(http.StatusMethodNotAllowed, codeMethodNotAllowed, "HTTP Method '%s' not allowed. Allowed are %s", method,
		strings.Join(allowed, ","))
}

// multiple is the error of an external id that several records have.
func multiple(path string, field *Field, found []*record) *apiError {
	err := failure(http.StatusMultipleChoices, "DUPLICATE_EXTERNAL_ID", "%s: more than one record found for external id field", field.Name)
	for _, r := range found {
		err.choices = append(err.choices, r.url(versionOf(path)))
	}
	return err
}

// toWire gives an error the form of an answer.
func (e *apiError) toWire() any {
	if e.choices != nil {
		return e.choices
	}
	wires := make([]errorWire, len(e.faults))
	for i, f := range e.faults {
		wires[i] = errorWire{Message: f.message, ErrorCode: f.code, Fields: f.fields, DuplicateResult: f.duplicates}
	}
	return wires
}
