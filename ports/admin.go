package ports

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// Admin is a store for the operator's commands.
type Admin interface {
	Store
	Configurer
	Exporter
	EvidenceReader
	Operations
	Desk
}

// Configurer changes what the operator configured. With each change comes did, the entry of the evidence log that says who
// made it, and is stored with it. A nil did records nothing. Every method returns ErrDuplicate if the
// id of did is taken.
type Configurer interface {
	// ReplaceProviders passes all configurations, in the order of the provider codes, to decide and stores its result in
	// their place, with its entry. ErrDuplicate if a provider's code comes twice, or a course's within a provider. Courses and
	// options keep their order. Keys and checkouts are not changed. The result is stored as it is: decide checks it
	// (catalogue.Configuration.Check).
	ReplaceProviders(ctx context.Context,
		decide func([]catalogue.Configuration) (after []catalogue.Configuration, did *evidence.Entry, err error)) error

	// Keys returns every API key in the order of their creation, by CreatedAt and then by their ids.
	Keys(ctx context.Context) ([]catalogue.Key, error)

	// AddKey stores a new API key. ErrDuplicate if its id or hash is taken.
	AddKey(ctx context.Context, key catalogue.Key, did *evidence.Entry) error

	// RevokeKey marks the API key as revoked, unless it is already: then the first time stays, and nothing is recorded.
	// ErrNotFound if there is no such key.
	RevokeKey(ctx context.Context, id string, at time.Time, did *evidence.Entry) error
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

// Operations stores operators' acts that change nothing else, and reads what an operator asks for.
type Operations interface {
	// Attempts returns the log of the attempts to deliver the event, redeliveries among them, in the order in which they were
	// recorded: of many the newest. ErrNotFound if there is no such event.
	Attempts(ctx context.Context, e events.Event) ([]checkout.Attempt, error)

	// HastenJob makes a pending job due now and ends its lease, with the moment in the journal of its checkout, if it has
	// one, and the entry of the operation. ErrNotFound if there is no such job or it is not pending.
	HastenJob(ctx context.Context, id string, m checkout.Moment, did evidence.Entry) error

	// Scrub removes erased data from the store's files, as far as the store can: from free space, and from the log of its
	// writes. It may take as long as a copy of everything, and writes wait for it meanwhile; ErrBusy if others use the store
	// too much for it. Backups, and copies elsewhere, are not reached.
	Scrub(ctx context.Context) error
}

// EvidenceReader reads the entries of the evidence log.
type EvidenceReader interface {
	// SealedEvidence returns at most limit sealed entries in the order of their positions, from a position on.
	SealedEvidence(ctx context.Context, from int64, limit int) ([]evidence.Entry, error)
}
