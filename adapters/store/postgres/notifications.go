package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/ports"
)

var _ ports.Notifications = (*DB)(nil)

var (
	insertNotification = `INSERT INTO @.notifications (` + sqlstore.Notification.Names() + `)
		VALUES (` + sqlstore.Notification.Numbers(1) + `) ON CONFLICT DO NOTHING`
	selectNotifications = `SELECT ` + sqlstore.Notification.Names() + ` FROM @.notifications WHERE id = ANY ($1)`
	// A notification without a time was received before any time.
	selectUnsettled = `SELECT ` + sqlstore.Notification.Names() + ` FROM @.notifications
		WHERE settled_ms IS NULL AND (received_ms < $1 OR received_ms IS NULL)
		ORDER BY received_ms NULLS FIRST, id LIMIT $2`

	leaseTask = `INSERT INTO @.tasks AS task (name, epoch, cursor, leased_until_ms) VALUES ($1, 1, '', $2)
		ON CONFLICT (name) DO UPDATE SET epoch = task.epoch + 1, leased_until_ms = excluded.leased_until_ms
		WHERE task.leased_until_ms <= $3 OR task.leased_until_ms IS NULL
		RETURNING ` + sqlstore.Task.Names()
)

const (
	// settleNotifications locks the rows in the order of their ids, so that two calls with the same ids do not deadlock.
	settleNotifications = `WITH unsettled AS (
			SELECT id FROM @.notifications WHERE id = ANY ($1) AND settled_ms IS NULL ORDER BY id FOR UPDATE)
		UPDATE @.notifications AS n SET settled_ms = $2 FROM unsettled WHERE n.id = unsettled.id`
	saveTask = `UPDATE @.tasks SET cursor = $3, leased_until_ms = $4 WHERE name = $1 AND epoch = $2`
)

// KeepNotifications implements [ports.Notifications]. It is one round trip and one commit. If the outcome of that is not
// known, a further attempt finds out what it stored by the content.
func (db *DB) KeepNotifications(ctx context.Context, given []ports.Notification) (fresh []ports.Notification, err error) {
	if len(given) == 0 {
		return nil, nil
	}
	err = db.do(ctx, func(ctx context.Context, t *attempt) (err error) {
		fresh, err = t.keepNotifications(ctx, distinct(given))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("keep %d notifications: %w", len(given), err)
	}
	return fresh, nil
}

// distinct returns the first notification of each id.
func distinct(given []ports.Notification) (first []ports.Notification) {
	seen := make(map[string]bool, len(given))
	for _, n := range given {
		if !seen[n.ID] {
			seen[n.ID] = true
			first = append(first, n)
		}
	}
	return first
}

// keepNotifications inserts in the order of the ids, so that two calls with the same ids do not deadlock. Each id comes
// once.
func (t *attempt) keepNotifications(ctx context.Context, given []ports.Notification) (fresh []ports.Notification, err error) {
	inserted := make(map[string]bool, len(given))
	b := t.batch()
	for _, n := range slices.SortedFunc(slices.Values(given), byID) {
		b.queue(insertNotification, sqlstore.Notification.Values(&n)...).Exec(func(tag pgconn.CommandTag) error {
			inserted[n.ID] = tag.RowsAffected() == 1
			return nil
		})
	}
	if err := t.commit(ctx, b); err != nil {
		return nil, err
	}
	if t.outcomeUnknown {
		if err := t.addKeptBefore(ctx, inserted, given); err != nil {
			return nil, err
		}
	}
	for _, n := range given {
		if inserted[n.ID] {
			n.Received = sqlstore.Stored(n.Received)
			fresh = append(fresh, n)
		}
	}
	return fresh, nil
}

func byID(a, b ports.Notification) int { return strings.Compare(a.ID, b.ID) }

// addKeptBefore adds the notifications that an earlier attempt stored: they are on record just as they are given, with
// the very millisecond in which this process received them.
func (t *attempt) addKeptBefore(ctx context.Context, inserted map[string]bool, given []ports.Notification) error {
	onRecord, err := rows(ctx, t, scanColumns(sqlstore.Notification), selectNotifications, ids(given))
	if err != nil {
		return err
	}
	kept := make(map[string][]any, len(onRecord))
	for _, n := range onRecord {
		kept[n.ID] = sqlstore.Notification.Values(&n)
	}
	for _, n := range given {
		inserted[n.ID] = inserted[n.ID] || slices.Equal(sqlstore.Notification.Values(&n), kept[n.ID])
	}
	return nil
}

func ids(all []ports.Notification) []string {
	list := make([]string, len(all))
	for i, n := range all {
		list[i] = n.ID
	}
	return list
}

// PendingNotifications implements [ports.Notifications].
func (db *DB) PendingNotifications(ctx context.Context, before time.Time, limit int) ([]ports.Notification, error) {
	pending, err := all(ctx, db, scanColumns(sqlstore.Notification), selectUnsettled, before.UnixMilli(), limit)
	if err != nil {
		return nil, fmt.Errorf("read pending notifications: %w", err)
	}
	return pending, nil
}

// SettleNotifications implements [ports.Notifications].
func (db *DB) SettleNotifications(ctx context.Context, ids []string, at time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		_, err := t.exec(ctx, settleNotifications, ids, at.UnixMilli())
		return err
	})
	if err != nil {
		return fmt.Errorf("settle %d notifications: %w", len(ids), err)
	}
	return nil
}

// LeaseTask implements [ports.Notifications]. If the outcome of its commit is not known and a further attempt finds the
// task leased, it cannot know who has the lease: it returns ErrBusy, and the task waits until that lease ends.
func (db *DB) LeaseTask(ctx context.Context, name string, now, until time.Time) (ports.Task, error) {
	var task ports.Task // its epoch is 0 if it is leased
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		task = ports.Task{} // of an attempt whose commit may have failed
		b := t.batch()
		b.queue(leaseTask, name, sqlstore.Millis(until), now.UnixMilli()).QueryRow(func(r pgx.Row) error {
			err := r.Scan(sqlstore.Task.Destinations(&task)...)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		})
		return t.commit(ctx, b)
	})
	if err == nil && task.Epoch == 0 {
		err = fmt.Errorf("it is leased: %w", ports.ErrBusy)
	}
	if err != nil {
		return ports.Task{}, fmt.Errorf("lease task %s: %w", name, err)
	}
	return task, nil
}

// SaveTask implements [ports.Notifications]. If the outcome of its commit is not known and a further attempt finds another
// epoch, it returns ErrNotFound: whether the cursor was saved before that lease or not, its holder goes on from there.
func (db *DB) SaveTask(ctx context.Context, name string, task ports.Task, until time.Time) error {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		n, err := t.exec(ctx, saveTask, name, task.Epoch, task.Cursor, sqlstore.Millis(until))
		if err == nil && n == 0 {
			err = ports.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("save task %s at epoch %d: %w", name, task.Epoch, err)
	}
	return nil
}
