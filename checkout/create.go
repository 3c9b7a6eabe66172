package checkout

import (
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
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

// gave reports whether the create has a value for a field, by its path, that a CRM may refuse.
func (c Create) gave(field string) bool {
	given := map[string]bool{FieldOrderID: c.OrderID.Given, FieldFirstName: c.FirstName.Given, FieldLastName: c.LastName.Given,
		FieldEmail: c.Email.Given, FieldCourseName: c.CourseName.Given, FieldPrice: c.Price.Given, FieldUpfront: c.Upfront.Given,
		FieldPrincipal: c.Principal.Given, FieldFrequency: c.Frequency.Given, FieldNumber: c.Number.Given,
		FieldRegular: c.Regular.Given, FieldFinal: c.Final.Given, FieldFirstPayment: c.First.Given}
	return given[field]
}

// Facts are the facts that decide a create, besides its own fields. A pointer is nil if there is no such record.
type Facts struct {
	Mode        catalogue.Mode // the provider's
	Environment catalogue.Environment
	Keyring     Keyring // of the setup tokens
	Now         time.Time

	ByKey   *Checkout         // to which the request's idempotency key is bound
	ByOrder *Checkout         // of the request's order
	Course  *catalogue.Course // of the caller's catalogue, that the request names; it is ignored unless NeedsCourse
}

// Decision is the result of a create that is not refused.
type Decision struct {
	Action   Action
	Intent   Intent    // of the new checkout
	Awaiting *Checkout // that is waited for
}

// Action is the kind of a decision.
type Action int

const (
	Open         Action = iota + 1 // a new checkout
	Replay                         // the checkout that the order opened before, as it is
	ReplayRenews                   // the same, with a next setup token
	Wait                           // for the CRM: the order or the key is reserved
)

// Decide decides a checked create: the first rows of the contract's table (section 3) in their order, after the rows for
// requests that are refused whatever their intent is.
func (c Create) Decide(f Facts) (Decision, error) {
	want, unresolved := c.resolve(f)
	switch differing, reserved := f.differing(want), f.reserved(); {
	case f.excludedByMode(c):
		return Decision{}, c.Check(f.Mode)
	case reserved != nil: // what it will be decides about this create, and a 409 would be final
		return Decision{Action: Wait, Awaiting: reserved}, nil
	case f.keyTaken(c):
		return Decision{}, refuseKeyTaken()
	case unresolved != nil:
		return Decision{}, unresolved
	case f.ByOrder == nil:
		return Decision{Action: Open, Intent: want}, nil
	case len(differing) > 0:
		return Decision{}, RefuseIntent(differing)
	case f.ByOrder.Available() != nil:
		return Decision{}, f.ByOrder.Available()
	case f.ByOrder.Status == Confirmed, f.ByOrder.TokenFresh(f.Keyring, f.Now):
		return Decision{Action: Replay}, nil
	default:
		return Decision{Action: ReplayRenews}, nil
	}
}

// NeedsCourse reports whether Decide needs the course that a checked create names. It does not where the create is
// refused whatever the course is, or where the order on record resolves it: then a catalogue that cannot be read must
// not fail a replay.
func (c Create) NeedsCourse(f Facts) bool {
	return c.mode() == catalogue.Authoritative && !f.excludedByMode(c) && !f.keyTaken(c) && !c.resolvedBy(f.ByOrder)
}

// reserved returns the checkout of the order or of the key of which the CRM has yet to make the records, or nil.
func (f Facts) reserved() *Checkout {
	for _, c := range []*Checkout{f.ByOrder, f.ByKey} {
		if c != nil && c.Status == Reserved {
			return c
		}
	}
	return nil
}

// excludedByMode reports whether the provider's pricing mode does not allow the create, and neither does the mode in
// which its order on record was opened: a provider that gets a catalogue, or loses it, has open checkouts.
func (f Facts) excludedByMode(c Create) bool {
	return c.mode() != f.Mode && (f.ByOrder == nil || c.mode() != f.ByOrder.Mode())
}

// keyTaken reports whether the request's key is bound to another order.
func (f Facts) keyTaken(c Create) bool { return f.ByKey != nil && f.ByKey.OrderID != c.OrderID.Value }

// Reserve returns the reserved checkout of a create with its resolved intent, and the job to have the CRM open it.
func (c Create) Reserve(intent Intent, id string, now time.Time) Change {
	next := Checkout{
		ID:             id,
		ProviderCode:   c.ProviderCode.Value,
		OrderID:        c.OrderID.Value,
		IdempotencyKey: c.Key(),
		RequestID:      c.RequestID,
		CreatedAt:      now,
		Status:         Reserved,
		Student:        Student{c.FirstName.Value, c.LastName.Value, c.Email.Value},
		CourseCode:     c.CourseCode.Value,
		Intent:         intent,
		Setup:          Setup{Observation: notBegun},
	}
	return Change{Next: next, Jobs: []Job{next.job(JobOpen, c.RequestID, 0, now)},
		Moments: []Moment{{At: now, Kind: MomentCreated, Actor: c.Actor, RequestID: c.RequestID, Times: 1}}}
}

func (c Checkout) origin(requestID string, env catalogue.Environment, now time.Time) events.Origin {
	return events.Origin{RequestID: requestID, Environment: string(env), CreatedAt: now}
}

func (c Checkout) subject() events.Subject {
	return events.Subject{ProviderCode: c.ProviderCode, OrderID: c.OrderID, CheckoutID: c.ID,
		OpportunityID: c.Records.OpportunityID}
}
