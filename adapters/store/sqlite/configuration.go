package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	selectProviders = `SELECT ` + rows.ProviderColumns + ` FROM providers ORDER BY code`
	selectSome      = `SELECT ` + rows.ProviderColumns + ` FROM providers WHERE code IN (SELECT value FROM json_each(?)) ORDER BY code`
	selectCourse    = `SELECT ` + rows.CourseColumns + ` FROM courses WHERE provider_code = ? AND code = ?`
	selectCourses   = `SELECT ` + rows.CourseColumns + ` FROM courses ORDER BY provider_code, position`
	selectKey       = `SELECT ` + rows.KeyColumns + ` FROM api_keys WHERE hash = ?`
	selectKeys      = `SELECT ` + rows.KeyColumns + ` FROM api_keys ORDER BY created_ms, id`

	deleteProviders = `DELETE FROM providers`
	deleteCourses   = `DELETE FROM courses`
	insertProvider  = `INSERT INTO providers (` + rows.ProviderColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertCourse    = `INSERT INTO courses (` + rows.CourseColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	insertKey = `INSERT INTO api_keys (` + rows.KeyColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	revokeKey = `UPDATE api_keys SET revoked_ms = ? WHERE id = ? AND revoked_ms = 0`
	existsKey = `SELECT EXISTS (SELECT 1 FROM api_keys WHERE id = ?)`
)

func (db *DB) Providers(ctx context.Context, codes ...string) ([]catalogue.Provider, error) {
	if len(codes) == 0 {
		return list(ctx, db, "providers", db.provider, selectProviders)
	}
	return list(ctx, db, "providers", db.provider, selectSome, jsonList(codes))
}

func (db *DB) provider(r rows.Provider) (catalogue.Provider, error) { return r.Provider(db.encrypter) }

// jsonList returns texts as the statements take a list.
func jsonList[T ~string](list []T) string {
	text, err := json.Marshal(append([]T{}, list...))
	if err != nil {
		panic(err) // a text always marshals
	}
	return string(text)
}

func (db *DB) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	return get(ctx, db, "course of provider "+provider, rows.Course.Course, selectCourse, provider, code)
}

func (db *DB) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	return get(ctx, db, "API key", rows.Key.Key, selectKey, hash[:])
}

// configurations returns everything that is configured.
func (db *DB) configurations(ctx context.Context, c *conn) ([]catalogue.Configuration, error) {
	providers, err := all(ctx, c, db.provider, selectProviders)
	courses, coursesErr := all(ctx, c, itself[rows.Course], selectCourses)
	if err := errors.Join(err, coursesErr); err != nil {
		return nil, err
	}
	return rows.Configurations(providers, courses)
}

func (db *DB) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error)) error {
	return db.do(ctx, false, func(t *tx) {
		if err := db.replace(ctx, t, decide); err != nil {
			t.fail(err)
		}
	})
}

// replace replaces all configurations, and encrypts the webhook secrets anew.
func (db *DB) replace(ctx context.Context, t *tx,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error)) error {
	before, err := db.configurations(ctx, t.conn)
	if err != nil {
		return err
	}
	after, acts, err := decide(before)
	if err != nil {
		return err
	}
	providers, courses, err := rows.OfConfigurations(after, db.encrypter)
	if err != nil {
		return err
	}
	t.exec(deleteCourses)
	t.exec(deleteProviders)
	insert(t, insertProvider, providers...)
	insert(t, insertCourse, courses...)
	t.record(acts...)
	return nil
}

// record stores acts.
func (t *tx) record(acts ...checkout.Act) {
	for _, a := range acts {
		insert(t, insertAct, rows.OfAct(a))
	}
}

func (db *DB) Keys(ctx context.Context) ([]catalogue.Key, error) {
	return list(ctx, db, "API keys", rows.Key.Key, selectKeys)
}

func (db *DB) AddKey(ctx context.Context, key catalogue.Key, act checkout.Act) error {
	return db.write(ctx, "API key "+key.ID, func(t *tx) {
		insert(t, insertKey, rows.OfKey(key))
		t.record(act)
	})
}

func (db *DB) RevokeKey(ctx context.Context, id string, at time.Time, act checkout.Act) error {
	return db.write(ctx, "API key "+id, func(t *tx) {
		if t.exec(revokeKey, rows.Millis(at), id) > 0 {
			t.record(act)
		} else if !t.reports(existsKey, id) {
			t.fail(ports.ErrNotFound)
		}
	})
}

