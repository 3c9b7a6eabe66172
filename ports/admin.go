package ports

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Admin is a store for the operator's commands. What is said of a [Store] holds of it too.
type Admin interface {
	Store
	Configurer
	Desk
}

// Configurer changes what the operator configured. The acts are stored in the same commit.
type Configurer interface {
	// ReplaceProviders passes all configurations, in the order of the provider codes, to decide and stores its result in their place.
	// ErrDuplicate if a provider's code comes twice, or a course's within a provider. Courses and options keep their order. Keys and
	// checkouts are not changed. decide may run more than once, and must not call the store; its error is returned as it is.
	ReplaceProviders(ctx context.Context,
		decide func([]catalogue.Configuration) (after []catalogue.Configuration, acts []checkout.Act, err error)) error

	// Keys returns every API key in the order of their creation, by CreatedAt and then by their ids.
	Keys(ctx context.Context) ([]catalogue.Key, error)

	// AddKey stores a new API key. ErrDuplicate if its id or hash is taken.
	AddKey(ctx context.Context, key catalogue.Key, act checkout.Act) error

	// RevokeKey marks an API key as revoked, unless it is already: then the first time stays, and the act is not stored. ErrNotFound if
	// there is no such key.
	RevokeKey(ctx context.Context, id string, at time.Time, act checkout.Act) error
}

// Desk answers what operators ask about all checkouts. It only reads, but for Scrub. A question that takes longer than two seconds
// ends with ErrBusy.
type Desk interface {
	// Find returns the checkouts that a query names, at most limit: the newest first, or the checkouts that have a trouble by the time
	// since when, and for checkout.TroubleCRM by the first payment. By a name or an address it finds the checkouts whose payer
	// has begun, and of the others the checkouts of the last checkout.SearchDays. A checkout whose personal data is erased is found by neither.
	Find(ctx context.Context, q checkout.Query, limit int) ([]checkout.Hit, error)

	// Troubles counts, by trouble and provider, the checkouts that Find would return at this time. Troubles without a count are
	// left out, and the order is free. A job that is refused for good is a trouble since it was settled, and a job that the CRM or
	// the processor has refused since it entered or began anew. Of several in a checkout the earliest counts.
	Troubles(ctx context.Context, now time.Time) ([]checkout.TroubleCount, error)

	// Acts returns the acts that the filter admits, at most limit, the newest first, and of one time by later ids.
	Acts(ctx context.Context, f checkout.ActFilter, limit int) ([]checkout.Act, error)

	// Export passes everything to visit in one read snapshot: configurations in the order of their codes, then keys, then checkouts,
	// each in the order of their creation. With an e-mail address it passes nothing but the
	// checkouts of the student who has it, the letters A to Z in any case. However many there are, memory is bounded. An error of visit
	// ends it and is returned as it is.
	Export(ctx context.Context, email string, visit checkout.Visitor) error

	// Scrub removes erased data from the store's files, as far as the store can: from free space, and from the log of its writes. It
	// may take as long as a copy of everything, and writes wait for it meanwhile; ErrBusy if others use the store too much for it.
	// Backups, and copies elsewhere, are not reached.
	Scrub(ctx context.Context) error
}
