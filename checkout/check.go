package checkout

import (
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// Normalized returns the command with its names in Unicode NFC and without white space around them, so that two
// spellings that look the same mean the same. Identifiers stay as they came.
func (c Create) Normalized() Create {
	for _, name := range []*Optional[string]{&c.FirstName, &c.LastName, &c.CourseName} {
		name.Value = text.Normalize(name.Value)
	}
	return c
}

// Check returns nil, or a VALIDATION_ERROR with every fault of a normalised command that can be found without looking
// anything up. Decide checks it against the catalogue. An accepted command has text that can be stored, real dates,
// amounts from one cent (an upfront payment: from zero) to money.Max, and a plan that sums to the principal.
func (c Create) Check(mode catalogue.Mode) error {
	k := newChecker(c.IdempotencyKey, c.ProviderCode, c.OrderID, c.FirstName, c.LastName, c.Email, c.CourseCode, c.CourseName,
		c.Price, c.Principal, c.Upfront, c.PaymentType, c.Frequency, c.Number, c.Regular, c.Final, c.First)
	k.idempotencyKey(c.IdempotencyKey)
	k.text(FieldProviderCode, c.ProviderCode, text.Check)
	k.text(FieldOrderID, c.OrderID, text.Check)
	k.text(FieldFirstName, c.FirstName, checkName)
	k.text(FieldLastName, c.LastName, checkName)
	k.text(FieldEmail, c.Email, text.CheckEmail)
	if mode == catalogue.Authoritative {
		k.text(FieldCourseCode, c.CourseCode, text.Check)
	} else {
		c.checkLegacy(k)
	}
	k.only(FieldPaymentType, c.PaymentType, PaymentType)
	if require(k, FieldFrequency, c.Frequency) && !money.Frequency(c.Frequency.Value).Valid() {
		k.fault(FieldFrequency, "must be %q, %q or %q", money.Weekly, money.Fortnightly, money.Monthly)
	}
	k.date(FieldFirstPayment, c.First)
	return k.err()
}

// CheckEither is Check for a provider of this mode, but accepts a command that only the other mode allows: it may replay
// an order that the provider opened before its mode changed. Decide refuses any other.
func (c Create) CheckEither(mode catalogue.Mode) error {
	refusal := c.Check(mode)
	if refusal != nil && c.mode() != mode && c.Check(c.mode()) == nil {
		return nil
	}
	return refusal
}

// checkName returns what is wrong with a name, or "".
func checkName(name string) string {
	if text.Normalize(name) != name {
		return "must be in Unicode NFC, without white space around it"
	}
	return text.CheckName(name)
}

// Warnings names every field of the create that holds characters which the agreement cannot show but by their number, such as
// an emoji: unprintable returns such characters of a text. The create is taken all the same.
func (c Create) Warnings(unprintable func(text string) []rune) (warnings []Fault) {
	for _, v := range []struct{ field, value string }{
		{FieldOrderID, c.OrderID.Value}, {FieldFirstName, c.FirstName.Value}, {FieldLastName, c.LastName.Value},
		{FieldEmail, c.Email.Value}, {FieldCourseCode, c.CourseCode.Value}, {FieldCourseName, c.CourseName.Value},
	} {
		if named := text.Named(unprintable(v.value)); named != "" {
			warnings = append(warnings, Fault{Field: v.field, Message: "holds " + named + ", which the agreement can only show by number"})
		}
	}
	return warnings
}

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
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			k.fault(FieldIdempotencyKey, "must be visible ASCII characters only")
			return
		}
	}
}

// checkLegacy reports what is wrong with the commercial fields of a provider without a catalogue.
func (c Create) checkLegacy(k *checker) {
	if c.CourseCode.Given {
		k.fault(FieldCourseCode, "must not be sent: this provider has no catalogue")
	}
	k.text(FieldCourseName, c.CourseName, checkName)
	price := k.amount(FieldPrice, c.Price, 0)
	principal := k.amount(FieldPrincipal, c.Principal, 1)
	upfront := k.amount(FieldUpfront, c.Upfront, 0)
	if sum := c.Upfront.Value + c.Principal.Value; price && principal && upfront && c.Price.Value != sum {
		k.fault(FieldPrice, "must be upfront_payment + amount_to_finance = %s", sum)
	}
	require(k, FieldPaymentType, c.PaymentType)
	number := require(k, FieldNumber, c.Number)
	if number && (c.Number.Value < 1 || c.Number.Value > money.MaxInstalments) {
		k.fault(FieldNumber, "must be from 1 to %d", money.MaxInstalments)
		number = false
	}
	regular := k.amount(FieldRegular, c.Regular, 1)
	final := k.inRange(FieldFinal, c.Final, 1)
	if principal && number && regular && final {
		c.checkInstalments(k)
	}
}

