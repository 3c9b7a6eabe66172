package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	selectPositions = `SELECT position, once FROM @.moments WHERE ` + ofCheckout
	selectEntered   = `SELECT position, kind, id, name FROM @.jobs WHERE ` + ofCheckout
	selectNumber    = `SELECT number FROM @.agreements WHERE ` + ofCheckout
	insertDocument  = `INSERT INTO @.documents (provider_code, agreement_number, id, sha256, bytes) VALUES (?, ?, ?, ?, ?)`

	takenCheckout  = `SELECT 1 FROM @.checkouts WHERE provider_code = ? AND (id = ? OR provider_order_id = ? OR idempotency_key = ?)`
	takenAgreement = `SELECT 1 FROM @.agreements WHERE provider_code = ? AND (number = ? OR checkout_id = ?)`
	takenNumber    = `SELECT 1 FROM @.agreements WHERE number = ?`
	takenDocument  = `SELECT 1 FROM @.documents WHERE provider_code = ? AND agreement_number = ?`

	deleteJobs     = `DELETE FROM @.jobs WHERE ` + ofCheckout
	deleteMoments  = `DELETE FROM @.moments WHERE ` + ofCheckout
	deleteCheckout = `DELETE FROM @.checkouts WHERE provider_code = ? AND id = ?`
)

// locked is a checkout whose row is locked, and what else is known of it. Everything that is added to a checkout is added under
// this lock, so that positions and names are free.
type locked struct {
	checkout     checkout.Checkout
	provider, id string
	found        bool
	job, moment  int64    // the latest positions
	once         []string // texts of the moments that are appended once
	events       []string // ids and names
}

// key returns the values by which what belongs to the checkout is found.
func (l *locked) key() []any { return []any{l.provider, l.id} }

// lock adds the statements that lock a checkout and read what a change of it must know.
func (s *Store) lock(b *Batch, id string) *locked {
	l := &locked{provider: checkout.ProviderOf(id), id: id}
	Get(b, scanCheckout, func(c checkout.Checkout) { l.checkout, l.found = c, true }, s.statements.lockCheckout, l.key()...)
	if s.dialect.Server {
		l.readJobs(b)
		l.readMoments(b)
	}
	return l
}

// lockID adds the statement that locks a checkout.
func (s *Store) lockID(b *Batch, id string) *locked {
	l := &locked{provider: checkout.ProviderOf(id), id: id}
	Get(b, ScanValue[string], func(string) { l.found = true }, s.statements.lockCheckoutID, l.key()...)
	return l
}

// lockJournal adds the statements that lock a checkout and read what is needed to append to its journal.
func (s *Store) lockJournal(b *Batch, id string) *locked {
	l := s.lockID(b, id)
	l.readMoments(b)
	return l
}

func (l *locked) readMoments(b *Batch) {
	Get(b, Fields(func(m *checkout.Moment) []any { return []any{&m.Position, &m.Once} }), func(m checkout.Moment) {
		l.moment = max(l.moment, int64(m.Position))
		if m.Once != "" {
			l.once = append(l.once, m.Once)
		}
	}, selectPositions, l.key()...)
}

func (l *locked) readJobs(b *Batch) {
	Get(b, Fields(func(j *queued) []any { return []any{&j.position, (*string)(&j.Kind), &j.ID, &j.Name} }), func(j queued) {
		l.job = max(l.job, j.position)
		if j.Kind == checkout.JobDeliver {
			l.events = append(l.events, j.ID, j.Name)
		}
	}, selectEntered, l.key()...)
}

// InsertCheckout implements [ports.Checkouts].
func (s *Store) InsertCheckout(ctx context.Context, change checkout.Change, enqueue checkout.JobEntry) error {
	c := &change.Next
	return s.Do(ctx, "insert checkout "+c.ID, func(ctx context.Context, t Tx) error {
		var b Batch
		b.Write(insertCheckout, Created.Values(c, c.Student.Family())...)
		if c.Confirmation != (checkout.Confirmation{}) || c.End != (checkout.End{}) || c.Erased() {
			b.update(checkout.Checkout{}, *c)
		}
		b.unique(takenCheckout, c.ProviderCode, c.ID, c.OrderID, c.IdempotencyKey)
		if err := s.storeRest(ctx, t, &b, &locked{provider: c.ProviderCode, id: c.ID, found: true}, change, enqueue); err != nil {
			return err
		}
		err := t.Commit(ctx, &b)
		if errors.Is(err, ports.ErrDuplicate) && t.Again() { // perhaps by an earlier attempt
			switch found, readErr := s.read(ctx, t, c.ID); {
			case errors.Is(readErr, ports.ErrNotFound):
			case readErr != nil || found.RequestID == c.RequestID && found.OrderID == c.OrderID:
				return readErr
			}
		}
		return err
	})
}

// storeRest adds what stores a change beside the checkout.
func (s *Store) storeRest(ctx context.Context, t Tx, b *Batch, l *locked, change checkout.Change,
	enqueue checkout.JobEntry) error {
	if err := l.checkEvents(change.Events); err != nil {
		return err
	}
	number := ""
	if a := change.Agreement; a != nil {
		if err := checkNumber(ctx, t, *a); err != nil {
			return err
		}
		number = a.Number
		b.Write(insertAgreement, Agreement.Values(a)...)
		b.unique(takenAgreement, a.Provider.Code, a.Number, a.CheckoutID)
	}
	if d := change.Document; d != nil {
		if number == "" {
			var err error
			if number, err = l.number(ctx, t); err != nil {
				return err
			}
		}
		if number == "" {
			return fmt.Errorf("document %s: the checkout has no agreement", d.ID)
		}
		b.Write(insertDocument, l.provider, number, d.ID, d.SHA256[:], d.Bytes)
		b.unique(takenDocument, l.provider, number)
	}
	b.record(change.Act)
	for i, j := range jobsOf(change) {
		l.job++
		statement := s.statements.insertJob
		if i < len(change.Events) { // an id that is on record is an error
			statement = s.statements.insertEvent
		}
		s.enter(b, statement, j, l.job, enqueue, nil)
	}
	b.note(l, change.Moments)
	return nil
}

