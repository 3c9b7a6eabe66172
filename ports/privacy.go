package ports

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Retention finds and erases personal data that was kept for long enough.
type Retention interface {
	// OldCheckouts looks at the checkouts in an order that never changes, at most limit of them, from the cursor that the call
	// before returned, or from the first for "". It returns the ids of those that are not erased and are
	// either confirmed and were created before a time, or not confirmed and were created before another; of those that are
	// confirmed, were created before that time and are erased, while the entry of their agreement in the evidence log has its
	// salt; and next, which is "" at the end.
	OldCheckouts(ctx context.Context, cursor string, limit int, confirmed, open time.Time) (ids []string, next string, err error)

	// EraseCheckouts passes the checkouts with these ids, as they are now and those that exist, to decide, and stores what
	// comes back, all of it or nothing, atomically: the checkouts; for each of them its agreement as Agreement.Erased returns
	// it, its document without its bytes, its jobs without receipts and without the reasons of failed attempts, and the moment; the
	// entries of the agreements in Unsalted, if there are such, without their
	// salt; and the entry of the evidence log. No other update of these checkouts happens
	// in between. An error of decide is returned as it is; nothing is stored then. decide may run more than once, must not block and
	// must not call the store. The order in which it gets the checkouts is not defined.
	EraseCheckouts(ctx context.Context, ids []string, decide func([]checkout.Checkout) (checkout.Erasure, error)) error
}

// Privacy finds the personal data of a student.
type Privacy interface {
	// ExportStudent passes to visit every checkout whose student has this e-mail address, the letters A to Z in any case,
	// as Export does: in one read snapshot and in the order of their creation. One that was erased has no address. Of
	// visit only Checkout and Unreadable are called.
	ExportStudent(ctx context.Context, email string, visit Visitor) error

	// Scrub removes what was erased from where the store's files still have it, as far as the store can: from
	// free space, and from the log of its writes. It may take as long as a copy of everything, and writes wait for it
	// meanwhile; ErrBusy if others use the store too much for it. Backups, and copies elsewhere, are not reached.
	Scrub(ctx context.Context) error
}
