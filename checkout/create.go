package checkout

import (
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// PaymentType is the one value of plan.payment_type.
const PaymentType = "interest_free_payment_plan"

// Given is a value that a request may leave out.
type Given[T any] struct {
	Value T
	OK    bool
}

// Give returns a value that was given.
func Give[T any](v T) Given[T] { return Given[T]{v, true} }

// Create is the command to open a checkout (section 2.1). Text is in Unicode NFC and trimmed
// where it is a name; identifiers are as they came.
type Create struct {
	RequestID      string        // req_…; the event carries it
	IdempotencyKey Given[string] // the header

	ProviderCode Given[string]
	OrderID      Given[string]

	FirstName Given[string]
	LastName  Given[string]
	Email     Given[string]

	CourseCode Given[string]
	CourseName Given[string]

	Price     Given[money.Cents]
	Principal Given[money.Cents] // amount_to_finance
	Upfront   Given[money.Cents]

	PaymentType Given[string]
	Frequency   Given[string]
	Number      Given[int]
	Regular     Given[money.Cents]
	Final       Given[money.Cents]
	First       Given[money.Date]

	// Unread are the fields that the edge could not read as what they must be. They are
	// reported with the faults that are found here, and not as missing.
	Unread []Fault

	Hints Hints // of the edge, for the faults of absent fields
}

// Names of fields that more than one rule speaks of.
const (
	fieldKey        = "Idempotency-Key"
	fieldProvider   = "provider.provider_code"
	fieldOrder      = "provider.provider_order_id"
	fieldCourseCode = "course.course_code"
	fieldCourseName = "course.course_name"
	fieldPrice      = "pricing.course_price"
	fieldPrincipal  = "pricing.amount_to_finance"
	fieldUpfront    = "pricing.upfront_payment"
	fieldType       = "plan.payment_type"
	fieldFrequency  = "plan.payment_frequency"
	fieldNumber     = "plan.number_of_instalments"
	fieldRegular    = "plan.instalment_amount"
	fieldFinal      = "plan.final_instalment_amount"
	fieldFirst      = "plan.first_payment_date"
)

// Check returns nil, or a CodeInvalid with every fault of the request that can be told without
// looking anything up. What a catalogue says of the course is Resolve's to check.
func (c Create) Check(mode catalogue.Mode) error {
	k := &checker{faults: slices.Clip(c.Unread), hints: c.Hints}
	c.checkKey(k)
	k.text(fieldProvider, c.ProviderCode)
	k.text(fieldOrder, c.OrderID)
	k.name("student.first_name", c.FirstName)
	k.name("student.last_name", c.LastName)
	k.email("student.email", c.Email)
	if mode == catalogue.Authoritative {
		k.text(fieldCourseCode, c.CourseCode)
	} else {
		c.checkLegacy(k)
	}
	k.only(fieldType, c.PaymentType, PaymentType)
	if require(k, fieldFrequency, c.Frequency) && !money.Frequency(c.Frequency.Value).Valid() {
		k.fault(fieldFrequency, "must be %q, %q or %q", money.Weekly, money.Fortnightly, money.Monthly)
	}
	require(k, fieldFirst, c.First)
	return k.err()
}

// checkKey reports a header that cannot be an idempotency key (section 8).
func (c Create) checkKey(k *checker) {
	if !c.IdempotencyKey.OK {
		return
	}
	key := c.IdempotencyKey.Value
	switch {
	case key == "":
		k.fault(fieldKey, "must not be empty: leave the header out to use the order id")
	case len(key) > maxText:
		k.fault(fieldKey, "must be at most %d characters, not %d", maxText, len(key))
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			k.fault(fieldKey, "must be visible ASCII characters only")
			return
		}
	}
}

