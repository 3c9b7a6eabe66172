package sqlstore

import (
	"context"
	"strings"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Events implements [ports.Journal]. The settled events are in the order of an index, and another one has the pending events.
func (s *Store) Events(ctx context.Context, q checkout.ListQuery) ([]checkout.ListedEvent, error) {
	behind := []any{q.After.Position}
	if s.dialect.Server {
		behind = []any{q.After.Epoch, q.After.Position}
	}
	var parts []string
	var args []any
	for _, state := range []string{`state <> 'pending'`, `state = 'pending'`} {
		var w where
		w.add(state+` AND provider_code = ? AND kind = 'deliver' AND created_ms > ?`, q.ProviderCode, q.Since.UnixMilli())
		w.addIf(q.OrderID != "", `checkout_id IN (SELECT c.id FROM @.checkouts AS c WHERE c.provider_code = ? AND c.provider_order_id = ?)`,
			q.ProviderCode, q.OrderID)
		w.add(s.dialect.Behind, behind...)
		parts = append(parts, `SELECT * FROM (SELECT * FROM @.jobs`+w.String()+` ORDER BY `+s.dialect.Listed+` LIMIT ?) AS part`)
		args = append(append(args, w.args...), q.Limit)
	}
	type row struct {
		JobRow
		cursor checkout.Cursor
	}
	rows, err := All(ctx, s.engine, Fields(func(r *row) []any {
		return append([]any{&r.cursor.Epoch, &r.cursor.Position}, JobRecord.Destinations(&r.JobRow)...)
	}), `SELECT `+s.dialect.Epoch+`, `+s.dialect.Place+`, `+JobRecord.Names()+` FROM (`+strings.Join(parts, ` UNION ALL `)+`) AS parts ORDER BY `+
		s.dialect.Listed+` LIMIT ?`, append(args, q.Limit)...)
	var list []checkout.ListedEvent
	for _, r := range rows {
		list = append(list, checkout.ListedEvent{Cursor: r.cursor, EventRecord: checkout.EventOf(r.Shown(r.Until))})
	}
	return list, wrap(err, "list the events of provider %s", q.ProviderCode)
}
