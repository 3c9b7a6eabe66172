package ports

import (
	"context"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Store is a store for a service.
//
// The writes of a method that returned nil survive the death of the process, of the machine and of the store itself, and every
// later read in any process sees them. Text comes back byte for byte, and times in UTC to the millisecond.
type Store interface {
	Checkouts
	Agreements
	Queue
	Journal
	Configuration
	Evidence
	Retention

	// Ready returns nil if the store takes writes now, which it tests by a durable write that changes nothing, and if its
	// schema is not older than this program's.
	Ready(ctx context.Context) error
}

// Checkouts keeps checkouts with their agreements. A change of a checkout is stored with its events, other jobs and moments.
type Checkouts interface {
	// InsertCheckout stores the change, or nothing. It returns ErrDuplicate if the provider already used the order id or the
	// idempotency key, if the checkout's id is taken, if two of its events have one id, or if the checkout would have two
	// events of one name. Every checkout has a key, and two of one provider never have the same, whether it came in a header
	// or is the default (checkout.DefaultKey). Of concurrent inserts that make each other duplicates, one succeeds.
	InsertCheckout(ctx context.Context, change checkout.Change, enqueue checkout.Enqueue) error

	// Checkout returns the checkout, or ErrNotFound.
	Checkout(ctx context.Context, id string) (checkout.Checkout, error)

	// FindCheckout returns the checkout that a reference names, or ErrNotFound.
	FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error)

	// UpdateCheckout passes the checkout as it is now to decide and stores the resulting change atomically: no other update of
	// the checkout happens in between. Jobs of the change whose ids are on record, in any state, are left out. An error of
	// decide is returned as it is, and a panic of decide reaches the caller; nothing is stored then. decide may run more than
	// once, must not block and must not call the store. The identity of a checkout (id, provider, order, key) never changes.
	// ErrNotFound if there is no such checkout; ErrDuplicate if the provider has the agreement's number, its evidence (whose id
	// has the number) or an event is on record, the checkout would have two events of one name, or it has an agreement or
	// document already; another error for a document without an agreement. A change that removes the checkout, which has no agreement and no events, removes its jobs and its
	// journal, and leaves its order, its key and its id free.
	UpdateCheckout(ctx context.Context, id string, enqueue checkout.Enqueue,
		decide func(checkout.Checkout) (checkout.Change, error)) error
}

// Agreements reads agreements and their documents, which enter the store with a Change.
type Agreements interface {
	// Agreement returns the agreement with this number (PPA-…), or ErrNotFound.
	Agreement(ctx context.Context, number string) (agreement.Agreement, error)

	// Document returns the PDF of the agreement with this number, or ErrNotFound, also if it was never rendered.
	Document(ctx context.Context, number string) (agreement.Document, error)
}

// Configuration reads the operator's configuration.
type Configuration interface {
	// Provider returns the provider, without its courses, or ErrNotFound.
	Provider(ctx context.Context, code string) (catalogue.Provider, error)

	// Providers returns every provider in the order of the codes.
	Providers(ctx context.Context) ([]catalogue.Provider, error)

	// Course returns a course of a provider, or ErrNotFound.
	Course(ctx context.Context, provider, code string) (catalogue.Course, error)

	// Key returns the API key with this hash, revoked or not, or ErrNotFound. It writes nothing. A key needs no
	// configuration of its provider.
	Key(ctx context.Context, hash [32]byte) (catalogue.Key, error)
}
