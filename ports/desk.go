package ports

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Desk answers what operators ask about all checkouts. It only reads: on PostgreSQL in a transaction that is READ ONLY. A
// question that takes longer than two seconds ends with ErrBusy. A page has checkout.MaxPage entries at most, and limit is between 1
// and that.
//
// A list continues after the Next of its last page, which is "" for the first: no entry comes twice, and entries that were there
// before the first page and stay are all in it, while others come and go. ErrNotFound for a cursor that is not of the list, or whose
// entry has left it.
type Desk interface {
	// Find returns a page of the checkouts that a query names: first the checkouts that the text names by an id; then the checkouts of
	// persons whose family name and given name begin with it, and of persons whose given name and family name do, each in the order
	// of the folded names; or the checkouts of an address. These, and all checkouts of a provider, come by their ids, of each provider
	// the newest first; the checkouts that have a trouble come by the time since when. A checkout whose personal data is erased is not
	// found by a name or an address.
	Find(ctx context.Context, q checkout.Query, after string, limit int) (checkout.Page, error)

	// Troubles counts what needs a hand at a time, by trouble and provider. Troubles without a count are left out.
	Troubles(ctx context.Context, now time.Time) ([]checkout.TroubleCount, error)

	// Funnel counts, by day and provider, the checkouts that were created from the day of a time on and before that of another (UTC), of
	// one provider or of all for "", in the order of the days and the codes. Every checkout counts once as created, and once in each
	// further column up to that of the farthest moment in its journal.
	Funnel(ctx context.Context, from, to time.Time, provider string) ([]checkout.FunnelDay, error)

	// Concluded returns a page of agreements, the newest first. All pages have every agreement that a month concerns
	// (checkout.Month.Line), and may have others that were accepted before the end of the month.
	Concluded(ctx context.Context, m checkout.Month, after string, limit int) (page []checkout.Concluded, next string, err error)
}
