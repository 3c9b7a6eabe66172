package ports

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Retention finds and erases personal data that was kept for long enough.
type Retention interface {
	// OldCheckouts looks at no more than limit checkouts, in an order that never changes, from the cursor that the last call
	// returned, or from the first for "". It returns the ids of the confirmed checkouts that were created before confirmed and
	// are not erased, or whose agreement's entry in the evidence log still has its salt; of the other checkouts that were
	// created before open and are not erased; and next, which is "" at the end.
	OldCheckouts(ctx context.Context, cursor string, limit int, confirmed, open time.Time) (ids []string, next string, err error)

	// EraseCheckouts passes the checkouts with these ids that exist, as they are now and in any order, to decide, and stores
	// the result atomically: the checkouts; for each its agreement as Agreement.Erased returns it, its document without its
	// bytes, its jobs without receipts and reasons of failures, and the moment; the entries of the agreements in Unsalted that
	// exist, without their salt; and the entry of the evidence log. No other update of these checkouts happens in between. An
	// error of decide is returned as it is; nothing is stored then. decide may run more than once, must not block and must not
	// call the store.
	EraseCheckouts(ctx context.Context, ids []string, decide func([]checkout.Checkout) (checkout.Erasure, error)) error
}

// Privacy finds the personal data of a student.
type Privacy interface {
	// ExportStudent passes to visit every checkout whose student has this e-mail address, the letters A to Z in any case, as
	// Export does: in one read snapshot and in the order of their creation. An erased checkout has no address. Only
	// visit.Checkout and visit.Unreadable are called.
	ExportStudent(ctx context.Context, email string, visit Visitor) error

	// Scrub removes erased data from the store's files, as far as the store can: from free space, and from the log of its
	// writes. It may take as long as a copy of everything, and writes wait for it meanwhile; ErrBusy if others use the store
	// too much for it. Backups, and copies elsewhere, are not reached.
	Scrub(ctx context.Context) error
}
