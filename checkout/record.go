package checkout

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// CheckoutRecord is everything on record about one checkout.
type CheckoutRecord struct {
	Checkout  Checkout
	Agreement *agreement.Agreement // nil until confirmed
	Document  int                  // the length of the stored PDF, in bytes; 0 without one
	Jobs      []JobRecord          // in the order of their positions, and of one position of their ids
	Moments   []Moment             // in the order of their positions
}

// Events returns the jobs of the record that deliver its events, in their order.
func (r CheckoutRecord) Events() []JobRecord {
	return slices.DeleteFunc(slices.Clone(r.Jobs), func(j JobRecord) bool { return j.Kind != JobDeliver })
}

// Visitor receives what a store exports. No function is nil.
type Visitor struct {
	Configuration func(catalogue.Configuration) error
	Key           func(catalogue.Key) error
	Checkout      func(CheckoutRecord) error
	// Unreadable is called instead of Checkout for a checkout of which something on record cannot be read; the export
	// goes on after it.
	Unreadable func(checkoutID string, err error) error
}

// About names the checkout that something is about, as far as it is known.
type About struct {
	CheckoutID, OrderID, ProviderCode string
}

// About names the checkout.
func (c Checkout) About() About { return About{c.ID, c.OrderID, c.ProviderCode} }

// About names the job's checkout.
func (j Job) About() About { return About{CheckoutID: j.CheckoutID, ProviderCode: j.ProviderCode} }

// Noted is a moment of a checkout. A store needs no more of About than the id.
type Noted struct {
	About
	Moment Moment
}

// KeyUse is the use of an API key in a minute.
type KeyUse struct {
	KeyID  string
	Minute time.Time
}

// Reference names a checkout other than by its id. One of the fields but ProviderCode is set.
type Reference struct {
	ProviderCode     string // of OrderID and Key
	OrderID          string
	Key              string // the idempotency key that is bound to it
	BillingRequestID string // its latest, like MandateID
	MandateID        string
	AgreementNumber  string
}

// Change is the result of a decision: everything that is stored together, or not at all. A decision leaves the revision of Next, and
// the positions of moments and jobs, to Numbered.
type Change struct {
	At        time.Time // of the decision
	Next      Checkout
	Agreement *agreement.Agreement // nil unless the decision concluded one
	Document  *agreement.Document  // nil unless the agreement was rendered
	Moments   []Moment             // in their order
	Jobs      []Job                // in their order, events included
	Act       *Act                 // the operator's; nil without one
}

// Changes reports whether there is anything to store.
func (c Change) Changes() bool { return !c.At.IsZero() }

// unchanged is the change that stores nothing.
func unchanged(c Checkout) Change { return Change{Next: c} }

// positions is the number of positions in a revision.
const positions = 1000

// Numbered returns the change as it is stored over a checkout, of which the identity (id, provider, order and key) never changes. The
// moments and jobs of a later change have higher positions. A store calls it, and returns its result to the caller of the change.
func (c Change) Numbered(over Checkout) Change {
	if over.ID != "" {
		c.Next.ID, c.Next.ProviderCode, c.Next.OrderID, c.Next.IdempotencyKey = over.ID, over.ProviderCode, over.OrderID, over.IdempotencyKey
	}
	c.Next.Revision = max(over.Revision+1, c.At.UnixMilli())
	c.Moments, c.Jobs = NumberMoments(c.Moments, c.Next.Revision*positions), slices.Clone(c.Jobs)
	for i := range c.Jobs {
		c.Jobs[i].Position = c.Next.Revision*positions + int64(i)
	}
	return c
}

// NumberMoments returns the moments with positions from one on. A moment without an id gets its position as the id.
func NumberMoments(list []Moment, from int64) []Moment {
	list = slices.Clone(list)
	for i := range list {
		m := &list[i]
		m.Position = from + int64(i)
		m.ID = cmp.Or(m.ID, strconv.FormatInt(m.Position, 10))
	}
	return list
}

// FirstPosition returns the position of the first moment of a time that no change brings.
func FirstPosition(at time.Time) int64 { return at.UnixMilli() * positions }
