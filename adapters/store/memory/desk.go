package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// Find implements [ports.Desk].
func (s *Store) Find(ctx context.Context, q checkout.Query, limit int) ([]checkout.Hit, error) {
	return read(ctx, s, func() ([]checkout.Hit, error) {
		list := s.hits(q)
		return list[:min(len(list), limit)], nil
	})
}

// hits returns the whole list of a query.
func (s *Store) hits(q checkout.Query) (list []checkout.Hit) {
	if q.Trouble != "" {
		return s.troubledHits(q)
	}
	// add adds the checkouts that a condition admits, the newest first.
	add := func(admits func(*row) bool) {
		rows := s.where(func(r *row) bool {
			return (q.ProviderCode == "" || q.ProviderCode == r.checkout.ProviderCode) && admits(r) &&
				!slices.ContainsFunc(list, func(h checkout.Hit) bool { return h.Checkout.ID == r.checkout.ID })
		})
		for _, r := range slices.Backward(rows) {
			list = append(list, checkout.Hit{Checkout: r.checkout, Since: r.checkout.CreatedAt})
		}
	}
	switch word := q.Words(); {
	case word == "":
		add(func(r *row) bool { return r.checkout.ProviderCode == q.ProviderCode })
	case strings.HasPrefix(word, "req_"):
		add(func(r *row) bool { return r.checkout.RequestID == word || r.checkout.Confirmation.RequestID == word })
		add(func(r *row) bool {
			return slices.ContainsFunc(r.journal, func(m checkout.Moment) bool { return m.RequestID == word })
		})
	case strings.HasPrefix(word, "evt_"):
		add(func(r *row) bool {
			return slices.ContainsFunc(s.queue.of[r.checkout.ID], func(j *job) bool { return j.Job.ID == word })
		})
	case strings.ContainsRune(word, '@'):
		add(func(r *row) bool { return lower(r.checkout.Student.Email) == lower(word) })
	default:
		for _, is := range []func(*row) bool{
			func(r *row) bool { return r.checkout.ID == word },
			func(r *row) bool { return r.checkout.OrderID == word },
			func(r *row) bool { return r.agreement != nil && r.agreement.Number == strings.ToUpper(word) },
			func(r *row) bool { return r.checkout.Setup.BillingRequestID == word },
			func(r *row) bool { return r.checkout.Setup.MandateID == word },
		} {
			add(is)
		}
		if family := text.FoldName(word); family != "" {
			add(func(r *row) bool { return strings.HasPrefix(r.checkout.Student.Family(), family) })
		}
	}
	return list
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
	return list
}

// troubledHits returns the checkouts that have the trouble of a query.
func (s *Store) troubledHits(q checkout.Query) (list []checkout.Hit) {
	for _, d := range s.troubled(q.Trouble, q.Now) {
		if d.of != nil && (q.ProviderCode == "" || q.ProviderCode == d.provider) {
			list = append(list, checkout.Hit{Checkout: d.of.checkout, Since: d.since})
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
