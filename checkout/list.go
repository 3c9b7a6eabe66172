package checkout

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/money/text"
)

// Cursor is the place of an event in the list of its provider's events. An event never enters before a cursor that a caller has seen.
// Where transactions commit in another order than they begin, events are in the order of Epoch, the number of the transaction.
type Cursor struct{ Epoch, Position int64 }

// String returns the cursor as ParseCursor reads it.
func (c Cursor) String() string {
	if c.Epoch == 0 {
		return strconv.FormatInt(c.Position, 10)
	}
	return fmt.Sprintf("%d.%d", c.Epoch, c.Position)
}

// ParseCursor returns the cursor that a text has.
func ParseCursor(s string) (c Cursor, ok bool) {
	epoch, position, both := strings.Cut(s, ".")
	if !both {
		epoch, position = "0", s
	}
	var bad [2]error
	c.Epoch, bad[0] = strconv.ParseInt(epoch, 10, 64)
	c.Position, bad[1] = strconv.ParseInt(position, 10, 64)
	return c, bad == [2]error{} && c.Epoch >= 0 && c.Position >= 0 && c.String() == s
}

// ListQuery asks for a page of a provider's events.
type ListQuery struct {
	ProviderCode string
	OrderID      string    // of this order only; "" for all
	Since        time.Time // events that were created after this time
	After        Cursor    // zero for the beginning
	Limit        int       // at least 1
}

const (
	// EventsKept is the number of days that a provider's list has an event.
	EventsKept = 400
	// MaxListed is the most events of a page, and how many a page has unless its request says less.
	MaxListed = 100
)

// List is a provider's request for a page of its events.
type List struct {
	After   Optional[Cursor]
	Limit   Optional[int]
	OrderID Optional[string]
}

// Query returns what a list is asked for, or a VALIDATION_ERROR.
func (l List) Query(providerCode string, now time.Time) (ListQuery, error) {
	k := newChecker(l.After, l.Limit, l.OrderID)
	q := ListQuery{ProviderCode: providerCode, OrderID: l.OrderID.Value, Since: now.AddDate(0, 0, -EventsKept), After: l.After.Value,
		Limit: MaxListed}
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

// ListedEvent is an event in its provider's list.
type ListedEvent struct {
	Cursor Cursor
	EventRecord
}
