package checkout

import (
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/text"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// PaymentType is the one value of plan.payment_type.
const PaymentType = "interest_free_payment_plan"

// Create is the command to open a checkout (section 2.1).
type Create struct {
	RequestID      string // req_…; the event carries it
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

// Normalized returns the command with its names in Unicode NFC and without white space around them, so that two
// spellings that look the same mean the same. Identifiers stay as they came.
func (c Create) Normalized() Create {
	for _, name := range []*Optional[string]{&c.FirstName, &c.LastName, &c.CourseName} {
		name.Value = text.Normalize(name.Value)
	}
	return c
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

// Existing is what is on record that a create may be about; a field is nil if there is nothing.
type Existing struct {
	ByKey   *Checkout // to which the request's idempotency key is bound
	ByOrder *Checkout // of the request's order
}

// Decision is what a create leads to.
type Decision int

const (
	Open         Decision = iota + 1 // a new checkout
	Replay                           // the checkout that the order opened before, as it is
	ReplayRenews                     // the same, with a next setup token
)

// Decide decides a checked create: the first rows of the contract's table (section 3) in their order. want is the
// request's intent, unless unresolved says why it has none. fresh reports whether a setup token of the checkout is
// given out again.
func (c Create) Decide(on Existing, want Intent, unresolved error, fresh func(Checkout) bool) (Decision, error) {
	switch differing := on.differs(want); {
	case on.keyTaken(c):
		return 0, refuseKeyTaken()
	case unresolved != nil:
		return 0, unresolved
	case on.ByOrder == nil:
		return Open, nil
	case len(differing) > 0:
		return 0, refuseIntent(differing)
	case on.ByOrder.Status == Confirmed, fresh(*on.ByOrder):
		return Replay, nil
	default:
		return ReplayRenews, nil
	}
}

// keyTaken reports whether the request's key is bound to another order. Older versions let an order bind the text that
// another order has as its default key: such an order is still found under its own default key.
func (on Existing) keyTaken(c Create) bool {
	return on.ByKey != nil && on.ByKey.OrderID != c.OrderID.Value &&
		(on.ByOrder == nil || on.ByOrder.IdempotencyKey != c.Key())
}

// differs returns the fields in which the order on record, if there is one, has another intent.
func (on Existing) differs(want Intent) []Fault {
	if on.ByOrder == nil {
		return nil
	}
	return Compare(on.ByOrder.Intent, want)
}

// Opening is what a new checkout takes from outside.
type Opening struct {
	ID          string
	Now         time.Time
	Environment catalogue.Environment
	Token       Token // the first
}

// Open returns the checkout that a create opens with its resolved intent, and checkout.created.
func (c Create) Open(intent Intent, o Opening) Change {
	opened := Checkout{
		ID:             o.ID,
		ProviderCode:   c.ProviderCode.Value,
		OrderID:        c.OrderID.Value,
		IdempotencyKey: c.Key(),
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
