package checkout

import (
	"errors"
	"slices"

	"github.com/provider-checkout/provider-checkout/catalogue"
)

// Code is the reason for a refusal: the contract's word if it has one (sections 5 and 7), and otherwise a word of the
// same kind.
type Code string

const (
	CodeValidation         Code = "VALIDATION_ERROR"              // fields are missing or wrong
	CodeMissingAPIKey      Code = "MISSING_API_KEY"               // there is no API key
	CodeInvalidAPIKey      Code = "INVALID_API_KEY"               // the API key is not recognised
	CodeKeyMismatch        Code = "PROVIDER_KEY_MISMATCH"         // the body names another provider than the key
	CodeProviderNotFound   Code = "PROVIDER_NOT_FOUND"            // the provider has no configuration
	CodeProviderNotEnabled Code = "PROVIDER_NOT_ENABLED"          // the configuration does not allow calls
	CodeCheckoutNotFound   Code = "CHECKOUT_NOT_FOUND"            // the provider has no such checkout
	CodeConflict           Code = "CONFLICT"                      // the confirm's identifiers are not the checkout's
	CodeIntentConflict     Code = "IDEMPOTENCY_CONFLICT"          // same order or key, different canonical intent
	CodeSetupIncomplete    Code = "DIRECT_DEBIT_SETUP_INCOMPLETE" // the direct debit is not set up
	CodeErased             Code = "CHECKOUT_ERASED"               // the student's data was erased before the confirm
	CodeCancelled          Code = "CHECKOUT_CANCELLED"            // the checkout was cancelled before the confirm

	// Of the setup page.
	CodeLinkUnknown  Code = "SETUP_LINK_UNKNOWN" // the setup token was not signed by one of our secrets
	CodeLinkExpired  Code = "SETUP_LINK_EXPIRED" // the setup token is authentic and has expired
	CodeTermsChanged Code = "TERMS_CHANGED"      // the payer's page shows other direct debit terms than today's

	// CodeBusy: the service could not answer in time; the same request may be sent again.
	CodeBusy Code = "BUSY"
)

// Codes lists every code, for tables that must be complete.
func Codes() []Code {
	return []Code{CodeValidation, CodeMissingAPIKey, CodeInvalidAPIKey, CodeKeyMismatch, CodeProviderNotFound,
		CodeProviderNotEnabled, CodeCheckoutNotFound, CodeConflict, CodeIntentConflict, CodeSetupIncomplete, CodeErased, CodeCancelled,
		CodeLinkUnknown, CodeLinkExpired, CodeTermsChanged, CodeBusy}
}

// Fault is one thing wrong with one field of a request.
type Fault struct {
	Field   string // dotted path: "plan.instalment_amount"
	Message string // reads on from the field's name: "must be …"
}

// Error is a refusal by a rule of the contract. The same request gets the same answer again until
// what the refusal names has changed: the configuration, the setup, or the load.
type Error struct {
	Code    Code
	Message string
	Faults  []Fault
}

// Error returns the message with every fault.
func (e *Error) Error() string {
	said, sep := e.Message, ": "
	for _, f := range e.Faults {
		said += sep + f.Field + " " + f.Message
		sep = "; "
	}
	return said
}

// Refused reports whether an error is a refusal with one of these codes; with any code if it is asked for no code.
func Refused(err error, codes ...Code) bool {
	refusal, ok := errors.AsType[*Error](err)
	return ok && (len(codes) == 0 || slices.Contains(codes, refusal.Code))
}

// Every refusal of the module is made by one of the functions below.

func refuse(code Code, message string, faults ...Fault) *Error {
	return &Error{Code: code, Message: message, Faults: faults}
}

// Malformed refuses a request that cannot be read. The message describes the fault of the whole.
func Malformed(message string, faults ...Fault) *Error {
	return refuse(CodeValidation, message, faults...)
}

func refuseFields(faults ...Fault) *Error {
	return refuse(CodeValidation, "the request has missing or invalid fields; details says what each must be", faults...)
}

// MissingAPIKey refuses a request without a key. The message explains how to send one.
func MissingAPIKey(message string) *Error { return refuse(CodeMissingAPIKey, message) }

// InvalidAPIKey refuses a request with an unknown, revoked or foreign key. The message is the same for all of them.
func InvalidAPIKey() *Error {
	return refuse(CodeInvalidAPIKey,
		"the API key is not recognised; it must be a key of this environment that is not revoked")
}

