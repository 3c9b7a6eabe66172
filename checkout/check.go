package checkout

import (
	"fmt"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// idempotencyKey reports a header that cannot be an idempotency key (section 8).
func (k *checker) idempotencyKey(v Optional[string]) {
	key := v.Value
	switch {
	case !v.Given:
		return
	case key == "":
		k.fault(FieldIdempotencyKey, "must not be empty: leave the header out to use the order id")
	case len(key) > text.Max:
		k.fault(FieldIdempotencyKey, "must be at most %d characters, not %d", text.Max, len(key))
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		k.fault(FieldIdempotencyKey, "must be visible ASCII characters only")
	}
}

// checker collects the faults of a request, at most one for each field: the first one counts.
type checker struct{ faults []Fault }

// newChecker returns a checker that has reported every field that could not be read.
func newChecker(fields ...interface{ fault() *Fault }) *checker {
	k := &checker{}
	for _, f := range fields {
		if malformed := f.fault(); malformed != nil {
			k.fault(malformed.Field, "%s", malformed.Message)
		}
	}
	return k
}

// failed reports whether the field, or the section that contains it, has a fault already.
func (k *checker) failed(field string) bool {
	for _, f := range k.faults {
		if f.Field == field || strings.HasPrefix(field, f.Field+".") {
			return true
		}
	}
	return false
}

func (k *checker) fault(field, format string, args ...any) {
	if !k.failed(field) {
		k.faults = append(k.faults, Fault{field, fmt.Sprintf(format, args...)})
	}
}

func (k *checker) err() error {
	if len(k.faults) == 0 {
		return nil
	}
	return refuseFields(k.faults...)
}

// require reports a field that is missing, and otherwise reports whether the field is without fault.
func require[T any](k *checker, field string, v Optional[T]) bool {
	if !v.Given {
		k.fault(field, "is required%s", v.hint())
	}
	return !k.failed(field)
}

// text reports a required text with what check finds wrong with it.
func (k *checker) text(field string, v Optional[string], check func(string) string) {
	if !require(k, field, v) {
		return
	}
	if fault := check(v.Value); fault != "" {
		k.fault(field, "%s", fault)
	}
}

func (k *checker) only(field string, v Optional[string], want string) {
	if v.Given && v.Value != want {
		k.fault(field, "must be %q", want)
	}
}

// amount reports a required amount that is not from least to money.Max, and otherwise reports whether it is
// without fault.
func (k *checker) amount(field string, v Optional[money.Cents], least money.Cents) bool {
	return require(k, field, v) && k.inRange(field, v, least)
}

func (k *checker) inRange(field string, v Optional[money.Cents], least money.Cents) bool {
	switch {
	case !v.Given:
	case v.Value < 0:
		k.fault(field, "%v", money.ErrNegative)
	case v.Value < least:
		k.fault(field, "must be above zero")
	case v.Value > money.Max:
		k.fault(field, "%v", money.ErrTooLarge)
	}
	return !k.failed(field)
}

func (k *checker) date(field string, v Optional[money.Date]) {
	if require(k, field, v) && !v.Value.Valid() {
		k.fault(field, "%v", money.ErrDate)
	}
}

// accepted reports a declaration that is not made.
func (k *checker) accepted(field string, v Optional[bool]) {
	if !v.Value {
		k.fault(field, "must be true%s", v.hint())
	}
}

// Optional is the value of a field of a request. The zero Optional is a field that was not sent.
type Optional[T any] struct {
	Value T
	Given bool

	malformed *Fault      // why a value that was sent could not be read; then Given is false
	suggest   *suggestion // for a field that was not sent: what else in the request may have been meant for it
}

type suggestion func() string

// Some returns a value that was given.
func Some[T any](v T) Optional[T] { return Optional[T]{Value: v, Given: true} }

// Unreadable returns a field that was sent and could not be read. The fault names the field, or the section that
// contains it, and is reported instead of a missing field.
func Unreadable[T any](f Fault) Optional[T] { return Optional[T]{malformed: &f} }

// Missing returns a field that was not sent. suggest is called for the message that says so, and returns a question
// such as `is "emial" a misspelling of it?`, or "".
func Missing[T any](suggest func() string) Optional[T] {
	s := suggestion(suggest)
	return Optional[T]{suggest: &s}
}

func (o Optional[T]) fault() *Fault { return o.malformed }

// hint returns what to append to a message about the missing field.
func (o Optional[T]) hint() string {
	if o.suggest != nil {
		if suggestion := (*o.suggest)(); suggestion != "" {
			return "; " + suggestion
		}
	}
	return ""
}

// The names of the fields of requests as dotted paths (contract, sections 2.1 and 2.4). A refusal names a field by
// its path, and the JSON API reads it from there.
const (
	FieldIdempotencyKey = "Idempotency-Key" // the header

	FieldProviderCode = "provider.provider_code"
	FieldOrderID      = "provider.provider_order_id"

	FieldFirstName = "student.first_name"
	FieldLastName  = "student.last_name"
	FieldEmail     = "student.email"

	FieldCourseCode = "course.course_code"
	FieldCourseName = "course.course_name"

	FieldPrice     = "pricing.course_price"
	FieldPrincipal = "pricing.amount_to_finance"
	FieldUpfront   = "pricing.upfront_payment"

	FieldPaymentType  = "plan.payment_type"
	FieldFrequency    = "plan.payment_frequency"
	FieldNumber       = "plan.number_of_instalments"
	FieldRegular      = "plan.instalment_amount"
	FieldFinal        = "plan.final_instalment_amount"
	FieldFirstPayment = "plan.first_payment_date"

	FieldCheckoutID    = "checkout.checkout_id"
	FieldCheckoutToken = "checkout.checkout_token"
	FieldOpportunityID = "checkout.opportunity_id"
	FieldDDAID         = "checkout.dda_id"

	FieldPaymentMethod      = "payment.payment_method"
	FieldAgreedFirstPayment = "payment.first_payment_date"
	FieldDepositConfirmed   = "payment.deposit_confirmed"

	FieldReason = "reason" // of a cancel

	// Of the lists, in the query.
	FieldAfter   = "after"
	FieldLimit   = "limit"
	FieldOfOrder = "provider_order_id"

	FieldPlanAccepted         = "declarations.payment_plan_accepted"
	FieldInformationConfirmed = "declarations.information_confirmed"
	FieldPrivacyAccepted      = "declarations.privacy_consent_accepted"
)

// Authenticate decides whether an API key lets its holder in: found is the key on record, or nil.
func Authenticate(found *catalogue.Key, env catalogue.Environment, now time.Time) error {
	if found == nil || !found.RevokedAt.IsZero() || found.Environment != env ||
		!found.ExpiresAt.IsZero() && !now.Before(found.ExpiresAt) {
		return InvalidAPIKey()
	}
	return nil
}

// Admit decides whether a caller may use the service (section 5, rules 2 and 6). keyProvider is the provider of the API key, named
// is the provider in the request, and p is its configuration, or nil.
func Admit(keyProvider string, named Optional[string], p *catalogue.Provider, env catalogue.Environment) error {
	switch {
	case named.Given && named.Value != keyProvider:
		return refuseKeyMismatch()
	case p == nil:
		return refuseUnknownProvider()
	}
	if reason := p.Usable(env); reason != nil {
		return refuseProviderNotEnabled(reason)
	}
	return nil
}
