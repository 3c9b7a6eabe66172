package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
func (s *Store) hits(q checkout.Query) []checkout.Hit {
	text := q.Words()
	of := func(c checkout.Checkout) bool { return q.ProviderCode == "" || q.ProviderCode == c.ProviderCode }
	switch {
	case q.Trouble != "" && !q.Trouble.OfCheckouts():
		return nil
	case q.Trouble != "":
		list := s.where(string(q.Trouble), of)
		for i := range list {
			list[i].Since = s.troubledSince(list[i].Checkout, q.Trouble, q.Now)
		}
		list = slices.DeleteFunc(list, func(h checkout.Hit) bool { return h.Since.IsZero() })
		slices.SortFunc(list, func(a, b checkout.Hit) int {
			return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Checkout.ID, b.Checkout.ID))
		})
		return list
	case text == "":
		return s.where("", func(c checkout.Checkout) bool { return c.ProviderCode == q.ProviderCode })
	}
	for _, k := range s.keys {
		if k.ID == text && (q.ProviderCode == "" || q.ProviderCode == k.Provider) {
			return s.where(checkout.ByKey, func(c checkout.Checkout) bool { return c.ProviderCode == k.Provider })
		}
	}
	return s.named(q, text, of)
}

// named returns the checkouts that a text names.
func (s *Store) named(q checkout.Query, text string, of func(checkout.Checkout) bool) (list []checkout.Hit) {
	add := func(more []checkout.Hit) {
		for _, h := range more {
			if of(h.Checkout) && !slices.ContainsFunc(list, func(o checkout.Hit) bool { return o.Checkout.ID == h.Checkout.ID }) {
				list = append(list, h)
			}
		}
	}
	for _, by := range []string{checkout.ByID, checkout.ByOrder, checkout.ByAgreement, checkout.ByBillingRequest, checkout.ByMandate,
		checkout.ByEvent, checkout.ByRequest} {
		add(s.where(by, func(c checkout.Checkout) bool { return s.hasID(c, by, text) }))
	}
	email, name := q.Search()
	add(s.where(checkout.ByEmail, func(c checkout.Checkout) bool { return email != "" && c.Student.Search().Email == email }))
	for _, word := range []func(checkout.Search) string{
		func(s checkout.Search) string { return s.Family }, func(s checkout.Search) string { return s.Name },
	} {
		found := s.where(checkout.ByName, func(c checkout.Checkout) bool {
			return name != "" && strings.HasPrefix(word(c.Student.Search()), name)
		})
		slices.SortFunc(found, func(a, b checkout.Hit) int {
			return cmp.Or(cmp.Compare(word(a.Checkout.Student.Search()), word(b.Checkout.Student.Search())),
				cmp.Compare(a.Checkout.ID, b.Checkout.ID))
		})
		add(found)
	}
	return list
}

// where returns the checkouts that a condition admits, the last ids first.
func (s *Store) where(by string, admits func(checkout.Checkout) bool) (list []checkout.Hit) {
	for _, r := range s.rows {
		if admits(r.checkout) {
			list = append(list, checkout.Hit{Checkout: r.checkout, By: by, Since: r.checkout.CreatedAt})
		}
	}
	slices.SortFunc(list, func(a, b checkout.Hit) int { return cmp.Compare(b.Checkout.ID, a.Checkout.ID) })
	return list
}

// hasID reports whether a text is an id of the checkout.
func (s *Store) hasID(c checkout.Checkout, by, text string) bool {
	switch by {
	case checkout.ByID:
		return c.ID == text
	case checkout.ByOrder:
		return c.OrderID == text
	case checkout.ByAgreement:
		return s.numbers[strings.ToUpper(text)] == c.ID
	case checkout.ByBillingRequest:
		return c.Setup.BillingRequestID == text
	case checkout.ByMandate:
		return c.Setup.MandateID == text
	case checkout.ByEvent:
		return strings.HasPrefix(text, "evt_") && slices.ContainsFunc(s.queue.of[c.ID], func(j *job) bool { return j.Job.ID == text })
	}
	return strings.HasPrefix(text, "req_") && (c.RequestID == text || c.Confirmation.RequestID == text ||
		slices.ContainsFunc(s.journal[c.ID], func(m checkout.Moment) bool { return m.RequestID == text }))
}

