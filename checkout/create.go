package checkout

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// PaymentType is the one value of plan.payment_type.
const PaymentType = "interest_free_payment_plan"

// Create is the command to open a checkout (section 2.1).
type Create struct {
	RequestID      string // req_…; the event carries it
	Actor          Actor
	IdempotencyKey Optional[string]

	ProviderCode Optional[string]
	OrderID      Optional[string]

	FirstName Optional[string]
	LastName  Optional[string]
	Email     Optional[string]

	CourseCode Optional[string]
	CourseName Optional[string]

	Price     Optional[money.Cents]
	Principal Optional[money.Cents] // amount_to_finance
	Upfront   Optional[money.Cents]

	PaymentType Optional[string]
	Frequency   Optional[string]
	Number      Optional[int]
	Regular     Optional[money.Cents]
	Final       Optional[money.Cents]
	First       Optional[money.Date]
}

// Key returns the request's idempotency key: the header, or <provider_code>:<order id> (section 4, rule 1).
func (c Create) Key() string {
	if c.IdempotencyKey.Given {
		return c.IdempotencyKey.Value
	}
	return DefaultKey(c.ProviderCode.Value, c.OrderID.Value)
}

// DefaultKey returns the idempotency key of a create without the header.
func DefaultKey(provider, order string) string { return provider + ":" + order }

