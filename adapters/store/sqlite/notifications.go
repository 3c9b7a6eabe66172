package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/column"
	"github.com/provider-checkout/provider-checkout/ports"
)

var _ ports.Notifications = (*DB)(nil)

var (
	insertNotification = `INSERT INTO notifications (` + column.Notification.Names() + `)
		VALUES (` + column.Notification.Marks() + `) ON CONFLICT DO NOTHING`
	// A notification without a time was received before any time: NULL comes first.
	selectUnsettled = `SELECT ` + column.Notification.Names() + ` FROM notifications
		WHERE settled_ms IS NULL AND (received_ms < ? OR received_ms IS NULL) ORDER BY received_ms, id LIMIT ?`
	selectTask = `SELECT ` + column.Task.Names() + ` FROM tasks WHERE name = ?`
)

const (
	settleNotification = `UPDATE notifications SET settled_ms = ? WHERE id = ? AND settled_ms IS NULL`

	leaseTask = `INSERT INTO tasks (name, epoch, cursor, leased_until_ms) VALUES (?, 1, '', ?)
		ON CONFLICT (name) DO UPDATE SET epoch = epoch + 1, leased_until_ms = excluded.leased_until_ms
		WHERE leased_until_ms <= ? OR leased_until_ms IS NULL`
	saveTask = `UPDATE tasks SET cursor = ?, leased_until_ms = ? WHERE name = ? AND epoch = ?`
)

// KeepNotifications implements [ports.Notifications].
func (db *DB) KeepNotifications(ctx context.Context, given []ports.Notification) (fresh []ports.Notification, err error) {
	if len(given) == 0 {
		return nil, nil
	}
	err = db.inTx(ctx, func(ctx context.Context, tx *tx) (err error) {
		fresh, err = tx.keepNotifications(ctx, given)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("keep %d notifications: %w", len(given), err)
	}
	return fresh, nil
}

func (tx *tx) keepNotifications(ctx context.Context, given []ports.Notification) (fresh []ports.Notification, err error) {
	for _, n := range given {
		err := tx.execOne(ctx, insertNotification, column.Notification.Values(&n)...)
		if errors.Is(err, ports.ErrNotFound) { // nothing was written: the id is on record
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("insert notification %s: %w", n.ID, err)
		}
		n.Received = column.Stored(n.Received)
		fresh = append(fresh, n)
	}
	return fresh, nil
}

// PendingNotifications implements [ports.Notifications].
func (db *DB) PendingNotifications(ctx context.Context, before time.Time, limit int) ([]ports.Notification, error) {
	pending, err := all(ctx, &db.readers, scanColumns(column.Notification), selectUnsettled, before.UnixMilli(), limit)
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
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		for _, id := range ids {
			if _, err := tx.exec(ctx, settleNotification, at.UnixMilli(), id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("settle %d notifications: %w", len(ids), err)
	}
	return nil
}

// LeaseTask implements [ports.Notifications].
func (db *DB) LeaseTask(ctx context.Context, name string, now, until time.Time) (t ports.Task, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		err := tx.execOne(ctx, leaseTask, name, column.Millis(until), now.UnixMilli())
		if errors.Is(err, ports.ErrNotFound) { // nothing was written
			return fmt.Errorf("it is leased: %w", ports.ErrBusy)
		}
		if err == nil {
			t, err = one(ctx, tx, scanColumns(column.Task), selectTask, name)
		}
		return err
	})
	if err != nil {
		return ports.Task{}, fmt.Errorf("lease task %s: %w", name, err)
	}
	return t, nil
}

// SaveTask implements [ports.Notifications].
func (db *DB) SaveTask(ctx context.Context, name string, t ports.Task, until time.Time) error {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		return tx.execOne(ctx, saveTask, t.Cursor, column.Millis(until), name, t.Epoch)
	})
	if err != nil {
		return fmt.Errorf("save task %s at epoch %d: %w", name, t.Epoch, err)
	}
	return nil
}
