package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/column"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	insertNotice = `INSERT INTO notices (due_ms, ` + column.Notice.Names() + `)
		VALUES (?, ` + column.Notice.Marks() + `) ON CONFLICT (id) DO NOTHING`
	selectNotices    = `SELECT ` + column.NoticeRecord.Names() + ` FROM notices WHERE checkout_id = ? ORDER BY seq`
	selectDueNotices = `SELECT ` + column.DueNotice.Names() + ` FROM notices
		WHERE status = 'pending' AND due_ms <= ? ORDER BY due_ms, seq LIMIT ?`
)

const (
	leaseNotice = `UPDATE notices SET epoch = epoch + 1, due_ms = ?
		WHERE id = ? AND epoch = ? AND status = 'pending'`
	settleNotice = `UPDATE notices SET status = ?, attempts = attempts + ?, due_ms = ?, sent_ms = ?, reference = ?, answer = ?,
			failure = coalesce(nullif(?, ''), failure), failed_ms = coalesce(?, failed_ms)
		WHERE id = ? AND epoch = ? AND status = 'pending'`
	eraseNotices        = `UPDATE notices SET answer = '', failure = '' WHERE checkout_id = ?`
	selectNoticeBacklog = `SELECT count(*), min(created_ms) FROM notices WHERE status = 'pending'`
)

func (tx *tx) storeNotices(ctx context.Context, notices []checkout.Notice) error {
	for _, n := range notices {
		if _, err := tx.exec(ctx, insertNotice, column.Notice.Values(&n, column.Millis(n.CreatedAt))...); err != nil {
			return fmt.Errorf("insert notice %s: %w", n.ID, err)
		}
	}
	return nil
}

// DueNotices implements [ports.Notices].
func (db *DB) DueNotices(ctx context.Context, now time.Time, limit int) ([]ports.DueNotice, error) {
	due, err := all(ctx, &db.readers, scanColumns(column.DueNotice), selectDueNotices, now.UnixMilli(), limit)
	if err != nil {
		return nil, fmt.Errorf("read due notices: %w", err)
	}
	return due, nil
}

// LeaseNotice implements [ports.Notices].
func (db *DB) LeaseNotice(ctx context.Context, id string, epoch int64, until time.Time) (int64, error) {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		return tx.execOne(ctx, leaseNotice, column.Millis(until), id, epoch)
	})
	if err != nil {
		return 0, fmt.Errorf("lease notice %s at epoch %d: %w", id, epoch, err)
	}
	return epoch + 1, nil
}

// SettleNotice implements [ports.Notices].
func (db *DB) SettleNotice(ctx context.Context, id string, epoch int64, o ports.NoticeOutcome) error {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		return tx.execOne(ctx, settleNotice, append(column.NoticeOutcomeValues(o), id, epoch)...)
	})
	if err != nil {
		return fmt.Errorf("settle notice %s at epoch %d: %w", id, epoch, err)
	}
	return nil
}

// NoticeBacklog implements [ports.Notices].
func (db *DB) NoticeBacklog(ctx context.Context) (pending int, oldest time.Time, err error) {
	b, err := one(ctx, &db.readers, scanBacklog, selectNoticeBacklog)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count notices: %w", err)
	}
	return b.pending, b.oldest, nil
}
