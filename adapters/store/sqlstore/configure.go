package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	takenAPIKey  = `SELECT 1 FROM @.api_keys WHERE id = ? OR hash = ?`
	useAPIKey    = `UPDATE @.api_keys SET last_used_day = ? WHERE id = ? AND last_used_day < ?`
	revokeAPIKey = `UPDATE @.api_keys SET revoked_ms = ? WHERE id = ?`

	insertCourse = `INSERT INTO @.courses (provider_code, code, position, name, price_cents, upfront_cents, active, environment, prices)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertOption = `INSERT INTO @.plan_options
		(provider_code, course_code, position, payment_frequency, number_of_instalments, instalment_cents)
		VALUES (?, ?, ?, ?, ?, ?)`

	insertSandboxRecord = `INSERT INTO @.sandbox_records (name, data) VALUES (?, ?)`
	dropSandboxRecords  = `DELETE FROM @.sandbox_records WHERE name >= ? AND substr(name, 1, length(CAST(? AS text))) = ?`
)

// AddKey implements [ports.Configurer].
func (s *Store) AddKey(ctx context.Context, k catalogue.Key, did *checkout.Act) error {
	return s.Do(ctx, "add API key "+k.ID, func(ctx context.Context, t Tx) error {
		var b Batch
		b.Write(insertAPIKey, Key.Values(&k)...)
		b.unique(takenAPIKey, k.ID, k.Hash[:])
		b.record(did)
		err := t.Commit(ctx, &b)
		if t.Again() && errors.Is(err, ports.ErrDuplicate) { // perhaps by an earlier attempt
			stored, readErr := All(ctx, t, Scan(Key), selectKey, k.Hash[:])
			if readErr != nil || len(stored) == 1 && stored[0].ID == k.ID {
				return readErr
			}
		}
		return err
	})
}

// UseKeys implements [ports.Configuration].
func (s *Store) UseKeys(ctx context.Context, ids []string, day string) error {
	return s.Do(ctx, fmt.Sprintf("note the use of %d API keys", len(ids)), func(ctx context.Context, t Tx) error {
		var b Batch
		for _, id := range slices.Sorted(slices.Values(ids)) { // in their order, so that two calls do not deadlock
			b.Write(useAPIKey, day, id, day)
		}
		return t.Commit(ctx, &b)
	})
}

// RevokeKey implements [ports.Configurer].
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time, did *checkout.Act) error {
	return s.Do(ctx, "revoke API key "+id, func(ctx context.Context, t Tx) error {
		var b Batch
		var found []Time
		Get(&b, ScanValue[Time], func(revoked Time) { found = append(found, revoked) }, s.statements.lockKey, id)
		switch err := t.Lock(ctx, &b); {
		case err != nil:
			return err
		case len(found) == 0:
			return ports.ErrNotFound
		case !time.Time(found[0]).IsZero():
			return nil // it stays as it is, also if it was an earlier attempt that revoked it
		}
		b = Batch{}
		b.Write(revokeAPIKey, Millis(at), id)
		b.record(did)
		return t.Commit(ctx, &b)
	})
}

// ReplaceProviders implements [ports.Configurer]. The lock on the store's row makes replacements wait for each other, and
// for a rotation of the secret.
func (s *Store) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error)) error {
	var after []catalogue.Configuration // of the latest attempt
	return s.Do(ctx, "replace providers", func(ctx context.Context, t Tx) error {
		var b Batch
		Get(&b, scanStamp, func(secrets.Stamp) {}, s.statements.lockStamp)
		if err := t.Lock(ctx, &b); err != nil {
			return wrap(err, "lock")
		}
		before, err := configurations(ctx, t, s.encrypter)
		if err != nil {
			return err
		}
		if t.Again() && len(catalogue.Diff(before, after)) == 0 {
			return nil // an earlier attempt was committed
		}
		var did *checkout.Act
		if after, did, err = decide(before); err != nil {
			return refused{err}
		}
		if twice := catalogue.Twice(after); twice != "" {
			return fmt.Errorf("%s: %w", twice, ports.ErrDuplicate)
		}
		b = Batch{}
		for _, table := range []string{`plan_options`, `courses`, `providers`} {
			b.Write(`DELETE FROM @.` + table)
		}
		for _, c := range after {
			if err := b.configure(c, s.encrypter); err != nil {
				return fmt.Errorf("provider %s: %w", c.Provider.Code, err)
			}
		}
		b.record(did)
		return t.Commit(ctx, &b)
	})
}

// configure adds what stores a configuration.
func (b *Batch) configure(conf catalogue.Configuration, e *secrets.Encrypter) error {
	row, err := NewProviderRow(conf.Provider, e)
	if err != nil {
		return err
	}
	provider := conf.Provider.Code
	b.Write(insertProvider, Provider.Values(&row)...)
	for i, c := range conf.Courses {
		b.Write(insertCourse, provider, c.Code, i, c.Name, int64(c.Price), int64(c.Upfront), c.Active, string(c.Environment), pricesText(c.Prices))
		for j, o := range c.Options {
			b.Write(insertOption, provider, c.Code, j, string(o.Frequency), o.Number, int64(o.Amount))
		}
	}
	return nil
}

// KeepSandboxRecord stores what the fake processor keeps under a name, unless there is something already: that stays.
func (s *Store) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	var b Batch
	b.Write(insertSandboxRecord+" ON CONFLICT DO NOTHING", name, append([]byte{}, data...))
	return s.repeatable(ctx, "store sandbox record "+name, b)
}

// DropSandboxRecords removes what is stored under the names with this prefix.
func (s *Store) DropSandboxRecords(ctx context.Context, prefix string) error {
	var b Batch
	b.Write(dropSandboxRecords, prefix, prefix, prefix)
	return s.repeatable(ctx, "remove sandbox records "+prefix, b)
}

// repeatable commits what leads to the same if it is run again: if its outcome is not known, the store is busy.
func (s *Store) repeatable(ctx context.Context, doing string, b Batch) error {
	err := s.Do(ctx, doing, func(ctx context.Context, t Tx) error { return t.Commit(ctx, &b) })
	if errors.Is(err, ErrUnknown) {
		return fmt.Errorf("%w: %w", ports.ErrBusy, err)
	}
	return err
}
