package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	insertCheckout = `INSERT INTO @.checkouts (` + sqlstore.Checkout.Names() + `) VALUES (` + sqlstore.Checkout.Numbers(1) + `)`
	updateCheckout = `UPDATE @.checkouts SET (` + changing.Names() + `) = (` + changing.Numbers(3) + `) WHERE provider_code = $1 AND id = $2`
	lockCheckout   = dialect.SelectCheckout() + ` FOR UPDATE`

	insertAgreement = `INSERT INTO @.agreements (` + sqlstore.Agreement.Names() + `) VALUES (` + sqlstore.Agreement.Numbers(1) + `)`

	changing = slices.Concat(sqlstore.State, sqlstore.Lookups)
)

const (
	lockCheckoutOnly = `SELECT id FROM @.checkouts WHERE provider_code = $1 AND id = $2 FOR UPDATE`
	insertDocument   = `INSERT INTO @.documents (provider_code, agreement_number, id, sha256, bytes) VALUES ($1, $2, $3, $4, $5)`

	// What belongs to a checkout, as it is under its lock.
	selectJournal = `SELECT coalesce((SELECT max(position) FROM @.moments WHERE provider_code = $1 AND checkout_id = $2), 0),
		ARRAY (SELECT once FROM @.moments WHERE provider_code = $1 AND checkout_id = $2 AND once <> '')`
	selectKnown = selectJournal + `,
		coalesce((SELECT max(position) FROM @.jobs WHERE provider_code = $1 AND checkout_id = $2), 0),
		ARRAY (SELECT id FROM @.jobs WHERE provider_code = $1 AND checkout_id = $2 AND kind = 'deliver'),
		ARRAY (SELECT name FROM @.jobs WHERE provider_code = $1 AND checkout_id = $2 AND kind = 'deliver'),
		coalesce((SELECT number FROM @.agreements WHERE provider_code = $1 AND checkout_id = $2), '')`

	takenCheckout = `SELECT 1 FROM @.checkouts WHERE provider_code = ? AND (id = ? OR provider_order_id = ? OR idempotency_key = ?)`
	takenNumber   = `SELECT 1 FROM @.agreements WHERE provider_code = ? AND (number = ? OR checkout_id = ?)`
	takenDocument = `SELECT 1 FROM @.documents WHERE provider_code = ? AND agreement_number = ?`

	deleteRedeliveries = `DELETE FROM @.redeliveries WHERE provider_code = $1 AND event_id IN
		(SELECT id FROM @.jobs WHERE provider_code = $1 AND checkout_id = $2)`
	deleteJobs     = `DELETE FROM @.jobs WHERE provider_code = $1 AND checkout_id = $2`
	deleteMoments  = `DELETE FROM @.moments WHERE provider_code = $1 AND checkout_id = $2`
	deleteCheckout = `DELETE FROM @.checkouts WHERE provider_code = $1 AND id = $2`
)

// locked is a checkout whose row is locked, and what else is known of it. Everything that is added to a checkout is added under
// this lock, so that positions and names are free.
type locked struct {
	checkout checkout.Checkout
	provider string
	id       string
	number   string // of its agreement; "" without an agreement
	job      int64  // the latest position, like moment
	moment   int64
	once     []string // texts of the moments that are appended once
	events   []string // ids and names
	names    []string
}

// lock adds the statements that lock a checkout and read what a change of it must know.
func (b *batch) lock(id string) *locked {
	l := &locked{provider: checkout.ProviderOf(id), id: id}
	b.queue(lockCheckout, l.provider, id).QueryRow(into(sqlstore.Checkout, &l.checkout))
	b.queue(selectKnown, l.provider, id).QueryRow(func(r pgx.Row) error {
		return r.Scan(&l.moment, &l.once, &l.job, &l.events, &l.names, &l.number)
	})
	return l
}

// lockJournal adds the statements that lock a checkout and read what is needed to append to its journal. Its id stays "" if it does
// not exist.
func (b *batch) lockJournal(id string) *locked {
	l := &locked{provider: checkout.ProviderOf(id)}
	b.queue(lockCheckoutOnly, l.provider, id).Query(func(r pgx.Rows) error {
		_, err := pgx.ForEachRow(r, []any{&l.id}, func() error { return nil })
		return err
	})
	b.queue(selectJournal, l.provider, id).QueryRow(func(r pgx.Row) error { return r.Scan(&l.moment, &l.once) })
	return l
}