// jobsOf returns the jobs of a change, its events first.
func jobsOf(change checkout.Change) (jobs []checkout.Job) {
	for _, e := range change.Events {
		jobs = append(jobs, checkout.DeliveryOf(e))
	}
	return append(jobs, change.Jobs...)
}

// checkNumber returns ErrDuplicate if any provider has the agreement's number.
func checkNumber(ctx context.Context, t Tx, a agreement.Agreement) error {
	taken, err := Has(ctx, t, takenNumber, a.Number)
	if taken {
		err = ports.ErrDuplicate
	}
	return wrap(err, "agreement %s", a.Number)
}

// number returns the number of the checkout's agreement, or "".
func (l *locked) number(ctx context.Context, t Tx) (string, error) {
	number, err := One(ctx, t, ScanValue[string], selectNumber, l.key()...)
	if errors.Is(err, ports.ErrNotFound) {
		return "", nil
	}
	return number, err
}

// checkEvents returns ErrDuplicate if two events of a checkout would have one id, or one name.
func (l *locked) checkEvents(list []events.Event) error {
	for _, e := range list {
		if slices.Contains(l.events, e.ID) || slices.Contains(l.events, string(e.Name)) {
			return fmt.Errorf("event %s of checkout %s: %w", e.Name, e.CheckoutID, ports.ErrDuplicate)
		}
		l.events = append(l.events, e.ID, string(e.Name))
	}
	return nil
}

// UpdateCheckout implements [ports.Checkouts].
func (s *Store) UpdateCheckout(ctx context.Context, id string, enqueue checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	var wanted checkout.Change // of the latest attempt
	return s.Do(ctx, "update checkout "+id, func(ctx context.Context, t Tx) error {
		var b Batch
		l := s.lock(&b, id)
		switch err := t.Lock(ctx, &b); {
		case err != nil:
			return wrap(err, "lock")
		case !l.found && t.Again() && wanted.Remove:
			return nil
		case !l.found:
			return ports.ErrNotFound
		case t.Again():
			if done, err := s.updated(ctx, t, l, wanted); done || err != nil {
				return err
			}
		}
		b = Batch{}
		var err error
		if wanted, err = s.change(ctx, t, &b, l, enqueue, decide); err != nil {
			return err
		}
		return t.Commit(ctx, &b)
	})
}

// change adds what stores the change that decide makes of a checkout, whose identity stays, with further moments.
func (s *Store) change(ctx context.Context, t Tx, b *Batch, l *locked, enqueue checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error), further ...checkout.Moment) (checkout.Change, error) {
	c := l.checkout
	change, err := decide(c)
	if err != nil {
		return change, cmp.Or[error](t.Answer(ctx, c), refused{err})
	}
	if change.Remove {
		for _, statement := range []string{deleteJobs, deleteMoments, deleteCheckout} {
			b.Write(statement, l.key()...)
		}
		return change, nil
	}
	next := &change.Next
	next.ID, next.ProviderCode, next.OrderID, next.IdempotencyKey = c.ID, c.ProviderCode, c.OrderID, c.IdempotencyKey
	change.Moments = slices.Concat(change.Moments, further)
	if err := s.readMore(ctx, t, l, change); err != nil {
		return change, err
	}
	b.update(c, *next)
	return change, s.storeRest(ctx, t, b, l, change, enqueue)
}

// readMore reads what a change needs and was not read with the lock.
func (s *Store) readMore(ctx context.Context, t Tx, l *locked, change checkout.Change) error {
	if s.dialect.Server || len(change.Events)+len(change.Moments) == 0 {
		return nil
	}
	var b Batch
	if len(change.Events) > 0 {
		l.readJobs(&b)
	}
	if len(change.Moments) > 0 {
		l.readMoments(&b)
	}
	return t.Lock(ctx, &b)
}

// update adds what stores the next state of a checkout. SQLite writes the index entries of every column that an UPDATE names,
// changed or not: a page for each index.
func (b *Batch) update(c, next checkout.Checkout) {
	key := []any{next.ProviderCode, next.ID}
	b.Write(updateState, append(State.Values(&next), key...)...)
	if next.Student != c.Student {
		b.Write(updateFamily, append([]any{next.Student.Family()}, key...)...)
	}
	if lookups := Lookups.Values(&next); !slices.Equal(lookups, Lookups.Values(&c)) {
		b.Write(updateLookups, append(lookups, key...)...)
	}
}

// updated reports whether an earlier attempt was committed, given the checkout as it is now, locked, and what that
// attempt wanted: its agreement is on record, or else the checkout is just as it wanted, with its jobs and its moments.
func (s *Store) updated(ctx context.Context, t Tx, l *locked, wanted checkout.Change) (bool, error) {
	if wanted.Agreement != nil {
		number, err := l.number(ctx, t)
		return number == wanted.Agreement.Number, err
	}
	if !slices.Equal(Checkout.Values(&l.checkout), Checkout.Values(&wanted.Next)) {
		return false, nil
	}
	for _, j := range jobsOf(wanted) {
		if found, err := Has(ctx, t, selectJob, jobValues(j)...); !found || err != nil {
			return false, err
		}
	}
	return noted(ctx, t, l.id, wanted.Moments)
}
