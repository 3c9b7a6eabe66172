package checkout

import "github.com/provider-checkout/provider-checkout/money/text"

// MaxListed is the largest number of events of a page, and the usual one.
const MaxListed = 100

// List is a provider's request for a page of its events.
type List struct {
	After   Optional[Cursor]
	Limit   Optional[int]
	OrderID Optional[string]
}

// Check returns how many events the page has at most, or a VALIDATION_ERROR.
func (l List) Check() (limit int, err error) {
	k := newChecker(l.After, l.Limit, l.OrderID)
	limit = MaxListed
	if l.OrderID.Given {
		k.text(FieldOfOrder, l.OrderID, text.Check)
	}
	if l.Limit.Given {
		limit = l.Limit.Value
	}
	if limit < 1 || limit > MaxListed {
		k.fault(FieldLimit, "must be a whole number from 1 to %d", MaxListed)
	}
	return limit, k.err()
}

// RefuseCursor refuses a list behind a text that is no cursor.
func RefuseCursor() error {
	return refuseFields([]Fault{{FieldAfter, "must be a cursor, or the next, of an earlier answer"}})
}