// checkLegacy reports what is wrong with the commercial fields of a provider without a catalogue.
func (c Create) checkLegacy(k *checker) {
	if c.CourseCode.OK {
		k.fault(fieldCourseCode, "must not be sent: this provider has no catalogue")
	}
	k.name(fieldCourseName, c.CourseName)
	price := require(k, fieldPrice, c.Price)
	principal := require(k, fieldPrincipal, c.Principal)
	upfront := require(k, fieldUpfront, c.Upfront)
	if principal && c.Principal.Value == 0 {
		k.fault(fieldPrincipal, "must be above zero")
		principal = false // nothing is measured by it
	}
	if price && principal && upfront && c.Price.Value != c.Upfront.Value+c.Principal.Value {
		k.fault(fieldPrice, "must be upfront_payment + amount_to_finance = %s", c.Upfront.Value+c.Principal.Value)
	}
	require(k, fieldType, c.PaymentType)
	number := require(k, fieldNumber, c.Number)
	if number && (c.Number.Value < 1 || c.Number.Value > money.MaxInstalments) {
		k.fault(fieldNumber, "must be from 1 to %d", money.MaxInstalments)
	}
	regular := require(k, fieldRegular, c.Regular)
	if regular && c.Regular.Value == 0 {
		k.fault(fieldRegular, "must be above zero")
	}
	if c.Final.OK && c.Final.Value == 0 {
		k.fault(fieldFinal, "must be above zero")
	}
	if principal && number && regular && !k.failed(fieldNumber) &&
		!k.failed(fieldRegular) && !k.failed(fieldFinal) {
		c.checkMaths(k)
	}
}

// checkMaths reports instalments that do not sum to the principal (section 2.1, rule 4).
func (c Create) checkMaths(k *checker) {
	plan := c.instalments()
	if plan.Principal() == c.Principal.Value {
		return
	}
	if plan.Number == 1 {
		k.fault(fieldRegular, "must be amount_to_finance %s, as there is one instalment", c.Principal.Value)
		return
	}
	before := money.Cents(plan.Number-1) * plan.Regular
	switch final := c.Principal.Value - before; {
	case final <= 0:
		k.fault(fieldRegular, "is too much: %d × %s leaves nothing of amount_to_finance %s for the final instalment",
			plan.Number-1, plan.Regular, c.Principal.Value)
	case c.Final.OK:
		k.fault(fieldFinal, "must be %s, so that %d × %s and the final instalment are amount_to_finance %s",
			final, plan.Number-1, plan.Regular, c.Principal.Value)
	default:
		k.fault(fieldRegular, "does not fit: %d × %s is %s, not amount_to_finance %s; send final_instalment_amount %s%s",
			plan.Number, plan.Regular, plan.Principal(), c.Principal.Value, final, k.hint(fieldFinal))
	}
}

// instalments returns the plan as a legacy provider sent it.
func (c Create) instalments() money.Instalments {
	plan := money.Instalments{Number: c.Number.Value, Regular: c.Regular.Value, Final: c.Regular.Value}
	if c.Final.OK {
		plan.Final = c.Final.Value
	}
	return plan
}

// Opening is what a new checkout gets from outside.
type Opening struct {
	ID          string
	Now         time.Time
	Environment catalogue.Environment
	Token       Token // the first
}

// Open returns the checkout that a checked create opens with its resolved intent, and checkout.created.
func (c Create) Open(intent Intent, o Opening) Change {
	opened := Checkout{
		ID:             o.ID,
		ProviderCode:   c.ProviderCode.Value,
		OrderID:        c.OrderID.Value,
		IdempotencyKey: c.IdempotencyKey.Value,
		RequestID:      c.RequestID,
		CreatedAt:      o.Now,
		Status:         SetupRequired,
		Student:        Student{c.FirstName.Value, c.LastName.Value, c.Email.Value},
		CourseCode:     c.CourseCode.Value,
		Intent:         intent,
		Records:        recordIDs(o.Environment, c.ProviderCode.Value, c.OrderID.Value),
		Tokens:         []Token{o.Token},
		Setup:          Setup{Observation: notBegun},
	}
	created := events.Created(opened.origin(c.RequestID, o.Environment, o.Now), opened.subject(),
		opened.Records.DDAID, opened.Records.ContactID)
	return Change{Next: opened, Events: []events.Event{created}}
}

func (c Checkout) origin(requestID string, env catalogue.Environment, now time.Time) events.Origin {
	return events.Origin{RequestID: requestID, Environment: string(env), CreatedAt: now}
}

func (c Checkout) subject() events.Subject {
	return events.Subject{ProviderCode: c.ProviderCode, OrderID: c.OrderID, CheckoutID: c.ID,
		OpportunityID: c.Records.OpportunityID}
}
