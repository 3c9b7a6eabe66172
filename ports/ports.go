// Package ports says what the core needs from outside. Each comment is a specification: an
// adapter that keeps it may stand in for any other, and package storetest holds every store
// to it. All methods are safe for concurrent use and return early when ctx ends.
package ports

import (
	"context"
	"errors"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

var (
	// ErrNotFound: there is no such record.
	ErrNotFound = errors.New("not found")
	// ErrDuplicate: a unique name is taken; nothing was stored.
	ErrDuplicate = errors.New("already exists")
	// ErrBusy: the store could not serve in time; nothing was stored, and the same call may be made
	// again. Any method may return it.
	ErrBusy = errors.New("store is busy")
)

// Store is everything that a store keeps. What a method has stored when it returns nil
// survives the death of the process, of the machine and of the store itself. Values go in and come
// out whole: text byte for byte, times in UTC to the millisecond.
type Store interface {
	Checkouts
	Agreements
	Outbox
	Providers
	Keys
	Archive

	// Ready returns nil if the store takes writes now, which it finds out by one that means nothing
	// but is as durable as any, and if its schema is not older than this program's.
	Ready(ctx context.Context) error
}

// Checkouts keeps checkouts with their CRM records, and the events that tell of them.
type Checkouts interface {
	// InsertCheckout stores the change's checkout and its events, or nothing. It returns
	// ErrDuplicate if the provider already used the order id, or the idempotency key
	// where there is one, or if the checkout's or an event's id is taken. The events are stored as
	// queued says.
	InsertCheckout(ctx context.Context, change checkout.Change, queued Queued) error

	// Checkout returns the checkout, or ErrNotFound.
	Checkout(ctx context.Context, id string) (checkout.Checkout, error)

	// CheckoutByOrder returns the provider's checkout for its order id, or ErrNotFound.
	CheckoutByOrder(ctx context.Context, provider, order string) (checkout.Checkout, error)

	// CheckoutByKey returns the provider's checkout that was created under the idempotency
	// key, or ErrNotFound.
	CheckoutByKey(ctx context.Context, provider, key string) (checkout.Checkout, error)

	// UpdateCheckout passes the checkout as it is now to decide and stores the change that comes
	// back, all of it or nothing: no other update comes between. An error of decide is returned as
	// it is, and nothing is stored. decide may run more than once, must not block and must not call
	// the store. The identity of a checkout (id, provider, order, key) never changes. ErrNotFound if
	// there is no such checkout, ErrDuplicate if the agreement's number or an event is on record, or
	// the checkout has an agreement or document already.
	UpdateCheckout(ctx context.Context, id string, queued Queued,
		decide func(checkout.Checkout) (checkout.Change, error)) error
}

// Queued says how the events of a change enter the outbox.
type Queued struct {
	Status events.Status // Pending, or NotConfigured: then they are never sent
	Until  time.Time     // the committing request delivers them alone until then
}

// Agreements keeps what was agreed. Agreements and documents enter with a Change.
type Agreements interface {
	// DrawNumber returns the next number of the store's one sequence of agreements, from 1.
	// A number is never returned twice; numbers may stay unused.
	DrawNumber(ctx context.Context) (int64, error)

	// Agreement returns the agreement with this number (PPA-…), or ErrNotFound.
	Agreement(ctx context.Context, number string) (agreement.Agreement, error)

	// Document returns the PDF of the agreement with this number. ErrNotFound if there is no
	// such agreement or it was never drawn.
	Document(ctx context.Context, number string) (agreement.Document, error)
}

// Outbox hands events to whoever delivers them. An event is owned by one deliverer at a
// time: ownership ends at a time, and the epoch, which rises whenever the owner changes, fences an owner that comes late.
type Outbox interface {
	// PendingEvents returns the pending events of a checkout in the order of their storing.
	PendingEvents(ctx context.Context, checkoutID string) ([]QueuedEvent, error)

	// TakeEvent makes the caller the owner of a pending event until the given time, if its epoch still
	// is the given one, and returns the new epoch. ErrNotFound if the epoch is another or the event is no longer pending.
	TakeEvent(ctx context.Context, eventID string, epoch int64, until time.Time) (int64, error)

	// SettleEvent records the outcome of the owner with this epoch: a status other than
	// Pending, and the attempts that this run made, which add to those on record.
	// ErrNotFound if the epoch is another or the event is no longer pending; nothing changes then.
	SettleEvent(ctx context.Context, eventID string, epoch int64, status events.Status, attempts int) error

	// AbandonedCheckouts returns the checkouts with a pending event that nobody owns at the given
	// time, those with the oldest event first, and of each provider at most perProvider: one
	// provider's dead receiver must not hide another's events.
	AbandonedCheckouts(ctx context.Context, now time.Time, perProvider int) ([]Abandoned, error)
	// Backlog returns how many events are pending, owned or not, and when the oldest of them was made:
	// the zero time if there is none.
	Backlog(ctx context.Context) (pending int, oldest time.Time, err error)
}

// Abandoned is a checkout with a pending event that nobody owns.
type Abandoned struct {
	CheckoutID   string
	ProviderCode string
}

// QueuedEvent is a pending event with its ownership. An event enters the outbox at epoch 1,
// owned by the request that committed it.
type QueuedEvent struct {
	Event events.Event
	Epoch int64
	Until time.Time
}

// Providers keeps what the operator configured.
type Providers interface {
	// Provider returns the provider, without its courses, or ErrNotFound.
	Provider(ctx context.Context, code string) (catalogue.Provider, error)

	// Providers returns every provider in the order of the codes.
	Providers(ctx context.Context) ([]catalogue.Provider, error)

	// Course returns a course of a provider, or ErrNotFound.
	Course(ctx context.Context, provider, code string) (catalogue.Course, error)

	// ReplaceProviders passes all configurations, in the order of the provider codes, to decide and
	// stores what comes back in their place, all of it or nothing: no other replacement comes
	// between. decide may run more than once, and must not call the store; an error of it is
	// returned as it is. Courses and options keep their order. Keys and checkouts are not touched.
	ReplaceProviders(ctx context.Context,
		decide func([]catalogue.Configuration) ([]catalogue.Configuration, error)) error
}

// Keys keeps API keys. They do not depend on the provider's configuration being there.
type Keys interface {
	// Key returns the key with this hash, revoked or not, or ErrNotFound. It writes nothing.
	Key(ctx context.Context, hash [32]byte) (catalogue.Key, error)

	// Keys returns every key in the order of their making.
	Keys(ctx context.Context) ([]catalogue.Key, error)

	// AddKey stores a new key. ErrDuplicate if its id or hash is taken.
	AddKey(ctx context.Context, key catalogue.Key) error

	// RevokeKey marks the key as revoked, unless it is already: then the first time stands.
	// ErrNotFound if there is no such key.
	RevokeKey(ctx context.Context, id string, at time.Time) error
}

// Archive reads everything on record.
type Archive interface {
	// Export passes everything to visit as it stood at one moment: configurations in the order of
	// their codes, then keys, then checkouts, each in the order of their making. However many
	// checkouts there are, a page of them is read at a time. An error of visit ends it and is
	// returned as it is.
	Export(ctx context.Context, visit Visitor) error
}

// Visitor takes what Export reads. No method is nil.
type Visitor struct {
	Configuration func(catalogue.Configuration) error
	Key           func(catalogue.Key) error
	Checkout      func(Dossier) error
}

// Dossier is everything on record about one checkout.
type Dossier struct {
	Checkout  checkout.Checkout
	Agreement *agreement.Agreement // nil until confirmed
	Document  *DocumentInfo        // nil unless drawn
	Events    []EventRecord        // in the order of their storing
}

// DocumentInfo describes a document without its bytes.
type DocumentInfo struct {
	ID     string
	SHA256 [32]byte
	Size   int // bytes
}

// EventRecord is an event and what became of it.
type EventRecord struct {
	Event    events.Event
	Status   events.Status
	Attempts int
}

// Processor is the direct debit payment processor. Its calls may go far away: callers bound them by
// ctx (Begin by ten seconds, Observe and Ready by one) and make them outside any transaction. A
// payer's setup goes through Begin, the processor's own page, and then Observe: the payer's return
// to ReturnURL is only a hint. A processor whose page is part of the program may also hand the
// result to Service.CompleteSetup; one that sends notifications may call Service.Checkout, which observes.
type Processor interface {
	// Name names the processor to providers, such as "fake".
	Name() string

	// Begin makes a billing request, or finds the one made before under the same start.Key, and
	// says where the payer's browser goes to fulfil it; the address may differ each time.
	Begin(ctx context.Context, start SetupStart) (BillingRequest, error)

	// Observe returns what the processor says of a begun setup: of setup.BillingRequestID, and of the
	// mandate that came of it. Before the payer is done that is BillingPending, MandateNone and
	// CustomerInProgress; once it is BillingFulfilled, all fields must be filled, or the setup does
	// not count as complete. Authorised comes when money may be collected. now is the service's
	// clock, for processors that simulate one. It is asked by polls, at most every two seconds for a
	// billing request, and before a confirm. After an error a poll is answered from the record, and a confirm is told to
	// try again.
	Observe(ctx context.Context, setup checkout.Setup, now time.Time) (checkout.Observation, error)

	// Ready returns nil if the processor can be reached and would take a Begin. It changes
	// nothing there.
	Ready(ctx context.Context) error
}

// SetupStart is what a processor needs to begin a bank setup.
type SetupStart struct {
	Key         string // 32 characters of 0-9a-f for the enrolment and try: the processor's idempotency key
	CheckoutID  string
	ReturnURL   string // the setup page, where the processor sends the payer's browser back to
	Token       string // setup token, for a processor whose page is part of the program
	BaseURL     string // of the service, likewise
	Student     checkout.Student
	Description string // what the payer agrees to: the course's name
}

// BillingRequest is a begun bank setup.
type BillingRequest struct {
	ID  string
	URL string // where the payer goes
}

// Printer draws agreements.
type Printer interface {
	// Print returns the agreement as a PDF. The same agreement gives the same bytes. It never
	// panics, whatever the names hold. ErrBusy if too many are being drawn, and ctx ended before
	// this one's turn came.
	Print(ctx context.Context, a agreement.Agreement) ([]byte, error)
}

// Sender sends events.
type Sender interface {
	// Send makes one attempt, counted from 1, to deliver to the destination, in 2 seconds at
	// most, and returns nil if the receiver answered 2xx. It follows no redirect and reads no more of
	// the answer than it must. Its error holds neither the destination's secret nor its answer.
	Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) error
}
