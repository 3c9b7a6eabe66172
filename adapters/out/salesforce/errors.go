package salesforce

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Codes of errors on which something depends.
const (
	codeInvalidSession = "INVALID_SESSION_ID"
	codeDuplicateValue = "DUPLICATE_VALUE"
	codeLockedRow      = "UNABLE_TO_LOCK_ROW"
	codeRequestLimit   = "REQUEST_LIMIT_EXCEEDED"
	codeHalted         = "PROCESSING_HALTED" // another part has failed, or what the part refers to is not there
	codeTooLong        = "STRING_TOO_LONG"
	codeSeveral        = "DUPLICATE_EXTERNAL_ID" // as Salesforce calls it elsewhere
)

// apiError is an answer, or a part of one, that is no success. It repeats Salesforce's codes and names of fields, never a
// message or a value, which may be a student's.
type apiError struct {
	status int
	faults []fault
	object string // of the record that it is about, if it is about one
	look   bool   // it is about a look at what there is, or about the client, and says nothing of what was to be stored
}

// fault is one thing that is wrong.
type fault struct {
	code   string
	fields []string
	length string // the most characters that the field takes, where the message says it
	atOnce bool   // of codeRequestLimit: there are too many calls at once
}

// maxFaults bounds how much of an error is kept.
const maxFaults = 10

var lengthPattern = regexp.MustCompile(`\(max length=([0-9]{1,6})\)$`)

func newAPIError(status int, body []byte) *apiError {
	e := &apiError{status: status}
	var wires []errorWire
	if status < 300 || json.Unmarshal(body, &wires) != nil {
		return e
	}
	for _, w := range wires[:min(len(wires), maxFaults)] {
		f := fault{code: outbound.Word(w.ErrorCode), atOnce: strings.HasPrefix(w.Message, "Concurrent")}
		for _, name := range w.Fields[:min(len(w.Fields), maxFaults)] {
			f.fields = append(f.fields, outbound.Word(name))
		}
		if length := lengthPattern.FindStringSubmatch(w.Message); length != nil && f.code == codeTooLong {
			f.length = length[1]
		}
		e.faults = append(e.faults, f)
	}
	return e
}

func (e *apiError) Error() string {
	text := fmt.Sprintf("Salesforce answered %d", e.status)
	if e.object != "" {
		text = e.object + ": " + text
	}
	for _, f := range e.faults {
		text += strings.TrimRight(" "+f.code+" "+strings.Join(f.fields, " "), " ")
	}
	return text
}

func (e *apiError) has(code string) bool {
	return slices.ContainsFunc(e.faults, func(f fault) bool { return f.code == code })
}

// usedUp reports whether the organisation's daily limit of calls is used up. That too many calls were made at once has the
// same code, and another message.
func (e *apiError) usedUp() bool {
	return slices.ContainsFunc(e.faults, func(f fault) bool { return f.code == codeRequestLimit && !f.atOnce })
}

// definite reports whether the same call would be refused again. A token that is not taken says nothing of what was to be stored.
func (e *apiError) definite() bool {
	_, again := e.retry()
	return e.status >= 300 && !again && !e.look && !e.usedUp() && len(e.faults) > 0 && e.status != http.StatusUnauthorized
}

// throttled reports whether a call was refused for the number of calls, or because Salesforce has too much to do.
func (e *apiError) throttled() bool {
	return e.has(codeRequestLimit) || e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable
}

// Is reports whether the error means what a port's error means.
func (e *apiError) Is(target error) bool {
	return target == ports.ErrBusy && (e.has(codeRequestLimit) || e.status == http.StatusTooManyRequests)
}

// inRecord says which object an error of a call is about.
func inRecord(object string, err error) error {
	if refused, ok := errors.AsType[*apiError](err); ok {
		refused.object = object
	}
	return err
}

// ofLook says that an error of a call is about a look at what there is.
func ofLook(err error) error {
	if refused, ok := errors.AsType[*apiError](err); ok {
		refused.look = true
	}
	return err
}