// RepeatedAPIKey refuses a request with more than one Authorization header.
func RepeatedAPIKey() *Error {
	return refuse(CodeInvalidAPIKey, "there must be one Authorization header, not several")
}

func refuseKeyMismatch() *Error {
	return refuse(CodeKeyMismatch, "the API key does not belong to this provider_code; send the one that the key was issued to",
		Fault{FieldProviderCode, "does not match the API key; every letter counts, its case too"})
}

func refuseUnknownProvider() *Error {
	return refuse(CodeProviderNotFound, "this provider has no configuration; ask the operator")
}

func refuseProviderNotEnabled(reason error) *Error {
	return refuse(CodeProviderNotEnabled, reason.Error()+"; ask the operator")
}

// CheckoutNotFound refuses an id that is not of a checkout of the caller, even if it is of another provider's.
func CheckoutNotFound() *Error {
	return refuse(CodeCheckoutNotFound,
		"there is no checkout with this id; send the checkout.checkout_id that your create answered")
}

func refuseKeyTaken() *Error {
	return refuse(CodeIntentConflict, "this Idempotency-Key belongs to another order; nothing was changed: use a key for one order only",
		Fault{FieldIdempotencyKey, "was used to create the checkout of another order"},
		Fault{FieldOrderID, "is not the order that the Idempotency-Key belongs to"})
}

func refuseIntent(differing []Fault) *Error {
	return refuse(CodeIntentConflict,
		"this order already has a checkout with a different enrolment intent; nothing was changed: "+
			"send the first intent again, or use a new provider_order_id", differing...)
}

func refuseIdentifiers(differing []Fault) *Error {
	return refuse(CodeConflict, "the identifiers are not those of this checkout; send what its create answered", differing...)
}

func refuseToken() *Error {
	return refuse(CodeConflict, "checkout_token is not the latest one of this checkout; send the create again to get it",
		Fault{FieldCheckoutToken, "is not the latest token; send direct_debit.token of the latest answer to the create"})
}

func refuseSetupIncomplete() *Error {
	return refuse(CodeSetupIncomplete,
		"the direct debit is not set up, or its mandate has ended; poll the checkout until direct_debit.setup_complete is true")
}

func refuseErased() *Error {
	return refuse(CodeErased, "the student's details were erased from this checkout before it was confirmed, and it cannot go on; "+
		"open a new one with a new provider_order_id")
}

// CheckoutCancelled refuses to go on with a checkout that was cancelled.
func CheckoutCancelled() *Error {
	return refuse(CodeCancelled, "this checkout was cancelled, and its order stays taken; open a new one with a new provider_order_id")
}

func refuseCancel() *Error {
	return refuse(CodeConflict, "this checkout is confirmed and cannot be cancelled; ask the operator to withdraw its agreement")
}

func refuseMandate() *Error {
	return refuse(CodeSetupIncomplete, "the direct debit mandate cannot be confirmed in its present status; "+
		"poll the checkout until it is pending_submission, submitted or active")
}

// RefusedByCRM returns the refusal of a create of which the CRM cannot take values that the request gave; nil without any. A catalogue's
// own values are the operator's concern.
func (c Create) RefusedByCRM(faults []Fault) error {
	given := []string{FieldOrderID, FieldFirstName, FieldLastName, FieldEmail, FieldFrequency, FieldFirstPayment}
	if c.mode() == catalogue.Legacy {
		given = append(given, FieldCourseName, FieldPrice, FieldPrincipal, FieldUpfront, FieldNumber, FieldRegular, FieldFinal)
	}
	faults = slices.DeleteFunc(slices.Clone(faults), func(f Fault) bool {
		left := f.Field == FieldFirstName && !c.FirstName.Given || f.Field == FieldFinal && !c.Final.Given
		return left || !slices.Contains(given, f.Field)
	})
	if len(faults) == 0 {
		return nil
	}
	return refuse(CodeValidation, "the CRM that keeps the enrolments does not take these values; details says which", faults...)
}

// LinkUnknown refuses a setup token that was not signed by one of our secrets, or whose checkout does not exist.
func LinkUnknown() *Error { return refuse(CodeLinkUnknown, "there is no such page") }

func refuseLinkExpired() *Error { return refuse(CodeLinkExpired, "this page has expired") }

func refuseTermsChanged() *Error {
	return refuse(CodeTermsChanged, "the terms or the plan have changed since this page was opened")
}

// Busy refuses a request that could not be served in time, and may be sent again.
func Busy() *Error {
	return refuse(CodeBusy, "the service is busy; wait as long as Retry-After says and send the same request again")
}
