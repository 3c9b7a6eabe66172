package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Find implements [ports.Desk]. A cursor is the id of the last checkout of a page.
func (s *Store) Find(ctx context.Context, q checkout.Query, after string, limit int) (page checkout.Page, err error) {
	err = s.locked(ctx, func() error {
		hits, err := pageOf(s.hits(q), after, limit, func(h checkout.Hit) string { return h.Checkout.ID }, &page.Next)
		page.Hits = copyOf(hits)
		return err
	})
	return page, err
}

// hits returns the whole list of a query.
func (s *Store) hits(q checkout.Query) (list []checkout.Hit) {
	// add adds the checkouts that a condition admits, the last ids first, or in the order of a word.
	add := func(by string, word func(checkout.Search) string, admits func(*row) bool) {
		rows := s.where(func(r *row) bool {
			return (q.ProviderCode == "" || q.ProviderCode == r.checkout.ProviderCode) && admits(r) &&
				!slices.ContainsFunc(list, func(h checkout.Hit) bool { return h.Checkout.ID == r.checkout.ID })
		})
		slices.SortFunc(rows, func(a, b *row) int {
			if word == nil {
				return cmp.Compare(b.checkout.ID, a.checkout.ID)
			}
			return cmp.Or(cmp.Compare(word(a.checkout.Student.Search()), word(b.checkout.Student.Search())), cmp.Compare(a.checkout.ID, b.checkout.ID))
		})
		for _, r := range rows {
			list = append(list, checkout.Hit{Checkout: r.checkout, By: by, Since: r.checkout.CreatedAt})
		}
	}
	text := q.Words()
	switch {
	case q.Trouble != "":
		return s.troubledHits(q)
	case text == "":
		add("", nil, func(r *row) bool { return r.checkout.ProviderCode == q.ProviderCode })
		return list
	}
	if k := first(s.keys, func(k catalogue.Key) bool { return k.ID == text }); k != nil {
		add(checkout.ByKey, nil, func(r *row) bool { return r.checkout.ProviderCode == k.Provider })
		return list
	}
	for _, by := range []string{checkout.ByID, checkout.ByOrder, checkout.ByAgreement, checkout.ByBillingRequest, checkout.ByMandate,
		checkout.ByEvent, checkout.ByRequest} {
		add(by, nil, func(r *row) bool { return slices.Contains(s.ids(r, by), text) })
	}
	email, name := q.Search()
	add(checkout.ByEmail, nil, func(r *row) bool { return email != "" && r.checkout.Student.Search().Email == email })
	for _, word := range []func(checkout.Search) string{
		func(s checkout.Search) string { return s.Family }, func(s checkout.Search) string { return s.Name },
	} {
		add(checkout.ByName, word, func(r *row) bool { return name != "" && strings.HasPrefix(word(r.checkout.Student.Search()), name) })
	}
	return list
}

// ids returns the texts of a kind that name a checkout.
func (s *Store) ids(r *row, by string) (ids []string) {
	c := &r.checkout
	switch by {
	case checkout.ByID:
		return []string{c.ID}
	case checkout.ByOrder:
		return []string{c.OrderID}
	case checkout.ByAgreement:
		if r.agreement != nil {
			ids = []string{r.agreement.Number, strings.ToLower(r.agreement.Number)}
		}
	case checkout.ByBillingRequest:
		return []string{c.Setup.BillingRequestID}
	case checkout.ByMandate:
		return []string{c.Setup.MandateID}
	case checkout.ByEvent:
		for _, j := range s.queue.of[c.ID] {
			ids = append(ids, j.Job.ID)
		}
		return slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, "evt_") })
	case checkout.ByRequest:
		ids = []string{c.RequestID, c.Confirmation.RequestID}
		for _, m := range r.journal {
			ids = append(ids, m.RequestID)
		}
		return slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, "req_") })
	}
	return ids
}

// troubled is a thing that has a trouble since a time.
type troubled struct {
	provider string
	of       *row // nil if it is of no checkout
	since    time.Time
}

// troubled returns what has a trouble that is counted at a time, each checkout once.
func (s *Store) troubled(t checkout.Trouble, now time.Time) (list []troubled) {
	earliest, latest := t.Window(now)
	add := func(provider string, of *row, has bool, at time.Time) {
		known := slices.IndexFunc(list, func(o troubled) bool { return of != nil && o.of == of })
		switch {
		case !has || at.IsZero() || at.Before(earliest) || !at.Before(latest):
		case known < 0:
			list = append(list, troubled{provider, of, at})
		case at.Before(list[known].since):
			list[known].since = at
		}
	}
	for _, r := range s.rows {
		c := &r.checkout
		open := c.Status == checkout.SetupRequired && c.Confirmation.At.IsZero()
		switch t {
		case checkout.TroubleMandates:
			add(c.ProviderCode, r, c.Status == checkout.Confirmed && !c.Ended() && c.Setup.Mandate.Dead(), c.Setup.MandateSince)
		case checkout.TroubleUnconfirmed:
			add(c.ProviderCode, r, open && !c.Setup.Mandate.Dead(), c.Setup.CompletedAt)
		case checkout.TroubleUnfinished:
			add(c.ProviderCode, r, open && !c.Setup.Consent.IsZero() && c.Setup.CompletedAt.IsZero(), c.CreatedAt)
		}
	}
	for _, j := range s.queue.all {
		add(j.Job.ProviderCode, s.rows[j.Job.CheckoutID], j.has(t), j.Job.CreatedAt)
	}
	for _, e := range s.evidence.unsealed {
		add("", nil, t == checkout.TroubleEvidence, e.At)
	}
	return list
}

