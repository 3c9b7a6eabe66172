package checkout

import "strings"

// Code says why a request is refused. The HTTP edge has one table from Code to status and wire code.
type Code int

const (
	CodeInvalid            Code = iota + 1 // fields are missing or wrong
	CodeKeyMissing                         // no API key
	CodeKeyInvalid                         // the API key is not recognised
	CodeKeyMismatch                        // the body names another provider than the key
	CodeProviderUnknown                    // the provider has no configuration
	CodeProviderNotEnabled                 // the configuration does not allow calls
	CodeCheckoutUnknown                    // no such checkout for this provider
	CodeConflict                           // confirm's identifiers are not the checkout's
	CodeIntentConflict                     // same order or key, different canonical intent
	CodeSetupIncomplete                    // the direct debit is not set up
	CodeTokenUnknown                       // the setup token is not ours
	CodeTokenExpired                       // the setup token was ours
	CodeTermsChanged                       // the payer's page shows other direct debit terms than those of now
	CodeBusy                               // too busy now; the same request may be sent again
)

// Codes lists every code, for tables that must be complete.
func Codes() []Code {
	all := make([]Code, 0, CodeBusy)
	for c := CodeInvalid; c <= CodeBusy; c++ {
		all = append(all, c)
	}
	return all
}

// Fault is one thing wrong with one field of a request.
type Fault struct {
	Field   string // dotted path: "plan.instalment_amount"
	Message string // reads on from the field's name: "must be …"
}

// Error is a refusal: a rule of the contract says no. Sent again, the same request gets
// the same answer until something changes: what it names, the configuration, the setup, or the load.
type Error struct {
	Code    Code
	Message string
	Faults  []Fault
}

func (e *Error) Error() string {
	if len(e.Faults) == 0 {
		return e.Message
	}
	var b strings.Builder
	b.WriteString(e.Message)
	sep := ": "
	for _, f := range e.Faults {
		b.WriteString(sep + f.Field + " " + f.Message)
		sep = "; "
	}
	return b.String()
}

// Refuse makes a refusal.
func Refuse(code Code, message string, faults ...Fault) *Error {
	return &Error{Code: code, Message: message, Faults: faults}
}
