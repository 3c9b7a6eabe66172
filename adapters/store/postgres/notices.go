package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	insertNotice = `INSERT INTO @.notices (due_ms, ` + sqlstore.Notice.Names() + `)
		VALUES ($1, ` + sqlstore.Notice.Numbers(2) + `) ON CONFLICT (id) DO NOTHING`
	selectNotices = `SELECT ` + sqlstore.NoticeRecord.Names() + ` FROM @.notices
		WHERE checkout_id = ANY ($1) ORDER BY checkout_id, seq`
	selectDueNotices = `SELECT ` + sqlstore.DueNotice.Names() + ` FROM @.notices
		WHERE status = 'pending' AND due_ms <= $1 ORDER BY due_ms, seq LIMIT $2`
)

const (
	leaseNotice = `UPDATE @.notices SET epoch = epoch + 1, due_ms = $3
		WHERE id = $1 AND epoch = $2 AND status = 'pending'`
	settleNotice = `UPDATE @.notices SET status = $3, attempts = attempts + $4, due_ms = $5, sent_ms = $6, reference = $7, answer = $8,
			failure = coalesce(nullif($9, ''), failure), failed_ms = coalesce($10, failed_ms)
		WHERE id = $1 AND epoch = $2 AND status = 'pending'`
	selectPendingNotice = `SELECT epoch FROM @.notices WHERE id = $1 AND status = 'pending'`
	eraseNotices        = `UPDATE @.notices SET answer = '', failure = '' WHERE checkout_id = $1`
	selectNoticeBacklog = `SELECT count(*), min(created_ms) FROM @.notices WHERE status = 'pending'`
)

// queueNotices adds what stores the notices that are not on record.
func (b *batch) queueNotices(notices []checkout.Notice) {
	for _, n := range notices {
		b.queue(insertNotice, sqlstore.Notice.Values(&n, sqlstore.Millis(n.CreatedAt))...)
	}
}

// DueNotices implements [ports.Notices].
func (db *DB) DueNotices(ctx context.Context, now time.Time, limit int) ([]ports.DueNotice, error) {
	due, err := all(ctx, db, scanColumns(sqlstore.DueNotice), selectDueNotices, now.UnixMilli(), limit)
	if err != nil {
		return nil, fmt.Errorf("read due notices: %w", err)
	}
	return due, nil
}

// LeaseNotice implements [ports.Notices]. If the outcome of its commit is not known and a further attempt finds another
// epoch, it cannot know who has the lease: it returns ErrNotFound, and the notice waits until that lease ends.
func (db *DB) LeaseNotice(ctx context.Context, id string, epoch int64, until time.Time) (int64, error) {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		n, err := t.exec(ctx, leaseNotice, id, epoch, sqlstore.Millis(until))
		if err == nil && n == 0 {
			err = ports.ErrNotFound
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("lease notice %s at epoch %d: %w", id, epoch, err)
	}
	return epoch + 1, nil
}

// SettleNotice implements [ports.Notices]. If the outcome of its commit is not known and a further attempt finds the notice
// settled, that commit settled it, because only the holder of the lease does.
func (db *DB) SettleNotice(ctx context.Context, id string, epoch int64, o ports.NoticeOutcome) error {
	args := append([]any{id, epoch}, sqlstore.NoticeOutcomeValues(o)...)
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		n, err := t.exec(ctx, settleNotice, args...)
		if err != nil || n == 1 {
			return err
		}
		if t.outcomeUnknown {
			pending, err := rows(ctx, t, pgx.RowTo[int64], selectPendingNotice, id)
			if err != nil || len(pending) == 0 {
				return err
			}
		}
		return ports.ErrNotFound
	})
	if err != nil {
		return fmt.Errorf("settle notice %s at epoch %d: %w", id, epoch, err)
	}
	return nil
}

// NoticeBacklog implements [ports.Notices].
func (db *DB) NoticeBacklog(ctx context.Context) (pending int, oldest time.Time, err error) {
	b, err := one(ctx, db, scanBacklog, selectNoticeBacklog)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count notices: %w", err)
	}
	return b.pending, b.oldest, nil
}
