package ports

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// Store is what a service needs of a store.
//
// What a method has stored when it returns nil survives the death of the process, of the machine and of the store
// itself, and every later read in any process sees it. Text comes back byte for byte, and times in UTC to the
// millisecond.
type Store interface {
	Checkouts
	Agreements
	Outbox
	Notices
	Configuration
	Evidence
	Privacy

	// Ready returns nil if the store takes writes now, which it finds out by one that changes nothing
	// but is as durable as any, and if its schema is not older than this program's.
	Ready(ctx context.Context) error
}

// Checkouts keeps checkouts with their CRM records, their agreements, their events and their notices.
type Checkouts interface {
	// InsertCheckout stores the change's checkout and its events, or nothing; such a change has no notices. It returns ErrDuplicate if
	// the provider already used the order id or the idempotency key, or if the checkout's or an event's id
	// is taken. Every checkout has a key, and two of one provider never have the same, whether it came in a header
	// or is the default (checkout.DefaultKey). Of concurrent inserts of which each would make another a duplicate, one
	// succeeds.
	InsertCheckout(ctx context.Context, change checkout.Change, enqueue Enqueue) error

	// Checkout returns the checkout, or ErrNotFound.
	Checkout(ctx context.Context, id string) (checkout.Checkout, error)

	// CheckoutByOrder returns the provider's checkout of its order id, or ErrNotFound.
	CheckoutByOrder(ctx context.Context, provider, order string) (checkout.Checkout, error)

	// CheckoutByKey returns the provider's checkout that is bound to the idempotency key, or ErrNotFound.
	CheckoutByKey(ctx context.Context, provider, key string) (checkout.Checkout, error)

	// CheckoutByBillingRequest returns the checkout whose latest billing request has this id, or ErrNotFound. A
	// checkout without one is never found, not even by "".
	CheckoutByBillingRequest(ctx context.Context, id string) (checkout.Checkout, error)

	// CheckoutByMandate returns the checkout whose latest mandate has this id, or ErrNotFound. A checkout without one
	// is never found, not even by "".
	CheckoutByMandate(ctx context.Context, id string) (checkout.Checkout, error)

	// DueSetups returns the ids of at most limit checkouts whose setup is due to be looked at
	// (checkout.Setup.LookAgain), those that have been due for longest first.
	DueSetups(ctx context.Context, now time.Time, limit int) ([]string, error)

	// DueSteps returns the ids of at most limit checkouts whose step is due (checkout.Step), those that have been due for
	// longest first.
	DueSteps(ctx context.Context, now time.Time, limit int) ([]string, error)

	// StepBacklog returns how many checkouts have a step, leased or not, and since when the oldest of them has: the zero
	// time if there is none.
	StepBacklog(ctx context.Context) (waiting int, oldest time.Time, err error)

	// UpdateCheckout passes the checkout as it is now to decide and stores the change that comes back, all of it
	// or nothing, atomically: no other update of the checkout happens in between. Of its notices those whose ids are on record
	// are left out, whatever became of them. An error of decide is returned as it
	// is, and a panic of decide reaches the caller; nothing is stored then. decide may run more than once, must not
	// block and must not call the store. The identity of a checkout (id, provider, order, key) never changes.
	// ErrNotFound if there is no such checkout; ErrDuplicate if the agreement's number, its evidence or an event is on
	// record, or the checkout has an agreement or document already; another error for a document without an agreement. A change that
	// removes the checkout, which has no agreement and no events, leaves its order, its key and its id free.
	UpdateCheckout(ctx context.Context, id string, enqueue Enqueue,
		decide func(checkout.Checkout) (checkout.Change, error)) error
}

// Agreements reads what was agreed. Agreements and documents enter the store with a Change.
type Agreements interface {
	// Agreement returns the agreement with this number (PPA-…), or ErrNotFound.
	Agreement(ctx context.Context, number string) (agreement.Agreement, error)

	// Document returns the PDF of the agreement with this number. ErrNotFound if there is no
	// such agreement or it was never rendered.
	Document(ctx context.Context, number string) (agreement.Document, error)
}

// Enqueue says how the events of a change enter the outbox: at epoch 1, leased to the request that commits them.
type Enqueue struct {
	Status events.Status // Pending; or NotConfigured, and then they are never sent
	Until  time.Time     // the lease ends
}

// Outbox leases events to those who deliver them. A lease ends at a time; the epoch is its fencing token,
// which rises with every lease, so that a holder whose lease has ended changes nothing.
type Outbox interface {
	// PendingEvents returns the pending events of a checkout in the order in which they were stored.
	PendingEvents(ctx context.Context, checkoutID string) ([]PendingEvent, error)

	// LeaseEvent leases a pending event to the caller until the given time, if its epoch still is the given one, and
	// returns the new epoch. ErrNotFound if the epoch is another or the event is no longer pending.
	LeaseEvent(ctx context.Context, eventID string, epoch int64, until time.Time) (int64, error)

	// SettleEvent records what a run of attempts of the holder of the lease with this epoch came to.
	// ErrNotFound if the epoch is another or the event is no longer pending; nothing changes then.
	SettleEvent(ctx context.Context, eventID string, epoch int64, s Settlement) error

	// ExpiredLeases returns the checkouts with a pending event that is not leased at the given time, those with the
	// oldest event first, and of each provider at most perProvider: one provider's dead receiver must not hide
	// another's events.
	ExpiredLeases(ctx context.Context, now time.Time, perProvider int) ([]ExpiredLease, error)

	// Backlog returns how many events are pending, leased or not, and when the oldest of them was made:
	// the zero time if there is none.
	Backlog(ctx context.Context) (pending int, oldest time.Time, err error)
}

// ExpiredLease is a checkout with a pending event whose lease has ended.
type ExpiredLease struct {
	CheckoutID   string
	ProviderCode string
}

// PendingEvent is an event that is to be delivered, with its lease.
type PendingEvent struct {
	Event    events.Event
	Attempts int // that runs which were cut short made
	Epoch    int64
	Until    time.Time // the lease ends; zero if the event is not leased
}

// Settlement is what a run of attempts to deliver an event came to.
type Settlement struct {
	// Status is Pending where the run was cut short: the event keeps it, and its lease ends at once, with its epoch.
	Status   events.Status
	Attempts int // that this run made, which add to those on record
	Failure  Failure
}

// Failure is why the latest attempt that failed did. The zero value says that none did; it leaves the failure that is on
// record.
type Failure struct {
	At     time.Time
	Reason string // for the operator: no secret, and nothing of the receiver's answer
}

// Configuration reads what the operator configured.
type Configuration interface {
	// Provider returns the provider, without its courses, or ErrNotFound.
	Provider(ctx context.Context, code string) (catalogue.Provider, error)

	// Providers returns every provider in the order of the codes.
	Providers(ctx context.Context) ([]catalogue.Provider, error)

	// Course returns a course of a provider, or ErrNotFound.
	Course(ctx context.Context, provider, code string) (catalogue.Course, error)

	// Key returns the API key with this hash, revoked or not, or ErrNotFound. It writes nothing. A key
	// does not depend on the provider's configuration being there.
	Key(ctx context.Context, hash [32]byte) (catalogue.Key, error)
}