// InsertCheckout implements [ports.Checkouts]. It is one round trip and one commit.
func (db *DB) InsertCheckout(ctx context.Context, change checkout.Change, enqueue checkout.Enqueue) error {
	c := change.Next
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		b := t.batch()
		b.queue(insertCheckout, sqlstore.Checkout.Values(&c)...)
		l := &locked{checkout: c, provider: c.ProviderCode, id: c.ID}
		if err := b.queueRest(l, change, enqueue); err != nil {
			return err
		}
		err := t.commitUnless(ctx, b, func() (bool, error) {
			if taken, err := has(ctx, t, takenCheckout, c.ProviderCode, c.ID, c.OrderID, c.IdempotencyKey); taken || err != nil {
				return taken, err
			}
			return t.taken(ctx, l, change)
		})
		if t.outcomeUnknown && errors.Is(mapError(err), ports.ErrDuplicate) {
			t.rollback(ctx)
			if done, err := t.inserted(ctx, c); done || err != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("insert checkout %s: %w", c.ID, err)
	}
	return nil
}

// inserted reports whether it was an earlier attempt that stored what this one finds taken.
func (t *attempt) inserted(ctx context.Context, c checkout.Checkout) (bool, error) {
	found, err := dialect.Checkout(ctx, t, c.ID)
	if errors.Is(err, ports.ErrNotFound) {
		return false, nil
	}
	return found.RequestID == c.RequestID && found.OrderID == c.OrderID, err
}

// commitUnless commits. If the server reports a condition of no known meaning, taken looks whether something is on record already.
func (t *attempt) commitUnless(ctx context.Context, b *batch, taken func() (bool, error)) error {
	err := t.commit(ctx, b)
	if err == nil || !isOther(err) || errors.As(err, new(*retryableError)) {
		return err
	}
	t.rollback(ctx)
	if found, readErr := taken(); readErr == nil && found {
		return fmt.Errorf("%w: %w", ports.ErrDuplicate, err)
	}
	return err
}

// taken reports whether the agreement, the document or the evidence of a change has a name that is taken.
func (t *attempt) taken(ctx context.Context, l *locked, change checkout.Change) (found bool, err error) {
	if a := change.Agreement; a != nil {
		found, err = has(ctx, t, takenNumber, a.Provider.Code, a.Number, a.CheckoutID)
		if found || err != nil {
			return found, err
		}
	}
	if change.Document != nil && change.Agreement == nil {
		found, err = has(ctx, t, takenDocument, l.provider, l.number)
		if found || err != nil {
			return found, err
		}
	}
	return t.recorded(ctx, change.Evidence)
}

// queueRest adds what stores a change beside the checkout.
func (b *batch) queueRest(l *locked, change checkout.Change, enqueue checkout.Enqueue) error {
	if a := change.Agreement; a != nil {
		b.queue(insertAgreement, sqlstore.Agreement.Values(a)...)
		l.number = a.Number
	}
	if d := change.Document; d != nil {
		if l.number == "" {
			return fmt.Errorf("document %s: the checkout has no agreement", d.ID)
		}
		b.queue(insertDocument, l.provider, l.number, d.ID, d.SHA256[:], d.Bytes)
	}
	b.queueEvidence(change.Evidence)
	if err := b.queueJobs(l, change, enqueue); err != nil {
		return err
	}
	b.note(l, change.Moments)
	return nil
}

// Checkout implements [ports.Checkouts].
func (db *DB) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	c, err := dialect.Checkout(ctx, db, id)
	if err == nil && c.Status == checkout.Confirmed {
		err = db.prove(ctx, c)
	}
	return c, err
}

// FindCheckout implements [ports.Checkouts].
func (db *DB) FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error) {
	c, err := dialect.FindCheckout(ctx, db, by)
	if err == nil && (by.OrderID != "" || by.Key != "") {
		err = db.prove(ctx, c)
	}
	return c, err
}

// prove checks that every standby that the server's operator demands has the checkout as it was read. A repeated create or confirm
// is answered from it, which acknowledges what it repeats.
func (db *DB) prove(ctx context.Context, c checkout.Checkout) error {
	if !db.serving {
		return nil
	}
	err := db.do(ctx, func(ctx context.Context, t *attempt) error { return t.prove(ctx, proveCheckout, c.ProviderCode, c.ID) })
	if err != nil {
		return fmt.Errorf("read checkout %s: %w", c.ID, err)
	}
	return nil
}

