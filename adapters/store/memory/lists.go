package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// enrol notes for the list of enrolments that a checkout has changed at a time, or was inserted.
func (r *row) enrol(was checkout.Checkout, at time.Time) {
	switch {
	case was.ID == "":
		r.updated = stored(r.checkout.CreatedAt)
	case !r.checkout.SameEnrolment(was):
		r.updated, r.listed = stored(at), 0
	}
}

// Events implements [ports.Lists].
func (s *Store) Events(ctx context.Context, q checkout.ListQuery) ([]checkout.ListedEvent, error) {
	return read(ctx, s, func() (events []checkout.ListedEvent, err error) {
		var all []entry
		for _, j := range s.queue.all {
			given := j.Job
			if given.Kind == checkout.JobDeliver && given.ProviderCode == q.ProviderCode && (q.OrderID == "" || given.OrderID == q.OrderID) {
				all = append(all, entry{given.CreatedAt, given.CheckoutID, given.ID, &j.listed})
			}
		}
		for _, e := range s.page("events", q, all) {
			events = append(events, checkout.ListedEvent{Cursor: *e.listed, EventRecord: checkout.EventOf(s.queue.byID[e.id].record())})
		}
		return events, nil
	})
}

// Enrolments implements [ports.Lists].
func (s *Store) Enrolments(ctx context.Context, q checkout.ListQuery) ([]checkout.ListedEnrolment, error) {
	return read(ctx, s, func() (enrolments []checkout.ListedEnrolment, err error) {
		var all []entry
		for id, r := range s.rows {
			c := &r.checkout
			if c.ProviderCode == q.ProviderCode && slices.Contains(checkout.Listed(), c.Status) &&
				(q.OrderID == "" || c.OrderID == q.OrderID) && (q.Status == "" || c.Status == q.Status) {
				all = append(all, entry{r.updated, id, id, &r.listed})
			}
		}
		for _, e := range s.page("enrolments", q, all) {
			enrolments = append(enrolments, checkout.ListedEnrolment{Cursor: *e.listed, UpdatedAt: e.at, Checkout: s.rows[e.id].checkout})
		}
		return enrolments, nil
	})
}

// entry is an entry of a list.
type entry struct {
	at             time.Time
	checkoutID, id string
	listed         *checkout.Cursor
}

// page returns a page of a list. While there is room, the oldest entries that have no cursor get one: behind a cursor of a store that
// was lost the first of them may all come before it.
func (s *Store) page(list string, q checkout.ListQuery, all []entry) []entry {
	slices.SortStableFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(*a.listed, *b.listed), a.at.Compare(b.at), cmp.Compare(a.checkoutID, b.checkoutID))
	})
	var found, fresh []entry
	for _, e := range all {
		switch {
		case !e.at.After(stored(q.Since)):
		case *e.listed == 0:
			fresh = append(fresh, e)
		case *e.listed > q.After:
			found = append(found, e)
		}
	}
	of := name{q.ProviderCode, list}
	for _, e := range fresh {
		if len(found) >= q.Limit {
			break
		}
		s.lists[of] = s.lists[of].Next(q.Enters(e.at))
		if *e.listed = s.lists[of]; *e.listed > q.After {
			found = append(found, e)
		}
	}
	return found[:min(len(found), q.Limit)]
}