// troubledSince returns since when a checkout has a trouble that is counted at a time, or the zero time.
func (s *Store) troubledSince(c checkout.Checkout, t checkout.Trouble, now time.Time) (since time.Time) {
	earliest, latest := t.Window(now)
	consider := func(has bool, at time.Time) {
		if has && !at.IsZero() && !at.Before(earliest) && at.Before(latest) && (since.IsZero() || at.Before(since)) {
			since = at
		}
	}
	open := c.Status == checkout.SetupRequired && c.Confirmation.At.IsZero()
	switch t {
	case checkout.TroubleMandates:
		consider(c.Status == checkout.Confirmed && !c.Ended() && c.Setup.Mandate.Dead(), c.Setup.MandateSince)
	case checkout.TroubleUnconfirmed:
		consider(open && !c.Setup.Mandate.Dead(), c.Setup.CompletedAt)
	case checkout.TroubleUnfinished:
		consider(open && !c.Setup.Consent.IsZero() && c.Setup.CompletedAt.IsZero(), c.CreatedAt)
	}
	for _, j := range s.queue.of[c.ID] {
		consider(j.has(t), j.Job.CreatedAt)
	}
	return since
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
			of := map[string]*checkout.TroubleCount{}
			count := func(provider string, since time.Time) {
				if since.IsZero() {
					return
				}
				if of[provider] == nil {
					of[provider] = &checkout.TroubleCount{Trouble: t, ProviderCode: provider, Oldest: since}
				}
				of[provider].Count++
				if since.Before(of[provider].Oldest) {
					of[provider].Oldest = since
				}
			}
			s.eachTroubled(t, now, count)
			for _, c := range of {
				list = append(list, *c)
			}
		}
		slices.SortFunc(list, func(a, b checkout.TroubleCount) int {
			return cmp.Or(cmp.Compare(slices.Index(checkout.Troubles(), a.Trouble), slices.Index(checkout.Troubles(), b.Trouble)),
				cmp.Compare(a.ProviderCode, b.ProviderCode))
		})
		return nil
	})
	return list, err
}

// eachTroubled passes the provider of each thing that has a trouble to count, and since when.
func (s *Store) eachTroubled(t checkout.Trouble, now time.Time, count func(provider string, since time.Time)) {
	_, latest := t.Window(now)
	for _, r := range s.rows {
		count(r.checkout.ProviderCode, s.troubledSince(r.checkout, t, now))
	}
	for _, j := range s.queue.of[""] {
		if j.has(t) && j.Job.CreatedAt.Before(latest) {
			count(j.Job.ProviderCode, j.Job.CreatedAt)
		}
	}
	for _, e := range s.evidence.unsealed {
		if t == checkout.TroubleEvidence && e.At.Before(latest) {
			count("", e.At)
		}
	}
}

// Funnel implements [ports.Desk].
func (s *Store) Funnel(ctx context.Context, from, to, provider string) (days []checkout.FunnelDay, err error) {
	err = s.locked(ctx, func() error {
		var stages []checkout.Stage
		for id, r := range s.rows {
			if provider != "" && provider != r.checkout.ProviderCode {
				continue
			}
			stage := checkout.Stage{ProviderCode: r.checkout.ProviderCode, CheckoutID: id, Kind: checkout.MomentCreated}
			stages = append(stages, stage)
			for _, m := range s.journal[id] {
				stage.Before, stage.Kind = max(stage.Before, stage.Kind.Stage()), m.Kind
				stages = append(stages, stage)
			}
		}
		days = checkout.CountStages(nil, stages, from, to)
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
