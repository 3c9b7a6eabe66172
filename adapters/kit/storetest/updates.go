package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

func updates() []promise {
	return []promise{
		{"decide gets the checkout that the caller has read, and runs again on a newer revision", func(s *store) {
			s.insert(opened(1))
			known := s.read(1)
			s.another().update(1, func(c checkout.Checkout) checkout.Change { return checkout.Change{At: at(2), Next: begun(c, 2)} })
			newer := s.read(1)
			var got []checkout.Checkout
			change, _ := s.updateHolding(0, known, func(c checkout.Checkout) checkout.Change {
				got = append(got, c)
				return checkout.Change{At: at(3), Next: completed(c, 4)}
			})
			s.same("decided on", got, []checkout.Checkout{known, newer})
			s.same("on record", s.read(1), change.Next)
		}},
		{"of concurrent updates none is lost", noUpdateLost},
		{"an error of decide comes back as it is, and nothing is stored", func(s *store) {
			s.insert(opened(1))
			s.unchanged(func() {
				_, leases, err := s.UpdateCheckout(s.Context(), s.read(1), leaseFor, func(c checkout.Checkout) (checkout.Change, error) {
					return confirmed(c, 1), errNo
				})
				s.same("error", err, errNo)
				s.same("leases", len(leases), 0)
			})
		}},
		{"a panic of decide stores nothing, and the store goes on", func(s *store) {
			s.insert(opened(1))
			s.unchanged(func() {
				defer func() { s.same("recovered", recover(), any("a panic")) }()
				s.update(1, func(checkout.Checkout) checkout.Change { panic("a panic") })
			})
			s.confirm(1)
		}},
		{"a change without a time stores nothing, and comes back", func(s *store) {
			s.insert(opened(1))
			given := confirmed(s.read(1), 1)
			given.At = time.Time{}
			s.unchanged(func() {
				change, leases := s.updateHolding(leaseFor, s.read(1), func(checkout.Checkout) checkout.Change { return given })
				s.same("change", change, given)
				s.same("leases", len(leases), 0)
			})
		}},
		{"the revision is the time of the change, and grows also where the clock is behind", func(s *store) {
			s.insert(opened(5))
			for _, step := range []struct{ minute, more int }{{7, 0}, {6, 1}, {7, 2}, {0, 3}, {8, 0}} {
				s.update(5, func(c checkout.Checkout) checkout.Change { return checkout.Change{At: at(step.minute), Next: c} })
				s.same(fmt.Sprint("at minute ", step.minute), s.read(5).Revision, at(max(7, step.minute)).UnixMilli()+int64(step.more))
			}
		}},
		{"a change never changes the id, provider, order or key", func(s *store) {
			s.insert(opened(1))
			want := s.read(1)
			s.update(1, func(c checkout.Checkout) checkout.Change {
				c.ID, c.ProviderCode, c.OrderID, c.IdempotencyKey = "x", "y", "z", "k"
				return checkout.Change{At: at(2), Next: c}
			})
			want.Revision = at(2).UnixMilli()
			s.same("checkout", s.read(1), want)
		}},
		{"an update of an unknown checkout is ErrNotFound", func(s *store) {
			_, _, err := s.UpdateCheckout(s.Context(), opened(1).Next, 0, deciding(withdrawn))
			s.refused("UpdateCheckout", err, ports.ErrNotFound)
		}},
		{"a change of which a part is a duplicate stores nothing", allOrNothing},
	}
}

func agreements() []promise {
	return []promise{
		{"an agreement and its document come back as they were stored", agreementComesBack},
		{"an agreement's number is taken once within a provider", func(s *store) {
			for i := range many {
				s.insert(opened(i))
			}
			confirm := func(s *store, known checkout.Checkout) error {
				_, _, err := s.UpdateCheckout(s.Context(), known, 0, deciding(func(c checkout.Checkout) checkout.Change { return confirmed(c, 1) }))
				return err
			}
			s.concurrently("UpdateCheckout", 1, ports.ErrDuplicate, func(s *store, i int) error { return confirm(s, stored(opened(i)).Next) })
			winner := s.find(checkout.Reference{AgreementNumber: numberOf(1)})
			s.insert(openedBy("RIMU", 1))
			s.must("confirm at another provider", confirm(s, s.find(byOrder("RIMU", "order-1"))))
			for _, id := range []string{winner.ID, idOf("RIMU", 1)} {
				s.same("agreement of "+id, get(s.Agreement(s.Context(), id))(s).CheckoutID, id)
			}
			s.same("number of what is found", s.find(checkout.Reference{AgreementNumber: numberOf(1)}).Confirmation.AgreementNumber, numberOf(1))
		}},
		{"an erasure empties the agreement, the document, and the receipts and reasons of the jobs", erasureEmpties},
	}
}

