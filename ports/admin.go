package ports

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Admin is a store for the operator's commands.
type Admin interface {
	Store
	Configurer
	Exporter
	Operations
	Desk
}

// Configurer changes what the operator configured. With each change comes did, the act of the operator, and is stored with it; a nil
// did records nothing.
type Configurer interface {
	// ReplaceProviders passes all configurations, in the order of the provider codes, to decide and stores its result in
	// their place, with its act. ErrDuplicate if a provider's code comes twice, or a course's within a provider. Courses and
	// options keep their order. Keys and checkouts are not changed. The result is stored as it is: decide checks it
	// (catalogue.Configuration.Check).
	ReplaceProviders(ctx context.Context,
		decide func([]catalogue.Configuration) (after []catalogue.Configuration, did *checkout.Act, err error)) error

	// Keys returns every API key in the order of their creation, by CreatedAt and then by their ids.
	Keys(ctx context.Context) ([]catalogue.Key, error)

	// AddKey stores a new API key. ErrDuplicate if its id or hash is taken.
	AddKey(ctx context.Context, key catalogue.Key, did *checkout.Act) error

	// RevokeKey marks the API key as revoked, unless it is already: then the first time stays, and nothing is recorded.
	// ErrNotFound if there is no such key.
	RevokeKey(ctx context.Context, id string, at time.Time, did *checkout.Act) error
}

// Exporter reads everything on record.
type Exporter interface {
	// Export passes everything to visit in one read snapshot: configurations in the order of their codes, then keys, then
	// checkouts, each in the order of their creation, by CreatedAt and then by their ids. However many checkouts there are,
	// memory is bounded. An error of visit ends it and is returned as it is.
	Export(ctx context.Context, visit checkout.Visitor) error

	// ExportStudent passes, as Export does, only the checkouts whose student has this e-mail address, the letters A to Z in any
	// case. An erased checkout has no address.
	ExportStudent(ctx context.Context, email string, visit checkout.Visitor) error
}

// Operations stores operators' acts that change nothing else, and reads what operators did.
type Operations interface {
	// RecordAct stores an act. Acts of one time keep the order in which they were stored.
	RecordAct(ctx context.Context, did checkout.Act) error

	// Acts returns the newest acts that the filter admits, at most limit, the newest first.
	Acts(ctx context.Context, f checkout.ActFilter, limit int) ([]checkout.Act, error)

	// HastenJob makes a job due now and ends its lease, with the moment in the journal of its checkout, if it has one, and the act.
	// A job that has failed is pending then; an event has its attempts once more. ErrNotFound if there is no such job or it is not
	// to be hastened (checkout.JobRecord.Hastens).
	HastenJob(ctx context.Context, id string, m checkout.Moment, did checkout.Act) error

	// Scrub removes erased data from the store's files, as far as the store can: from free space, and from the log of its
	// writes. It may take as long as a copy of everything, and writes wait for it meanwhile; ErrBusy if others use the store
	// too much for it. Backups, and copies elsewhere, are not reached.
	Scrub(ctx context.Context) error
}

// Desk answers what operators ask about all checkouts. It only reads: on PostgreSQL in a transaction that is READ ONLY. A
// question that takes longer than two seconds ends with ErrBusy.
type Desk interface {
	// Find returns the checkouts that a query names, at most limit: the newest first, or the checkouts that have a trouble by the time
	// since when. A checkout whose personal data is erased is not found by a name or an address.
	Find(ctx context.Context, q checkout.Query, limit int) ([]checkout.Hit, error)

	// Troubles counts what needs a hand at a time, by trouble and provider. Troubles without a count are left out.
	Troubles(ctx context.Context, now time.Time) ([]checkout.TroubleCount, error)
}
