package checkout

import (
	"slices"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/money/text"
)

// Cursor is the place of an entry in one of a provider's lists, its events or its enrolments: the next place for the time of the
// entry in microseconds, or later, so that a list goes on in order also after the store was restored. An entry gets its place
// after its commit, under a lock, the places in their order: no entry ever enters behind a cursor that anybody has seen.
type Cursor int64

// CursorAt returns the first cursor of a time. Every entry of this time or a later one has it, or a later one.
func CursorAt(t time.Time) Cursor { return Cursor(max(0, t.UnixMilli()) * 1000) }

// Next returns the cursor of the next entry, which has this time.
func (c Cursor) Next(at time.Time) Cursor { return max(c+1, CursorAt(at)) }

// String returns the cursor as ParseCursor reads it.
func (c Cursor) String() string { return strconv.FormatInt(int64(c), 10) }

// ParseCursor returns the cursor that a text has.
func ParseCursor(s string) (c Cursor, ok bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	c = Cursor(n)
	return c, err == nil && n >= 0 && c.String() == s
}

// ListQuery asks for a page of one of a provider's lists.
type ListQuery struct {
	ProviderCode string
	OrderID      string    // of this order only; "" for all
	Status       Status    // enrolments in this status only; "" for all
	Since        time.Time // events that were created, or enrolments that were changed, after this time
	After        Cursor    // 0 for the beginning
	Limit        int       // at least 1
	Now          time.Time // of a sandbox whose checkouts have clocks of their own; zero otherwise
}

// Enters returns the time at which an entry of a time enters the list: Now for an entry whose clock is ahead, so that the cursors of the
// entries behind it stay in the present.
func (q ListQuery) Enters(at time.Time) time.Time {
	if !q.Now.IsZero() && q.Now.Before(at) {
		return q.Now
	}
	return at
}

const (
	// EventsKept is the number of days that a provider's list has an event.
	EventsKept = 400
	// MaxListed is the most entries of a page, and how many a page has unless its request says less.
	MaxListed = 100
)

// List is a provider's request for a page of one of its lists.
type List struct {
	After   Optional[Cursor]
	Limit   Optional[int]
	OrderID Optional[string]

	// Of enrolments only.
	Status       Optional[string]
	UpdatedAfter Optional[time.Time]
}

// Query returns what a list is asked for, or a VALIDATION_ERROR.
func (l List) Query(providerCode string) (ListQuery, error) {
	k := newChecker(l.After, l.Limit, l.OrderID, l.Status, l.UpdatedAfter)
	q := ListQuery{ProviderCode: providerCode, OrderID: l.OrderID.Value, Status: Status(l.Status.Value), Since: l.UpdatedAfter.Value,
		After: l.After.Value, Limit: MaxListed}
	if l.Status.Given && !slices.Contains(Listed(), q.Status) {
		k.fault(FieldStatus, "must be one of %q", Listed())
	}
	if l.OrderID.Given {
		k.text(FieldOfOrder, l.OrderID, text.Check)
	}
	if l.Limit.Given {
		q.Limit = l.Limit.Value
	}
	if q.Limit < 1 || q.Limit > MaxListed {
		k.fault(FieldLimit, "must be a whole number from 1 to %d", MaxListed)
	}
	return q, k.err()
}

// EventsSince returns the time after which the events are that a provider's list has now.
func EventsSince(now time.Time) time.Time { return now.AddDate(0, 0, -EventsKept) }

// ListedEvent is an event in its provider's list.
type ListedEvent struct {
	Cursor Cursor
	EventRecord
}

// ListedEnrolment is a checkout in its provider's list. An enrolment that changes moves to the list's end.
type ListedEnrolment struct {
	Cursor    Cursor
	UpdatedAt time.Time // when the list's entry changed: see SameEnrolment
	Checkout  Checkout
}

// SameEnrolment reports whether the list of enrolments says the same of two states of a checkout.
func (c Checkout) SameEnrolment(o Checkout) bool {
	return c.Status == o.Status && c.SetupComplete() == o.SetupComplete() &&
		c.Confirmation.AgreementNumber == o.Confirmation.AgreementNumber
}

// Listed lists the statuses of the checkouts that exist for their provider.
func Listed() []Status { return []Status{SetupRequired, Confirmed, Cancelled} }