const (
	insertMoment = `INSERT INTO moments (` + rows.MomentColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (provider_code, checkout_id, id) DO UPDATE SET times = times + excluded.times`
	// noteMoment adds a moment of a checkout that is on record.
	noteMoment = `INSERT INTO moments (` + rows.MomentColumns + `)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 WHERE EXISTS (SELECT 1 FROM checkouts WHERE provider_code = ?1 AND id = ?2)
		ON CONFLICT (provider_code, checkout_id, id) DO UPDATE SET times = times + excluded.times`
	selectMoments = `SELECT ` + rows.MomentColumns + ` FROM moments WHERE provider_code = ? AND checkout_id = ? ORDER BY position, id`

	noteUse = `UPDATE api_keys SET last_used_ms = ?2 WHERE id = ?1 AND last_used_ms < ?2`

	// selectPage takes the cursor, a limit, and the times before which an event and another job was settled.
	selectPage = `SELECT id, status, created_ms, erased_ms, EXISTS (
			SELECT 1 FROM jobs AS j WHERE j.provider_code = c.provider_code AND j.checkout_id = c.id AND +j.state <> 'pending'
				AND +j.kind <> 'sync' AND j.settled_ms < iif(j.kind = 'deliver', ?4, ?5))
		FROM checkouts AS c WHERE (provider_code, id) > (?1, ?2) ORDER BY provider_code, id LIMIT ?3`
	// deleteJobs takes the checkout and these times.
	deleteJobs = `DELETE FROM jobs WHERE provider_code = ? AND checkout_id = ? AND state <> 'pending' AND kind <> 'sync'
		AND settled_ms < iif(kind = 'deliver', ?, ?)`

	keepSandboxRecord   = `INSERT INTO sandbox_records (name, data) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`
	selectSandboxRecord = `SELECT data FROM sandbox_records WHERE name = ?`
	dropSandboxRecords  = `DELETE FROM sandbox_records WHERE name >= ?1 AND substr(name, 1, length(?1)) = ?1`
)

func (db *DB) Note(ctx context.Context, moments []checkout.Noted, uses []checkout.KeyUse) error {
	return db.write(ctx, "note moments", func(t *tx) {
		insert(t, noteMoment, rows.OfNoted(moments)...)
		for _, u := range uses {
			t.exec(noteUse, u.KeyID, rows.Millis(u.Minute))
		}
	})
}

func (db *DB) Moments(ctx context.Context, checkoutID string) ([]checkout.Moment, error) {
	return list(ctx, db, "moments of "+checkoutID, rows.Moment.Moment, selectMoments, checkout.ProviderOf(checkoutID), checkoutID)
}

// OldCheckouts implements [ports.Retention]. The cursor is the id of the checkout that was looked at last.
func (db *DB) OldCheckouts(ctx context.Context, cursor string, limit int, confirmed, open time.Time) (ids []string, next string, err error) {
	now := db.now()
	events, others := rows.Millis(now.Add(-checkout.EventsKept)), rows.Millis(now.Add(-checkout.JobsKept))
	page, err := list(ctx, db, "old checkouts", itself[rows.Kept], selectPage, checkout.ProviderOf(cursor), cursor, limit+1, events, others)
	if err != nil {
		return nil, "", err
	}
	ids, withOldJobs, next := rows.Old(page, limit, confirmed, open)
	if len(withOldJobs) > 0 {
		err = db.write(ctx, "delete old jobs", func(t *tx) {
			for _, id := range withOldJobs {
				t.exec(deleteJobs, checkout.ProviderOf(id), id, events, others)
			}
		})
	}
	return ids, next, err
}

// KeepSandboxRecord stores a record of the fake processor under a name, unless there is one already: that stays.
func (db *DB) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	data = append([]byte{}, data...)
	return db.write(ctx, "sandbox record "+name, func(t *tx) { t.exec(keepSandboxRecord, name, data) })
}

// SandboxRecord returns the record under a name, or ports.ErrNotFound.
func (db *DB) SandboxRecord(ctx context.Context, name string) ([]byte, error) {
	r, err := get(ctx, db, "sandbox record "+name, itself[value[[]byte]], selectSandboxRecord, name)
	return r.v, err
}

// DropSandboxRecords removes the records under the names with a prefix.
func (db *DB) DropSandboxRecords(ctx context.Context, prefix string) error {
	return db.write(ctx, "sandbox records "+prefix, func(t *tx) { t.exec(dropSandboxRecords, prefix) })
}
