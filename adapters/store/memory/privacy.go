package memory

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// ExportStudent implements [ports.Exporter].
func (s *Store) ExportStudent(ctx context.Context, email string, visit checkout.Visitor) error {
	all, err := s.snapshot(ctx)
	if err != nil {
		return err
	}
	return each(ctx, slices.DeleteFunc(all.Records, func(r checkout.CheckoutRecord) bool {
		found := r.Checkout.Student.Email
		return found == "" || lower(found) != lower(email)
	}), visit.Checkout)
}

// lower returns a text with the letters A to Z in lower case, and no other changed.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}

// OldCheckouts implements [ports.Retention]. The cursor is the id of the checkout that was looked at last.
func (s *Store) OldCheckouts(ctx context.Context, cursor string, limit int, confirmed, open time.Time) (ids []string, next string, err error) {
	err = s.locked(ctx, func() error {
		rest := slices.Sorted(maps.Keys(s.rows))
		if at, found := slices.BinarySearch(rest, cursor); found {
			rest = rest[at+1:]
		} else {
			rest = rest[at:]
		}
		page := rest[:min(len(rest), limit)]
		for _, id := range page {
			if s.old(s.rows[id].checkout, stored(confirmed), stored(open)) {
				ids = append(ids, id)
			}
		}
		if len(page) < len(rest) {
			next = page[len(page)-1]
		}
		return nil
	})
	return ids, next, err
}

// old reports whether the checkout was created long enough ago to be erased, by the times before which it was created.
func (s *Store) old(c checkout.Checkout, confirmed, open time.Time) bool {
	if c.Status != checkout.Confirmed {
		confirmed = open
	}
	return !c.Erased() && c.CreatedAt.Before(confirmed)
}

// EraseCheckouts implements [ports.Retention].
func (s *Store) EraseCheckouts(ctx context.Context, ids []string, decide func([]checkout.Checkout) (checkout.Erasure, error)) error {
	return s.locked(ctx, func() error {
		var found []checkout.Checkout
		for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
			if r, ok := s.rows[id]; ok {
				found = append(found, copyOf(r.checkout))
			}
		}
		erasure, err := decide(found)
		if err != nil {
			return err
		}
		s.did(&erasure.Act)
		for _, next := range erasure.Next {
			s.erase(next)
			s.append(next.ID, erasure.Moment)
		}
		return nil
	})
}

// erase stores a checkout that was erased, with what belongs to it.
func (s *Store) erase(next checkout.Checkout) {
	r := s.rows[next.ID]
	r.checkout = copyOf(next)
	if r.agreement != nil {
		*r.agreement = r.agreement.Erased()
	}
	if r.document != nil {
		r.document.Bytes = nil
	}
	for _, j := range s.queue.of[next.ID] {
		j.Receipt, j.Failure.Reason = checkout.Receipt{}, ""
	}
}

// Scrub implements [ports.Operations]. There are no files.
func (s *Store) Scrub(ctx context.Context) error { return ctx.Err() }
