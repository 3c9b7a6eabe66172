package sqlstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// list is one of a provider's lists.
type list struct {
	name string
	// entries returns a query for the first entries that have, say, listed > ?, with its arguments.
	entries func(columns, listed string, cursor checkout.Cursor, q checkout.ListQuery, limit int) (query string, args []any)
	key     string // the columns by which enter finds an entry: its time and two ids
	enter   string // the statement that gives an entry its cursor, unless it has changed
}

const (
	lockList = `INSERT INTO @.lists AS l (provider_code, name, last) VALUES (?, ?, 0)
		ON CONFLICT (provider_code, name) DO UPDATE SET last = l.last RETURNING last`
	writeList       = `UPDATE @.lists SET last = ? WHERE provider_code = ? AND name = ?`
	unlistEnrolment = `UPDATE @.checkouts SET updated_ms = ?, listed = 0 WHERE provider_code = ? AND id = ?`
)

var eventList = list{
	name:  "events",
	key:   `created_ms, checkout_id, id`,
	enter: `UPDATE @.jobs SET listed = ? WHERE created_ms = ? AND ` + ofJob + ` AND listed = 0`,
	entries: func(columns, listed string, cursor checkout.Cursor, q checkout.ListQuery, limit int) (string, []any) {
		var w where
		w.add(`provider_code = ? AND kind = 'deliver' AND created_ms > ?`, q.ProviderCode, q.Since.UnixMilli())
		w.addIf(q.OrderID != "", `checkout_id IN (SELECT c.id FROM @.checkouts AS c WHERE c.provider_code = ? AND c.provider_order_id = ?)`,
			q.ProviderCode, q.OrderID)
		w.add(listed, int64(cursor))
		return `SELECT ` + columns + ` FROM @.jobs` + w.String() + ` ORDER BY listed, created_ms, checkout_id, position LIMIT ?`,
			append(w.args, limit)
	},
}

var enrolmentList = list{
	name:  "enrolments",
	key:   `updated_ms, id, provider_order_id`,
	enter: `UPDATE @.checkouts SET listed = ? WHERE updated_ms = ? AND provider_code = ? AND id = ? AND provider_order_id = ? AND listed = 0`,
	// The entries of each status are in the order of an index.
	entries: func(columns, listed string, cursor checkout.Cursor, q checkout.ListQuery, limit int) (string, []any) {
		var ofStatus []string
		args := []any{q.ProviderCode}
		for _, status := range checkout.Listed() {
			if q.Status != "" && q.Status != status {
				continue
			}
			var w where
			w.add(`provider_code = ? AND status = ? AND updated_ms > ?`, q.ProviderCode, string(status), q.Since.UnixMilli())
			w.addIf(q.OrderID != "", `provider_order_id = ?`, q.OrderID)
			w.add(listed, int64(cursor))
			ofStatus = append(ofStatus,
				`SELECT id FROM (SELECT id FROM @.checkouts`+w.String()+` ORDER BY listed, updated_ms, id LIMIT ?) AS of_status`)
			args = slices.Concat(args, w.args, []any{limit})
		}
		return `SELECT ` + columns + ` FROM @.checkouts WHERE provider_code = ? AND id IN (` + strings.Join(ofStatus, ` UNION ALL `) +
			`) ORDER BY listed, updated_ms, id LIMIT ?`, append(args, limit)
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
		events = append(events, checkout.ListedEvent{Cursor: r.cursor, EventRecord: checkout.EventOf(r.Record())})
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
	if err := s.extend(ctx, l, q); err != nil {
		return nil, err
	}
	query, args := l.entries(columns, `listed > ?`, max(q.After, checkout.CursorAt(q.Since)), q, q.Limit)
	return All(ctx, s.engine, scan, query, args...)
}

// extend gives cursors to the oldest entries without a cursor, as many as fit a page. A further attempt leaves the entries out
// to which an earlier attempt gave theirs.
func (s *Store) extend(ctx context.Context, l list, q checkout.ListQuery) error {
	type entry struct {
		at              time.Time
		checkoutID, job string
	}
	query, args := l.entries(l.key, `listed = ?`, 0, q, q.Limit)
	if fresh, err := Has(ctx, s.engine, query, args...); !fresh || err != nil {
		return err
	}
	return s.Do(ctx, "enter in the list of "+l.name, func(ctx context.Context, t Tx) error {
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
			last = last.Next(e.at)
			b.Write(l.enter, int64(last), e.at.UnixMilli(), q.ProviderCode, e.checkoutID, e.job)
		}
		b.Write(writeList, int64(last), q.ProviderCode, l.name)
		return t.Commit(ctx, &b)
	})
}