// checkInstalments reports instalments that do not sum to the principal (section 2.1, rule 4). Every figure is within
// its bounds, so no sum overflows.
func (c Create) checkInstalments(k *checker) {
	plan, principal := c.instalments(), c.Principal.Value
	before := money.Cents(plan.Number-1) * plan.Regular
	switch rest := principal - before; {
	case plan.Number == 1 && plan.Regular != principal:
		k.fault(FieldRegular, "must be amount_to_finance %s, as there is one instalment", principal)
	case plan.Number == 1 && plan.Final != principal:
		k.fault(FieldFinal, "must be amount_to_finance %s, as there is one instalment, or be left out", principal)
	case plan.Principal() == principal:
	case rest <= 0:
		k.fault(FieldRegular, "is too much: %d × %s leaves nothing of amount_to_finance %s for the final instalment",
			plan.Number-1, plan.Regular, principal)
	case c.Final.Given:
		k.fault(FieldFinal, "must be %s, so that %d × %s and the final instalment are amount_to_finance %s",
			rest, plan.Number-1, plan.Regular, principal)
	default:
		k.fault(FieldRegular, "does not fit: %d × %s is %s, not amount_to_finance %s; send final_instalment_amount %s%s",
			plan.Number, plan.Regular, plan.Principal(), principal, rest, c.Final.hint())
	}
}

// instalments returns the plan as a legacy provider sent it.
func (c Create) instalments() money.Instalments {
	plan := money.Instalments{Number: c.Number.Value, Regular: c.Regular.Value, Final: c.Regular.Value}
	if c.Final.Given {
		plan.Final = c.Final.Value
	}
	return plan
}

// Check returns nil, or a VALIDATION_ERROR with every fault of the request.
func (c Confirm) Check() error {
	k := newChecker(c.ProviderCode, c.OrderID, c.CheckoutID, c.Token, c.OpportunityID, c.DDAID, c.PaymentMethod, c.FirstPayment,
		c.DepositConfirmed, c.PaymentPlanAccepted, c.InformationConfirmed, c.PrivacyConsentAccepted)
	k.text(FieldProviderCode, c.ProviderCode, text.Check)
	k.text(FieldOrderID, c.OrderID, text.Check)
	k.text(FieldCheckoutID, c.CheckoutID, text.Check)
	k.text(FieldCheckoutToken, c.Token, text.Check)
	k.text(FieldOpportunityID, c.OpportunityID, text.Check)
	k.text(FieldDDAID, c.DDAID, text.Check)
	if require(k, FieldPaymentMethod, c.PaymentMethod) {
		k.only(FieldPaymentMethod, c.PaymentMethod, PaymentMethod)
	}
	k.date(FieldAgreedFirstPayment, c.FirstPayment)
	k.accepted(FieldDepositConfirmed, c.DepositConfirmed)
	k.accepted(FieldPlanAccepted, c.PaymentPlanAccepted)
	k.accepted(FieldInformationConfirmed, c.InformationConfirmed)
	k.accepted(FieldPrivacyAccepted, c.PrivacyConsentAccepted)
	return k.err()
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

// report reports the field unless message is empty.
func (k *checker) report(field, message string) {
	if message != "" {
		k.fault(field, "%s", message)
	}
}

// err returns the faults as one refusal, or nil.
func (k *checker) err() error {
	if len(k.faults) == 0 {
		return nil
	}
	return refuseFields(k.faults)
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
	if require(k, field, v) {
		k.report(field, check(v.Value))
	}
}

// only reports a given value other than the only possible value.
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

// date reports a required date that is no real day from 2000 to 2199.
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
	if o.suggest == nil {
		return ""
	}
	if suggestion := (*o.suggest)(); suggestion != "" {
		return "; " + suggestion
	}
	return ""
}
