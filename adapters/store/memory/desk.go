package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money/text"
)

func (s *Store) Find(ctx context.Context, q checkout.Query, limit int) ([]checkout.Hit, error) {
	return read(ctx, s, func() (list []checkout.Hit, err error) {
		of := func(r *row) bool { return q.ProviderCode == "" || q.ProviderCode == r.checkout.ProviderCode }
		if q.Trouble != "" {
			list = s.troubled(q.Trouble, q.Now, of)
			return list[:min(len(list), limit)], nil
		}
		named := s.named(q.Words(), s.now().AddDate(0, 0, -checkout.SearchDays))
		for _, r := range slices.Backward(s.all(func(r *row) bool { return of(r) && named(r) })) {
			list = append(list, checkout.Hit{Checkout: r.checkout, Since: r.checkout.CreatedAt})
		}
		return list[:min(len(list), limit)], nil
	})
}

// named returns whether a word names a checkout. Checkouts whose payer has not begun are found by name and address if they were created
// since a time.
func (s *Store) named(word string, since time.Time) func(*row) bool {
	searched := func(r *row) bool {
		return !r.checkout.Setup.Consent.IsZero() || !r.checkout.CreatedAt.Before(stored(since))
	}
	switch address := text.FoldEmail(word); {
	case word == "":
		return func(*row) bool { return true }
	case strings.ContainsRune(word, '@'):
		return func(r *row) bool { return searched(r) && strings.HasSuffix(r.checkout.Student.Search(), " "+address) }
	}
	name := text.FoldName(word)
	return func(r *row) bool {
		c := &r.checkout
		return slices.Contains([]string{c.ID, c.OrderID, c.Setup.BillingRequestID, c.Setup.MandateID}, word) ||
			c.Confirmation.AgreementNumber == strings.ToUpper(word) ||
			name != "" && searched(r) && strings.HasPrefix(c.Student.Search(), name)
	}
}

// troubled returns the checkouts that have a trouble at a time.
func (s *Store) troubled(t checkout.Trouble, now time.Time, of func(*row) bool) (list []checkout.Hit) {
	earliest, latest := t.Window(now)
	for _, r := range s.all(of) {
		hit := checkout.Hit{Checkout: r.checkout}
		add := func(at time.Time, reason string) {
			if !at.IsZero() && !at.Before(earliest) && at.Before(latest) && (hit.Since.IsZero() || at.Before(hit.Since)) {
				hit.Since, hit.Reason = at, reason
			}
		}
		if own, since := r.checkout.Attention(); own == t {
			add(since, "")
		}
		for _, j := range s.of[r.checkout.ID] {
			if j.has(t) {
				add(cmp.Or(j.SettledAt, j.CreatedAt), j.Failure.Reason)
			}
		}
		if !hit.Since.IsZero() {
			list = append(list, hit)
		}
	}
	slices.SortStableFunc(list, func(a, b checkout.Hit) int {
		first := 0
		if t == checkout.TroubleCRM {
			first = cmp.Compare(a.Checkout.FirstPayment().String(), b.Checkout.FirstPayment().String())
		}
		return cmp.Or(first, a.Since.Compare(b.Since), cmp.Compare(a.Checkout.ID, b.Checkout.ID))
	})
	return list
}

// has reports whether a job is the trouble.
func (j *job) has(t checkout.Trouble) bool {
	switch t {
	case checkout.TroubleCRM:
		return j.State == checkout.JobPending && j.Failure.Reason != "" && (j.Kind == checkout.JobSync || j.Kind == checkout.JobEnd)
	case checkout.TroubleEvents:
		return j.State == checkout.JobFailed && j.Kind == checkout.JobDeliver
	case checkout.TroubleNotices:
		return j.State == checkout.JobFailed && j.Kind == checkout.JobNotify
	}
	return false
}

func (s *Store) Troubles(ctx context.Context, now time.Time) (list []checkout.TroubleCount, err error) {
	err = s.locked(ctx, func() error {
		for _, t := range checkout.Troubles() {
			of := map[string]checkout.TroubleCount{}
			for _, h := range s.troubled(t, now, func(*row) bool { return true }) {
				provider := h.Checkout.ProviderCode
				c, counted := of[provider]
				if !counted || h.Since.Before(c.Oldest) {
					c.Oldest = h.Since
				}
				of[provider] = checkout.TroubleCount{Trouble: t, ProviderCode: provider, Count: c.Count + 1, Oldest: c.Oldest}
			}
			list = slices.AppendSeq(list, maps.Values(of))
		}
		return nil
	})
	return list, err
}

func (s *Store) Acts(ctx context.Context, f checkout.ActFilter, limit int) ([]checkout.Act, error) {
	return read(ctx, s, func() ([]checkout.Act, error) {
		list := slices.DeleteFunc(slices.Clone(s.acts), func(a checkout.Act) bool {
			return f.ProviderCode != "" && f.ProviderCode != a.ProviderCode || f.Subject != "" && f.Subject != a.Subject || a.At.Before(stored(f.Since))
		})
		slices.SortStableFunc(list, func(a, b checkout.Act) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) })
		return list[:min(len(list), limit)], nil
	})
}

func (s *Store) Export(ctx context.Context, email string, visit checkout.Visitor) error {
	var configurations []catalogue.Configuration
	var keys []catalogue.Key
	records, err := read(ctx, s, func() (list []checkout.CheckoutRecord, err error) {
		if email == "" {
			configurations, keys = copyOf(s.configurations), copyOf(s.keys)
		}
		for _, r := range s.all(func(r *row) bool { return email == "" || sameEmail(r.checkout.Student.Email, email) }) {
			d := checkout.CheckoutRecord{Checkout: r.checkout, Agreement: r.agreement, Moments: r.moments}
			if r.document != nil {
				d.Document = len(r.document.Bytes)
			}
			for _, j := range s.of[r.checkout.ID] {
				job, _ := j.Record() // which parses nothing
				d.Jobs = append(d.Jobs, job)
			}
			slices.SortFunc(d.Jobs, func(a, b checkout.JobRecord) int {
				return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.ID, b.ID))
			})
			list = append(list, d)
		}
		return list, nil
	})
	if err == nil {
		err = rows.Visit(visit, configurations, keys)
	}
	for _, r := range records {
		if err == nil {
			err = cmp.Or(ctx.Err(), visit.Checkout(r))
		}
	}
	return err
}

// sameEmail compares addresses, the letters A to Z in any case. An erased checkout has no address.
func sameEmail(a, b string) bool {
	lower := func(s string) string {
		return strings.Map(func(r rune) rune {
			if 'A' <= r && r <= 'Z' {
				return r + 'a' - 'A'
			}
			return r
		}, s)
	}
	return a != "" && lower(a) == lower(b)
}