// troubledHits returns the checkouts that have the trouble of a query.
func (s *Store) troubledHits(q checkout.Query) (list []checkout.Hit) {
	for _, d := range s.troubled(q.Trouble, q.Now) {
		if d.of != nil && (q.ProviderCode == "" || q.ProviderCode == d.provider) {
			list = append(list, checkout.Hit{Checkout: d.of.checkout, By: string(q.Trouble), Since: d.since})
		}
	}
	slices.SortFunc(list, func(a, b checkout.Hit) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Checkout.ID, b.Checkout.ID))
	})
	return list
}

// has reports whether a job is the trouble.
func (j *job) has(t checkout.Trouble) bool {
	switch pending, dead := j.State == checkout.JobPending, j.State == checkout.JobDead; t {
	case checkout.TroubleCRM:
		return pending && j.Failure.Reason != "" && slices.Contains([]checkout.JobKind{checkout.JobOpen, checkout.JobComplete,
			checkout.JobAuthority, checkout.JobEnd, checkout.JobCancel}, j.Job.Kind)
	case checkout.TroubleEvents:
		return dead && j.Job.Kind == checkout.JobDeliver
	case checkout.TroubleNotices:
		return dead && j.Job.Kind == checkout.JobNotify
	case checkout.TroubleNotifications:
		return pending && j.Job.Kind == checkout.JobNotified
	}
	return false
}

// Troubles implements [ports.Desk].
func (s *Store) Troubles(ctx context.Context, now time.Time) (list []checkout.TroubleCount, err error) {
	err = s.locked(ctx, func() error {
		for _, t := range checkout.Troubles() {
			var counts []checkout.TroubleCount
			for _, d := range s.troubled(t, now) {
				i := slices.IndexFunc(counts, func(c checkout.TroubleCount) bool { return c.ProviderCode == d.provider })
				if i < 0 {
					i, counts = len(counts), append(counts, checkout.TroubleCount{Trouble: t, ProviderCode: d.provider, Oldest: d.since})
				}
				if counts[i].Count++; d.since.Before(counts[i].Oldest) {
					counts[i].Oldest = d.since
				}
			}
			slices.SortFunc(counts, func(a, b checkout.TroubleCount) int { return cmp.Compare(a.ProviderCode, b.ProviderCode) })
			list = append(list, counts...)
		}
		return nil
	})
	return list, err
}

// Funnel implements [ports.Desk].
func (s *Store) Funnel(ctx context.Context, from, to time.Time, provider string) (days []checkout.FunnelDay, err error) {
	err = s.locked(ctx, func() error {
		for _, r := range s.rows {
			day, of, reached := r.checkout.CreatedAt.Format(time.DateOnly), r.checkout.ProviderCode, 1
			if day < from.UTC().Format(time.DateOnly) || day >= to.UTC().Format(time.DateOnly) || provider != "" && provider != of {
				continue
			}
			for _, m := range r.journal {
				reached = max(reached, m.Kind.Stage())
			}
			i := slices.IndexFunc(days, func(d checkout.FunnelDay) bool { return d.Day == day && d.ProviderCode == of })
			if i < 0 {
				i, days = len(days), append(days, checkout.FunnelDay{Day: day, ProviderCode: of})
			}
			d := &days[i]
			for _, column := range []*int{&d.Created, &d.Opened, &d.Pressed, &d.SetUp, &d.Confirmed}[:reached] {
				*column++
			}
		}
		slices.SortFunc(days, func(a, b checkout.FunnelDay) int {
			return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.ProviderCode, b.ProviderCode))
		})
		return nil
	})
	return days, err
}

// Concluded implements [ports.Desk]. A cursor is the number of the last agreement of a page.
func (s *Store) Concluded(ctx context.Context, m checkout.Month, after string, limit int) (page []checkout.Concluded, next string, err error) {
	err = s.locked(ctx, func() error {
		var all []checkout.Concluded
		for _, r := range s.rows {
			if r.agreement == nil {
				continue
			}
			c := checkout.Concluded{Agreement: *r.agreement, Checkout: r.checkout}
			if _, ok := m.Line(c); ok {
				all = append(all, c)
			}
		}
		slices.SortFunc(all, func(a, b checkout.Concluded) int {
			return cmp.Or(b.Agreement.AcceptedAt.Compare(a.Agreement.AcceptedAt), cmp.Compare(b.Agreement.Number, a.Agreement.Number))
		})
		all, err = pageOf(all, after, limit, func(c checkout.Concluded) string { return c.Agreement.Number }, &next)
		page = copyOf(all)
		return err
	})
	return page, next, err
}

// pageOf returns the page of a list behind the entry with the id after, and sets the id behind which the next page is.
func pageOf[T any](all []T, after string, limit int, id func(T) string, next *string) ([]T, error) {
	if after != "" {
		i := slices.IndexFunc(all, func(v T) bool { return id(v) == after })
		if i < 0 {
			return nil, fmt.Errorf("continue after %s: %w", after, ports.ErrNotFound)
		}
		all = all[i+1:]
	}
	if len(all) > limit {
		all = all[:limit]
		*next = id(all[limit-1])
	}
	return all, nil
}