func noUpdateLost(s *store) {
	s.insert(opened(1))
	known := s.read(1)
	s.concurrently("UpdateCheckout", many, nil, func(s *store, i int) error {
		_, _, err := s.UpdateCheckout(s.Context(), known, 0, deciding(func(c checkout.Checkout) checkout.Change {
			c.Setup.Try++
			return checkout.Change{At: at(2), Next: c, Moments: []checkout.Moment{{At: at(2), Kind: checkout.MomentPressed}},
				Jobs: []checkout.Job{event(c, fmt.Sprint("event ", c.Setup.Try), 2), syncOf(c, 2)}}
		}))
		return err
	})
	events := s.jobs(checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}})
	s.same("tries, moments and events", []int{s.read(1).Setup.Try, len(s.moments(1)), len(events)}, []int{many, many, 1 + many})
	s.same("the newest event", events[0].Name, fmt.Sprint("event ", many))
}

// errNo is the error of a decision that refuses.
var errNo = errors.New("no")

func allOrNothing(s *store) {
	s.insert(opened(1), opened(2))
	s.confirm(1)
	did := act(1)
	for what, tt := range map[string]struct {
		of    int
		spoil func(*checkout.Change)
	}{
		"an event that is on record": {2, func(c *checkout.Change) { c.Jobs = append(c.Jobs, opened(2).Jobs[0]) }},
		"a number that is taken": {2, func(c *checkout.Change) {
			c.Agreement.Number, c.Next.Confirmation.AgreementNumber = numberOf(1), numberOf(1)
		}},
		"a second agreement": {1, func(c *checkout.Change) { c.Jobs = c.Jobs[2:] }},
	} {
		s.unchanged(func() {
			_, leases, err := s.UpdateCheckout(s.Context(), s.read(tt.of), leaseFor, deciding(func(c checkout.Checkout) checkout.Change {
				change := confirmed(c, 9)
				change.Act = &did
				tt.spoil(&change)
				return change
			}))
			s.refused(what, err, ports.ErrDuplicate)
			s.same("leases", len(leases), 0)
		})
	}
}

func agreementComesBack(s *store) {
	s.insert(opened(1), opened(2))
	id, other, ctx := opened(1).Next.ID, opened(2).Next.ID, s.Context()
	missing(s.Agreement(ctx, id))(s, "an agreement before the confirm")
	missing(s.Document(ctx, id))(s, "a document before the confirm")
	change := s.confirm(1)
	s.same("agreement", get(s.Agreement(ctx, id))(s), *change.Agreement)
	s.same("document", get(s.Document(ctx, id))(s), *change.Document)
	missing(s.Agreement(ctx, other))(s, "the agreement of another checkout")
	missing(s.Agreement(ctx, "unknown"))(s, "the agreement of an unknown checkout")
	change = s.update(2, func(c checkout.Checkout) checkout.Change {
		change := confirmed(c, 2)
		change.Document, change.Next.Confirmation.DocumentSHA256 = nil, [32]byte{}
		return change
	})
	s.same("agreement without a PDF", get(s.Agreement(ctx, other))(s), *change.Agreement)
	missing(s.Document(ctx, other))(s, "the document without a PDF")
}

func erasureEmpties(s *store) {
	s.insert(opened(1), opened(2))
	s.confirm(1)
	for _, l := range s.lease() {
		s.settle(l, checkout.Outcome{State: checkout.JobDone, Receipt: "250 queued for anaru@student.example",
			Failure: checkout.Failure{At: at(9), Reason: "mailbox of Ānaru is full"}})
	}
	change := s.update(1, erased)
	s.same("checkout", s.read(1), change.Next)
	s.same("agreement", get(s.Agreement(s.Context(), change.Next.ID))(s), agreed(completed(opened(1).Next, 4), 1).Erased())
	d := get(s.Document(s.Context(), change.Next.ID))(s)
	s.same("hash", d.SHA256, document(1).SHA256)
	s.same("bytes", len(d.Bytes), 0)
	for _, r := range s.jobs(checkout.JobFilter{State: checkout.JobDone}) {
		empty := r.Receipt == "" && r.Failure.Reason == ""
		s.same("receipt and reason of "+r.ID+" are empty", empty, r.CheckoutID == change.Next.ID)
	}
	for _, by := range []checkout.Reference{{BillingRequestID: "BRQ-order-1"}, {MandateID: "MD-order-1"}} {
		missing(s.FindCheckout(s.Context(), by))(s, fmt.Sprintf("by %+v", by))
	}
	s.same("acts", s.acts(checkout.ActFilter{}), []checkout.Act{*change.Act})
}
