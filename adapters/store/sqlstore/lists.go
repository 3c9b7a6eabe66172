package sqlstore

import (
	"context"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// list is one of a provider's lists.
type list struct {
	name string
	// parts returns the parts in which the list is read, each from a table with conditions.
	parts func(d Dialect, q checkout.ListQuery) []where
	order string // of entries without a cursor
	key   string // the columns by which enter finds an entry: its time and two ids
	enter string // the statement that gives an entry its cursor, unless it has changed
}

// entries returns a query for the first entries that have, say, listed > ?, with its arguments.
func (l list) entries(d Dialect, columns, listed string, cursor checkout.Cursor, q checkout.ListQuery) (query string, args []any) {
	var parts []string
	for _, w := range l.parts(d, q) {
		w.add(listed, int64(cursor))
		parts = append(parts, `SELECT * FROM (SELECT * FROM `+strings.Join(w.conditions, ` AND `)+` ORDER BY listed, `+l.order+` LIMIT ?) AS part`)
		args = append(append(args, w.args...), q.Limit)
	}
	return `SELECT ` + columns + ` FROM (` + strings.Join(parts, ` UNION ALL `) + `) AS parts ORDER BY listed, ` + l.order + ` LIMIT ?`,
		append(args, q.Limit)
}

const (
	lockList = `INSERT INTO @.lists AS l (provider_code, name, last) VALUES (?, ?, 0)
		ON CONFLICT (provider_code, name) DO UPDATE SET last = l.last RETURNING last`
	writeList       = `UPDATE @.lists SET last = ? WHERE provider_code = ? AND name = ?`
	unlistEnrolment = `UPDATE @.checkouts SET updated_ms = ?, listed = 0 WHERE provider_code = ? AND id = ?`
)

// The settled events are in the order of an index, and another one has the pending events.
var eventList = list{
	name:  "events",
	order: `created_ms, checkout_id, position`,
	key:   `created_ms, checkout_id, id`,
	enter: `UPDATE @.jobs SET listed = ? WHERE created_ms = ? AND ` + ofJob + ` AND listed = 0`,
	parts: func(_ Dialect, q checkout.ListQuery) (parts []where) {
		for _, table := range []string{`@.jobs WHERE state <> 'pending'`, `@.jobs WHERE state = 'pending'`} {
			var w where
			w.add(table+` AND provider_code = ? AND kind = 'deliver' AND created_ms > ?`, q.ProviderCode, q.Since.UnixMilli())
			w.addIf(q.OrderID != "", `checkout_id IN (SELECT c.id FROM @.checkouts AS c WHERE c.provider_code = ? AND c.provider_order_id = ?)`,
				q.ProviderCode, q.OrderID)
			parts = append(parts, w)
		}
		return parts
	},
}

// The entries of each status are in the order of an index, but for checkouts whose words are not filled in yet.
var enrolmentList = list{
	name:  "enrolments",
	order: `updated_ms, id`,
	key:   `updated_ms, id, provider_order_id`,
	enter: `UPDATE @.checkouts SET listed = ? WHERE updated_ms = ? AND provider_code = ? AND id = ? AND provider_order_id = ? AND listed = 0`,
	parts: func(d Dialect, q checkout.ListQuery) (parts []where) {
		for _, status := range checkout.Listed() {
			if q.Status != "" && q.Status != status {
				continue
			}
			for _, table := range []string{`@.checkouts WHERE search_name IS NOT NULL`, d.Unfolded} {
				var w where
				w.add(table+` AND provider_code = ? AND status = ? AND updated_ms > ?`, q.ProviderCode, string(status), q.Since.UnixMilli())
				w.addIf(q.OrderID != "", `provider_order_id = ?`, q.OrderID)
				parts = append(parts, w)
			}
		}
		return parts
	},
}

// Events implements [ports.Lists].
func (s *Store) Events(ctx context.Context, q checkout.ListQuery) ([]checkout.ListedEvent, error) {
	type row struct {
		JobRow
		cursor checkout.Cursor
	}
	rows, err := page(ctx, s, eventList, q, `listed, `+JobRecord.Names(), Fields(func(r *row) []any {
		return append([]any{(*int64)(&r.cursor)}, JobRecord.Destinations(&r.JobRow)...)
	}))
	var events []checkout.ListedEvent
	for _, r := range rows {
		events = append(events, checkout.ListedEvent{Cursor: r.cursor, EventRecord: checkout.EventOf(r.Shown(r.Until))})
	}
	return events, wrap(err, "list the events of provider %s", q.ProviderCode)
}

// Enrolments implements [ports.Lists].
func (s *Store) Enrolments(ctx context.Context, q checkout.ListQuery) ([]checkout.ListedEnrolment, error) {
	enrolments, err := page(ctx, s, enrolmentList, q, `listed, updated_ms, `+Checkout.Names(), Fields(func(e *checkout.ListedEnrolment) []any {
		return append([]any{(*int64)(&e.Cursor), (*Instant)(&e.UpdatedAt)}, Checkout.Destinations(&e.Checkout)...)
	}))
	return enrolments, wrap(err, "list the enrolments of provider %s", q.ProviderCode)
}

// page returns a page of a list. Entries without a cursor are given theirs first (see checkout.Cursor), so that a page that is not full
// ends the list as it was when the page was asked for.
func page[T any](ctx context.Context, s *Store, l list, q checkout.ListQuery, columns string, scan func(Row) (T, error)) ([]T, error) {
	query, args := l.entries(s.dialect, columns, `listed > ?`, max(q.After, checkout.CursorAt(q.Since)), q)
	for {
		more, err := s.extend(ctx, l, q)
		if err != nil {
			return nil, err
		}
		rows, err := All(ctx, s.engine, scan, query, args...)
		if err != nil || !more || len(rows) == q.Limit { // or else behind a cursor of a store that was lost there may be more
			return rows, err
		}
	}
}

// extend gives cursors to the oldest entries without a cursor, as many as fit a page, and reports whether there may be more. A further
// attempt leaves the entries out to which an earlier attempt gave theirs.
func (s *Store) extend(ctx context.Context, l list, q checkout.ListQuery) (more bool, err error) {
	type entry struct {
		at              time.Time
		checkoutID, job string
	}
	query, args := l.entries(s.dialect, l.key, `listed = ?`, 0, q)
	if fresh, err := Has(ctx, s.engine, query, args...); !fresh || err != nil {
		return false, err
	}
	err = s.Do(ctx, "enter in the list of "+l.name, func(ctx context.Context, t Tx) error {
		var b Batch
		var last checkout.Cursor
		Get(&b, ScanValue[int64], func(n int64) { last = checkout.Cursor(n) }, lockList, q.ProviderCode, l.name)
		if err := t.Lock(ctx, &b); err != nil {
			return err
		}
		fresh, err := All(ctx, t, Fields(func(e *entry) []any { return []any{(*Instant)(&e.at), &e.checkoutID, &e.job} }), query, args...)
		if err != nil {
			return err
		}
		b = Batch{}
		for _, e := range fresh {
			last = last.Next(q.Enters(e.at))
			b.Write(l.enter, int64(last), e.at.UnixMilli(), q.ProviderCode, e.checkoutID, e.job)
		}
		more = len(fresh) == q.Limit
		b.Write(writeList, int64(last), q.ProviderCode, l.name)
		return t.Commit(ctx, &b)
	})
	return more, err
}
