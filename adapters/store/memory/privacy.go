package memory

import (
	"context"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// ExportStudent implements [ports.Privacy].
func (s *Store) ExportStudent(ctx context.Context, email string, visit ports.Visitor) error {
	all, err := s.snapshot(ctx)
	if err != nil {
		return err
	}
	for _, r := range all.records {
		if found := r.Checkout.Student.Email; found == "" || lower(found) != lower(email) {
			continue
		}
		if err := call(ctx, visit.Checkout, r); err != nil {
			return err
		}
	}
	return nil
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

// OldCheckouts implements [ports.Privacy].
func (s *Store) OldCheckouts(ctx context.Context, from int64, limit int, confirmed, open time.Time) (ids []string, next int64, err error) {
	err = s.locked(ctx, func() error {
		for next = from; next < int64(len(s.created)) && next < from+int64(limit); next++ {
			c := s.rows[s.created[next]].checkout
			before := stored(open)
			if c.Status == checkout.Confirmed {
				before = stored(confirmed)
			}
			if c.CreatedAt.Before(before) && (!c.Erased() || c.Status == checkout.Confirmed && s.evidence.salted(c.Confirmation.AgreementNumber)) {
				ids = append(ids, c.ID)
			}
		}
		if next == int64(len(s.created)) {
			next = 0
		}
		return nil
	})
	return ids, next, err
}

// EraseCheckouts implements [ports.Privacy].
func (s *Store) EraseCheckouts(ctx context.Context, ids []string, decide func([]checkout.Checkout) (checkout.Erasure, error)) error {
	return s.locked(ctx, func() error {
		var found []checkout.Checkout
		for _, id := range ids {
			if r, ok := s.rows[id]; ok {
				found = append(found, copyCheckout(r.checkout))
			}
		}
		erasure, err := decide(found)
		if err != nil {
			return err
		}
		if err := s.evidence.add(&erasure.Entry); err != nil {
			return err
		}
		for _, next := range erasure.Next {
			s.erase(next)
		}
		for _, number := range erasure.Unsalted {
			if e := s.evidence.entry(evidence.AgreementID(number)); e != nil {
				e.Salt = nil
			}
		}
		return nil
	})
}

// erase stores a checkout that was erased, with what belongs to it.
func (s *Store) erase(next checkout.Checkout) {
	r := s.rows[next.ID]
	r.checkout = copyCheckout(next)
	if r.agreement != nil {
		a := r.agreement.Erased()
		r.agreement = &a
	}
	if r.document != nil {
		d := *r.document
		d.Bytes = nil
		r.document = &d
	}
	s.rows[next.ID] = r
	for _, id := range s.noticesOf[next.ID] {
		n := s.notice[id]
		n.Receipt.Answer, n.Failure.Reason = "", ""
		s.notice[id] = n
	}
}

// Scrub implements [ports.Privacy]. There are no files.
func (s *Store) Scrub(ctx context.Context) error { return ctx.Err() }