// Normalized returns the command with its names in Unicode NFC and without white space around them, and its e-mail address in one form, so
// that two spellings that look the same mean the same. Identifiers stay as they came.
func (c Create) Normalized() Create {
	for _, name := range []*Optional[string]{&c.FirstName, &c.LastName, &c.CourseName} {
		name.Value = text.Normalize(name.Value)
	}
	c.Email.Value = text.NormalizeEmail(c.Email.Value)
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
	if c.FirstName.Value != "" { // a student may have one name, which is the last
		k.text(FieldFirstName, c.FirstName, checkName)
	}
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

// CheckEither is like Check, but also accepts a command that is valid in the other mode only: it may replay an order that the
// provider opened before its mode changed. Decide refuses any other.
func (c Create) CheckEither(mode catalogue.Mode) error {
	refusal := c.Check(mode)
	if refusal != nil && c.mode() != mode && c.Check(c.mode()) == nil {
		return nil
	}
	return refusal
}

func checkName(name string) string {
	if text.Normalize(name) != name {
		return "must be in Unicode NFC, without white space around it"
	}
	return text.CheckName(name)
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

func (c Create) instalments() money.Instalments {
	plan := money.Instalments{Number: c.Number.Value, Regular: c.Regular.Value, Final: c.Regular.Value}
	if c.Final.Given {
		plan.Final = c.Final.Value
	}
	return plan
}

// Facts are the facts that decide a create, besides its own fields. A pointer is nil if there is no such record.
type Facts struct {
	Mode        catalogue.Mode // the provider's
	Environment catalogue.Environment

	ByKey   *Checkout         // to which the request's idempotency key is bound
	ByOrder *Checkout         // of the request's order
	Course  *catalogue.Course // of the caller's catalogue, that the request names; it is ignored unless NeedsCourse
}

// Decide decides a checked create: the first rows of the contract's table (section 3) in their order, after the rows for
// requests that are refused whatever their intent is. Without an error it opens a checkout with this intent or, where the order has one,
// is a replay.
func (c Create) Decide(f Facts) (Intent, error) {
	want, unresolved := c.resolve(f)
	switch {
	case f.excludedByMode(c):
		return Intent{}, c.Check(f.Mode)
	case f.keyTaken(c):
		return Intent{}, refuseKeyTaken()
	case unresolved != nil:
		return Intent{}, unresolved
	case f.ByOrder == nil:
		return want, nil
	case f.ByOrder.Status == Cancelled: // whatever the intent is
		return Intent{}, f.ByOrder.Replayable()
	}
	if differing := Compare(f.ByOrder.Intent, want); len(differing) > 0 {
		return Intent{}, refuseIntent(differing)
	}
	return want, f.ByOrder.Replayable()
}

// NeedsCourse reports whether Decide needs the course that a checked create names. It does not if the create is refused whatever
// the course is, or if the order on record resolves it, so that a replay works even if the catalogue cannot be read.
func (c Create) NeedsCourse(f Facts) bool {
	return c.mode() == catalogue.Authoritative && !f.excludedByMode(c) && !f.keyTaken(c) && !c.resolvedBy(f.ByOrder)
}

// excludedByMode reports whether the provider's pricing mode does not allow the create, and neither does the mode in
// which its order on record was opened: a provider that gets a catalogue, or loses it, has open checkouts.
func (f Facts) excludedByMode(c Create) bool {
	return c.mode() != f.Mode && (f.ByOrder == nil || c.mode() != f.ByOrder.Mode())
}

func (f Facts) keyTaken(c Create) bool { return f.ByKey != nil && f.ByKey.OrderID != c.OrderID.Value }

// mode returns the one pricing mode that may allow the create: that with a catalogue requires a course code, and the
// other does not allow one.
func (c Create) mode() catalogue.Mode {
	if c.CourseCode.Given {
		return catalogue.Authoritative
	}
	return catalogue.Legacy
}

// resolve returns the intent of a checked create, or a VALIDATION_ERROR (section 2.1, rules 1 to 3). An order is resolved
// once, so that a retry stays safe when a price is edited or a course retires.
func (c Create) resolve(f Facts) (Intent, error) {
	frequency, course := money.Frequency(c.Frequency.Value), f.Course
	switch {
	case c.mode() == catalogue.Legacy:
		return Intent{
			CourseName: c.CourseName.Value,
			Pricing:    money.Pricing{Price: c.Price.Value, Upfront: c.Upfront.Value, Principal: c.Principal.Value},
			Plan:       money.Plan{Frequency: frequency, Instalments: c.instalments(), First: c.First.Value},
		}, nil
	case c.resolvedBy(f.ByOrder):
		return c.checkAgainst(f.ByOrder.Intent)
	case course == nil:
		return Intent{}, refuseCourse()
	}
	pricing, instalments, err := course.Resolve(f.Environment, frequency)
	switch {
	case errors.Is(err, catalogue.ErrNoOption):
		var offered []string
		for _, o := range course.Options {
			offered = append(offered, strconv.Quote(string(o.Frequency)))
		}
		return Intent{}, refuseFields(Fault{FieldFrequency,
			"must be " + strings.Join(offered, " or ") + ": this course is not offered otherwise"})
	case errors.Is(err, catalogue.ErrUnavailable):
		return Intent{}, refuseCourse()
	case err != nil:
		return Intent{}, fmt.Errorf("resolve course %s: %w", course.Code, err)
	}
	return c.checkAgainst(Intent{CourseName: course.Name, Pricing: pricing,
		Plan: money.Plan{Frequency: frequency, Instalments: instalments}})
}

// resolvedBy reports whether the create names the course and frequency of the order on record, if there is one.
func (c Create) resolvedBy(stored *Checkout) bool {
	return stored != nil && stored.CourseCode == c.CourseCode.Value && string(stored.Intent.Plan.Frequency) == c.Frequency.Value
}

// refuseCourse refuses the course code. The message is the same for every reason.
func refuseCourse() error {
	return refuseFields(Fault{FieldCourseCode,
		"is not a course that this provider can enrol in now; send the code of an active one of this environment"})
}

// checkAgainst returns the offer with the requested first payment date if every other value that the request repeats
// equals the offer's (section 2.1, rules 2 and 5).
func (c Create) checkAgainst(offer Intent) (Intent, error) {
	offer.Plan.First = c.First.Value
	k := &checker{}
	match(k, FieldCourseName, c.CourseName, offer.CourseName)
	match(k, FieldPrice, c.Price, offer.Pricing.Price)
	match(k, FieldPrincipal, c.Principal, offer.Pricing.Principal)
	match(k, FieldUpfront, c.Upfront, offer.Pricing.Upfront)
	match(k, FieldNumber, c.Number, offer.Plan.Number)
	match(k, FieldRegular, c.Regular, offer.Plan.Regular)
	match(k, FieldFinal, c.Final, offer.Plan.Final)
	return offer, k.err()
}

func match[T comparable](k *checker, field string, v Optional[T], resolved T) {
	if v.Given && v.Value != resolved {
		k.fault(field, "must equal the resolved %v, or be left out", resolved)
	}
}

// Opening is the information from outside with which a checkout is opened.
type Opening struct {
	ID          string
	Now         time.Time
	Environment catalogue.Environment
	Token       Token // the first
}

// Open returns the new checkout of a create with its resolved intent, its first setup token, checkout.created and the job for the CRM.
func (c Create) Open(intent Intent, o Opening) Change {
	next := Checkout{
		ID:             o.ID,
		ProviderCode:   c.ProviderCode.Value,
		OrderID:        c.OrderID.Value,
		IdempotencyKey: c.Key(),
		RequestID:      c.RequestID,
		CreatedBy:      c.Actor,
		CreatedAt:      o.Now,
		Status:         SetupRequired,
		Student:        Student{c.FirstName.Value, c.LastName.Value, c.Email.Value},
		CourseCode:     c.CourseCode.Value,
		Intent:         intent,
		Tokens:         []Token{o.Token},
		Setup:          Setup{Observation: notBegun},
	}
	records := next.Records(o.Environment)
	created := events.Created(origin(c.RequestID, o.Environment, o.Now), next.subject(o.Environment), records.DDAID, records.ContactID)
	return Change{At: o.Now, Next: next, Jobs: []Job{DeliveryOf(created), next.Job(JobSync, c.RequestID, o.Now, 0)}}
}

func origin(requestID string, env catalogue.Environment, now time.Time) events.Origin {
	return events.Origin{RequestID: requestID, Environment: string(env), CreatedAt: now}
}

func (c Checkout) subject(env catalogue.Environment) events.Subject {
	return events.Subject{ProviderCode: c.ProviderCode, OrderID: c.OrderID, CheckoutID: c.ID,
		OpportunityID: c.Records(env).OpportunityID}
}
