package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/checkout"
)

const (
	countMoment = `UPDATE @.moments SET times = times + ? WHERE ` + ofCheckout + ` AND once = ? AND once <> ''`
)

// note adds what appends moments to the journal of a checkout. Moments of a checkout that does not exist are
// left out.
func (b *Batch) note(l *locked, moments []checkout.Moment) {
	if !l.found {
		return
	}
	for _, m := range moments {
		m.Times = max(m.Times, 1)
		if m.Once != "" && slices.Contains(l.once, m.Once) {
			b.Write(countMoment, m.Times, l.provider, l.id, m.Once)
			continue
		}
		l.moment++
		m.Position = int(l.moment)
		l.once = append(l.once, m.Once)
		b.Write(insertMoment, Moment.Values(&m, l.key()...)...)
	}
}

// noted reports whether the journal of a checkout has the moments.
func noted(ctx context.Context, t Tx, id string, moments []checkout.Moment) (bool, error) {
	if len(moments) == 0 {
		return true, nil
	}
	journal, err := All(ctx, t, Scan(Moment), selectMoments, checkout.ProviderOf(id), id)
	for _, m := range moments {
		if !slices.ContainsFunc(journal, func(o checkout.Moment) bool {
			return m.Once != "" && o.Once == m.Once || o.At.Equal(Stored(m.At)) && o.Kind == m.Kind && o.Actor == m.Actor &&
				o.RequestID == m.RequestID && o.Detail == m.Detail
		}) {
			return false, err
		}
	}
	return true, err
}

// Note implements [ports.Journal]. If the outcome of its commit is not known, a moment that is always appended tells it, for
// all that is stored is stored with it. Without such a moment nothing is repeated, so that nothing is counted twice.
func (s *Store) Note(ctx context.Context, list []checkout.Noted) error {
	of := map[string][]checkout.Moment{}
	var ids []string
	for _, n := range list {
		if of[n.CheckoutID] == nil {
			ids = append(ids, n.CheckoutID)
		}
		of[n.CheckoutID] = append(of[n.CheckoutID], n.Moment)
	}
	slices.Sort(ids) // so that two calls do not deadlock
	tells := slices.IndexFunc(list, func(n checkout.Noted) bool { return n.Moment.Once == "" })
	return s.Do(ctx, fmt.Sprintf("note %d moments", len(list)), func(ctx context.Context, t Tx) error {
		if t.Again() && tells < 0 {
			return ErrUnknown
		}
		var b Batch
		var found []*locked
		for _, id := range ids {
			found = append(found, s.lockJournal(&b, id))
		}
		if err := t.Lock(ctx, &b); err != nil {
			return err
		}
		if t.Again() {
			if stored, err := noted(ctx, t, list[tells].CheckoutID, []checkout.Moment{list[tells].Moment}); stored || err != nil {
				return err
			}
		}
		b = Batch{}
		for _, l := range found {
			b.note(l, of[l.id])
		}
		return t.Commit(ctx, &b)
	})
}
