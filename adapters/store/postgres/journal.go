package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/checkout"
)

var (
	insertMoment = `INSERT INTO @.moments (provider_code, checkout_id, ` + sqlstore.Moment.Names() + `)
		VALUES ($1, $2, ` + sqlstore.Moment.Numbers(3) + `)`
	countRefusal = `INSERT INTO @.refusals AS r (` + sqlstore.Refusal.Names() + `) VALUES (` + sqlstore.Refusal.Numbers(1) + `)
		ON CONFLICT (provider_code, day, code, fields) DO UPDATE SET times = r.times + excluded.times`
)

const (
	countMoment    = `UPDATE @.moments SET times = times + $4 WHERE provider_code = $1 AND checkout_id = $2 AND once = $3 AND once <> ''`
	deleteRefusals = `DELETE FROM @.refusals WHERE provider_code = $1 AND day < $2`
)

// note adds what appends moments to the journal of a checkout.
func (b *batch) note(l *locked, moments []checkout.Moment) {
	for _, m := range moments {
		m.Times = max(m.Times, 1)
		if m.Once != "" && slices.Contains(l.once, m.Once) {
			b.queue(countMoment, l.provider, l.id, m.Once, m.Times)
			continue
		}
		l.moment++
		m.Position = int(l.moment)
		l.once = append(l.once, m.Once)
		b.queue(insertMoment, sqlstore.Moment.Values(&m, l.provider, l.id)...)
	}
}

// noted reports whether the journal of a checkout has the moments.
func (t *attempt) noted(ctx context.Context, id string, moments []checkout.Moment) (bool, error) {
	if len(moments) == 0 {
		return true, nil
	}
	journal, err := all(ctx, t, sqlstore.Scan(sqlstore.Moment), sqlstore.SelectMoments, checkout.ProviderOf(id), id)
	for _, m := range moments {
		if !slices.ContainsFunc(journal, func(o checkout.Moment) bool {
			return m.Once != "" && o.Once == m.Once || o.At.Equal(sqlstore.Stored(m.At)) && o.Kind == m.Kind && o.Actor == m.Actor &&
				o.RequestID == m.RequestID && o.Detail == m.Detail
		}) {
			return false, err
		}
	}
	return true, err
}

// Note implements [ports.Journal]. If the outcome of its commit is not known, a moment that is always appended tells it, for all that is
// stored is stored with it. Without such a moment nothing is repeated, so that nothing is counted twice.
func (db *DB) Note(ctx context.Context, noted []checkout.Noted, refused []checkout.Refusal) error {
	of := map[string][]checkout.Moment{}
	var ids []string
	for _, n := range noted {
		if of[n.CheckoutID] == nil {
			ids = append(ids, n.CheckoutID)
		}
		of[n.CheckoutID] = append(of[n.CheckoutID], n.Moment)
	}
	slices.Sort(ids)
	at := slices.IndexFunc(noted, func(n checkout.Noted) bool { return n.Moment.Once == "" })
	told := at >= 0
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		if t.outcomeUnknown && !told {
			return errCommitUnknown
		}
		var found []*locked
		if len(ids) > 0 {
			err := t.begin(ctx, func(b *batch) {
				for _, id := range ids { // in their order, so that two calls do not deadlock
					found = append(found, b.lockJournal(id))
				}
			})
			if err != nil {
				return err
			}
		}
		if t.outcomeUnknown {
			if stored, err := t.noted(ctx, noted[at].CheckoutID, []checkout.Moment{noted[at].Moment}); stored || err != nil {
				return err
			}
		}
		b := t.batch()
		for _, l := range found {
			if l.id != "" {
				b.note(l, of[l.id])
			}
		}
		for _, r := range sortedRefusals(refused) {
			b.queue(countRefusal, sqlstore.Refusal.Values(&r)...)
			if oldest, ok := sqlstore.OldestRefusal(r.Day); ok {
				b.queue(deleteRefusals, r.ProviderCode, oldest)
			}
		}
		return t.commit(ctx, b)
	})
	if err != nil {
		return fmt.Errorf("note %d moments and %d refusals: %w", len(noted), len(refused), err)
	}
	return nil
}

// sortedRefusals returns the refusals in the order of their keys, so that two calls do not deadlock.
func sortedRefusals(refused []checkout.Refusal) []checkout.Refusal {
	return slices.SortedFunc(slices.Values(refused), func(a, b checkout.Refusal) int {
		return cmp.Or(cmp.Compare(a.ProviderCode, b.ProviderCode), cmp.Compare(a.Day, b.Day), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Fields, b.Fields))
	})
}