// proveAnswer does the same within an attempt, if the checkout is confirmed: only then is a request that is refused answered
// from it.
func (t *attempt) proveAnswer(ctx context.Context, c checkout.Checkout) error {
	if !t.db.serving || c.Status != checkout.Confirmed {
		return nil
	}
	return t.prove(ctx, proveCheckout, c.ProviderCode, c.ID)
}

// UpdateCheckout implements [ports.Checkouts]. It takes two round trips: one locks the row, the other writes and
// commits.
func (db *DB) UpdateCheckout(ctx context.Context, id string, enqueue checkout.Enqueue,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	var refusal error
	var wanted checkout.Change // of the latest attempt
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		var l *locked
		err := t.begin(ctx, func(b *batch) { l = b.lock(id) })
		switch {
		case t.outcomeUnknown && wanted.Remove && errors.Is(err, ports.ErrNotFound):
			return nil
		case err != nil:
			return fmt.Errorf("lock: %w", err)
		case t.outcomeUnknown:
			if done, err := t.updated(ctx, l, wanted); done || err != nil {
				return err
			}
		}
		b := t.batch()
		if wanted, refusal = l.decide(decide); refusal != nil {
			t.rollback(ctx) // nothing was written
			return t.proveAnswer(ctx, l.checkout)
		}
		if err := b.queueChange(l, wanted, enqueue); err != nil {
			return err
		}
		return t.commitUnless(ctx, b, func() (bool, error) { return t.taken(ctx, l, wanted) })
	})
	switch {
	case err != nil:
		return fmt.Errorf("update checkout %s: %w", id, err)
	case refusal != nil:
		return refusal
	}
	return nil
}

// decide returns the change that is decided of the checkout, whose identity stays.
func (l *locked) decide(decide func(checkout.Checkout) (checkout.Change, error)) (checkout.Change, error) {
	c := l.checkout
	change, err := decide(c)
	next := &change.Next
	next.ID, next.ProviderCode, next.OrderID, next.IdempotencyKey = c.ID, c.ProviderCode, c.OrderID, c.IdempotencyKey
	return change, err
}

// queueChange adds what stores a change of the checkout.
func (b *batch) queueChange(l *locked, change checkout.Change, enqueue checkout.Enqueue) error {
	if change.Remove {
		for _, statement := range []string{deleteRedeliveries, deleteJobs, deleteMoments, deleteCheckout} {
			b.queue(statement, l.provider, l.id)
		}
		return nil
	}
	b.queue(updateCheckout, changing.Values(&change.Next, l.provider, l.id)...)
	return b.queueRest(l, change, enqueue)
}

// updated reports whether an earlier attempt was committed, given the checkout as it is now, locked, and what that
// attempt wanted: its agreement is on record, or else the checkout is just as it wanted, with its jobs and its moments.
func (t *attempt) updated(ctx context.Context, l *locked, wanted checkout.Change) (bool, error) {
	if wanted.Agreement != nil {
		return l.number == wanted.Agreement.Number, nil
	}
	if !slices.Equal(sqlstore.Checkout.Values(&l.checkout), sqlstore.Checkout.Values(&wanted.Next)) {
		return false, nil
	}
	for _, j := range sqlstore.EnterAll(wanted, checkout.Enqueue{}) {
		if found, err := has(ctx, t, sqlstore.SelectJob, sqlstore.JobKey(j.Row.Job)...); !found || err != nil {
			return false, err
		}
	}
	return t.noted(ctx, l.id, wanted.Moments)
}

// lockAll begins a transaction and locks the checkouts that exist, each in the order of their ids, so that two calls do not deadlock.
func (t *attempt) lockAll(ctx context.Context, ids []string) (found []*locked, err error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	for i, id := range ids {
		queue := func(b *batch) { found = append(found, b.lock(id)) }
		if i == 0 {
			err = t.begin(ctx, queue)
		} else {
			b := &batch{schema: t.db.schema}
			queue(b)
			err = mapNoRows(t.conn.SendBatch(ctx, &b.Batch).Close())
		}
		switch {
		case errors.Is(err, ports.ErrNotFound):
			found = found[:len(found)-1]
		case err != nil:
			return nil, err
		}
	}
	return found, nil
}
