package postgres

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const (
	selectMoments = `SELECT ` + rows.MomentColumns + ` FROM moments WHERE provider_code = $1 AND checkout_id = $2 ORDER BY position, id`
	noteUse       = `UPDATE api_keys SET last_used_ms = $2 WHERE id = $1 AND last_used_ms < $2`
)

// Note implements [ports.Journal].
func (db *DB) Note(ctx context.Context, moments []checkout.Noted, uses []checkout.KeyUse) error {
	return db.write(ctx, "note moments", func(b *batch) {
		insert(b, addMoment, rows.OfNoted(moments)...)
		for _, u := range uses {
			b.Queue(noteUse, u.KeyID, rows.Millis(u.Minute))
		}
	})
}

// Moments implements [ports.Journal].
func (db *DB) Moments(ctx context.Context, checkoutID string) ([]checkout.Moment, error) {
	return list(ctx, db, "moments of "+checkoutID, rows.Moment.Moment, selectMoments, checkout.ProviderOf(checkoutID), checkoutID)
}

const (
	selectOld = `SELECT id, status, created_ms, erased_ms, EXISTS (SELECT 1 FROM jobs AS j
			WHERE j.provider_code = c.provider_code AND j.checkout_id = c.id AND ` + oldJob + `)
		FROM checkouts AS c WHERE (provider_code, id) > ($1, $2) ORDER BY provider_code, id LIMIT $5`
	deleteOld = `DELETE FROM jobs WHERE provider_code = $1 AND checkout_id = $2 AND ` + oldJob
	// oldJob takes how long an event and another job is kept.
	oldJob = `state <> 'pending' AND kind <> 'sync'
		AND settled_ms < ` + clock + ` - CASE kind WHEN 'deliver' THEN CAST($3 AS bigint) ELSE CAST($4 AS bigint) END`
)

// OldCheckouts implements [ports.Retention]. The cursor is the id of the checkout that was looked at last.
func (db *DB) OldCheckouts(ctx context.Context, cursor string, limit int, confirmed, open time.Time) (ids []string, next string, err error) {
	events, others := checkout.EventsKept.Milliseconds(), checkout.JobsKept.Milliseconds()
	page, err := list(ctx, db, "old checkouts", itself[rows.Kept], selectOld, checkout.ProviderOf(cursor), cursor, events, others, limit+1)
	if err != nil {
		return nil, "", err
	}
	ids, withOldJobs, next := rows.Old(page, limit, confirmed, open)
	if len(withOldJobs) > 0 {
		err = db.write(ctx, "delete old jobs", func(b *batch) {
			for _, id := range withOldJobs {
				b.Queue(deleteOld, checkout.ProviderOf(id), id, events, others)
			}
		})
	}
	return ids, next, err
}

// KeepSandboxRecord stores a record of the fake processor under a name, unless there is one already: that stays.
func (db *DB) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	return db.write(ctx, "sandbox record "+name, func(b *batch) {
		b.Queue(`INSERT INTO sandbox_records (name, data) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, data)
	})
}

// SandboxRecord returns the record under a name, or ports.ErrNotFound.
func (db *DB) SandboxRecord(ctx context.Context, name string) ([]byte, error) {
	r, err := get(ctx, db, "sandbox record "+name, itself[value[[]byte]], `SELECT data FROM sandbox_records WHERE name = $1`, name)
	return r.V, err
}

// DropSandboxRecords removes the records under the names with a prefix.
func (db *DB) DropSandboxRecords(ctx context.Context, prefix string) error {
	return db.write(ctx, "sandbox records "+prefix, func(b *batch) {
		b.Queue(`DELETE FROM sandbox_records WHERE starts_with(name, $1)`, prefix)
	})
}
