package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

func checkouts() []promise {
	return []promise{
		{"a checkout comes back as it was stored, at every stage", comesBack},
		{"text comes back byte for byte, and texts that look alike are told apart", textsComeBack},
		{"amounts of any size come back exactly", func(s *store) {
			for i, amount := range []money.Cents{0, 1, 1<<31 - 1, 1 << 31, 1<<53 + 1, 1<<62 - 1} {
				change := opened(i)
				change.Next.Intent.Pricing = money.Pricing{Price: amount, Principal: amount}
				change.Next.Intent.Plan.Instalments = money.Instalments{Number: 1<<31 - 1, Regular: amount, Final: amount}
				s.insert(change)
				s.same("intent", s.read(i).Intent, change.Next.Intent)
			}
		}},
		{"times come back in UTC to the millisecond", func(s *store) {
			fine, want := time.Date(2026, time.November, 20, 17, 4, 6, 789_999_999, nzdt), at(4)
			change := opened(1)
			change.At, change.Next.CreatedAt, change.Next.Tokens[0].Expires = fine, fine, fine
			s.insert(change)
			s.update(1, func(c checkout.Checkout) checkout.Change {
				c = begun(c, 4)
				c.Setup.Consent.At, c.Setup.CompletedAt, c.Setup.MandateSince, c.End.At = fine, fine, fine, fine
				return checkout.Change{At: fine, Next: c, Moments: []checkout.Moment{{ID: "m", At: fine, Kind: checkout.MomentPressed}}}
			})
			c := s.read(1)
			s.same("times", []time.Time{c.CreatedAt, c.Tokens[0].Expires, c.Setup.Consent.At, c.Setup.CompletedAt, c.Setup.MandateSince, c.End.At,
				s.moments(1)[0].At}, []time.Time{want, want, want, want, want, want, want})
		}},
		{"an id, an order and an idempotency key are taken once within a provider, and a duplicate stores nothing", func(s *store) {
			first := opened(1)
			s.insert(first)
			s.unchanged(func() {
				for what, change := range map[string]func(*checkout.Checkout){
					"id":    func(c *checkout.Checkout) { c.ID = first.Next.ID },
					"order": func(c *checkout.Checkout) { c.OrderID = first.Next.OrderID },
					"key":   func(c *checkout.Checkout) { c.IdempotencyKey = first.Next.IdempotencyKey },
				} {
					c := opened(2)
					change(&c.Next)
					_, err := s.InsertCheckout(s.Context(), c, leaseFor)
					s.refused(what, err, ports.ErrDuplicate)
				}
			})
			s.insert(openedBy("RIMU", 1))
			s.same("order of another provider", s.find(byOrder("RIMU", "order-1")).ID, idOf("RIMU", 1))
			s.same("key of another provider", s.find(byKey("RIMU", "key-1")).ID, idOf("RIMU", 1))
		}},
		{"of concurrent inserts of one id one succeeds", concurrentInserts(func(*checkout.Checkout, int) {})},
		{"of concurrent inserts of one order one succeeds", concurrentInserts(func(c *checkout.Checkout, i int) {
			c.ID, c.IdempotencyKey = idOf(c.ProviderCode, i), fmt.Sprint("key-", i)
		})},
		{"of concurrent inserts of one idempotency key one succeeds", concurrentInserts(func(c *checkout.Checkout, i int) {
			c.ID, c.OrderID = idOf(c.ProviderCode, i), fmt.Sprint("order-", i)
		})},
		{"of concurrent inserts of a header and of the same default key one succeeds", concurrentInserts(func(c *checkout.Checkout, i int) {
			c.ID, c.OrderID = idOf(c.ProviderCode, i), fmt.Sprint("order-", i)
			c.IdempotencyKey = checkout.DefaultKey(c.ProviderCode, "order-1")
		})},
		{"a checkout is found by each reference, and by no other", foundByReference},
	}
}

// insert stores new checkouts.
func (s *store) insert(changes ...checkout.Change) {
	s.Helper()
	for _, c := range changes {
		_, err := s.InsertCheckout(s.Context(), c, 0)
		s.must("InsertCheckout "+c.Next.ID, err)
	}
}

// read returns checkout number n.
func (s *store) read(n int) checkout.Checkout {
	s.Helper()
	return get(s.Checkout(s.Context(), opened(n).Next.ID))(s)
}

// update stores the change that f makes of checkout number n.
func (s *store) update(n int, f func(checkout.Checkout) checkout.Change) checkout.Change {
	s.Helper()
	change, _ := s.updateHolding(0, s.read(n), f)
	return change
}

// updateHolding stores the change that f makes of a checkout, and returns the leases on its jobs.
func (s *store) updateHolding(hold time.Duration, known checkout.Checkout,
	f func(checkout.Checkout) checkout.Change) (checkout.Change, []checkout.Lease) {
	s.Helper()
	change, leases, err := s.UpdateCheckout(s.Context(), known, hold, deciding(f))
	s.must("UpdateCheckout "+known.ID, err)
	return change, leases
}

func deciding(f func(checkout.Checkout) checkout.Change) ports.Decide {
	return func(c checkout.Checkout) (checkout.Change, error) { return f(c), nil }
}

// confirm confirms checkout number n with an agreement of that number.
func (s *store) confirm(n int) checkout.Change {
	s.Helper()
	return s.update(n, func(c checkout.Checkout) checkout.Change { return confirmed(c, n) })
}

// find returns the checkout that a reference names.
func (s *store) find(by checkout.Reference) checkout.Checkout {
	s.Helper()
	return get(s.FindCheckout(s.Context(), by))(s)
}

// unchanged reports a change of what is on record while f runs.
func (s *store) unchanged(f func()) {
	s.Helper()
	before, acts := s.export(""), s.acts(checkout.ActFilter{})
	f()
	s.same("record", s.export(""), before)
	s.same("acts", s.acts(checkout.ActFilter{}), acts)
}

func comesBack(s *store) {
	s.insert(opened(1))
	s.same("open", s.read(1), stored(opened(1)).Next)
	for _, next := range []func(checkout.Checkout) checkout.Change{
		func(c checkout.Checkout) checkout.Change { return checkout.Change{At: at(4), Next: begun(c, 4)} },
		func(c checkout.Checkout) checkout.Change { return checkout.Change{At: at(5), Next: completed(c, 4)} },
		func(c checkout.Checkout) checkout.Change { return confirmed(c, 1) },
		withdrawn,
		erased,
	} {
		was := s.read(1)
		change := s.update(1, next)
		s.same("change", change.Next, next(was).Numbered(was).Next)
		s.same("checkout", s.read(1), change.Next)
	}
	bare := opened(2)
	bare.Next = checkout.Checkout{ID: bare.Next.ID, ProviderCode: "KOWHAI", OrderID: "o", IdempotencyKey: "k", CreatedAt: at(1),
		Status: checkout.SetupRequired, Intent: bare.Next.Intent}
	bare.Jobs = nil
	s.insert(bare)
	s.same("bare", s.read(2), stored(bare).Next)
	missing(s.Checkout(s.Context(), opened(3).Next.ID))(s, "an unknown checkout")
}

func textsComeBack(s *store) {
	var all []checkout.Checkout
	for i, text := range oddTexts() {
		change := opened(i)
		c := &change.Next
		c.OrderID, c.IdempotencyKey, c.RequestID, c.CourseCode, c.CreatedBy = text, text+"!", text, text, checkout.Actor(text)
		c.Student = checkout.Student{FirstName: text, LastName: text, Email: text}
		c.Intent.CourseName, c.Setup.MandateReason, c.Tokens[0].KID = text, text, text
		s.insert(change)
		all = append(all, stored(change).Next)
	}
	for _, c := range all {
		s.same("checkout", get(s.Checkout(s.Context(), c.ID))(s), c)
		s.same("by order", s.find(byOrder("KOWHAI", c.OrderID)), c)
		s.same("by key", s.find(byKey("KOWHAI", c.IdempotencyKey)), c)
	}
}

// concurrentInserts is a case of concurrent inserts of one checkout, each after a change of its own.
func concurrentInserts(change func(c *checkout.Checkout, i int)) func(*store) {
	return func(s *store) {
		s.concurrently("InsertCheckout", 1, ports.ErrDuplicate, func(s *store, i int) error {
			c := opened(many)
			change(&c.Next, i)
			c.Next.RequestID = fmt.Sprint("req_", i)
			c.Jobs = []checkout.Job{event(c.Next, "checkout.created", 1)}
			leases, err := s.InsertCheckout(s.Context(), c, leaseFor)
			if err == nil && len(leases) != 1 {
				err = errors.New("no lease")
			}
			return err
		})
		all := s.export("").Checkouts
		s.same("checkouts and jobs", []int{len(all), len(s.jobs(checkout.JobFilter{}))}, []int{1, 1})
		s.same("request of the event", all[0].Jobs[0].RequestID, all[0].Checkout.RequestID)
	}
}

func byOrder(provider, order string) checkout.Reference {
	return checkout.Reference{ProviderCode: provider, OrderID: order}
}

func byKey(provider, key string) checkout.Reference {
	return checkout.Reference{ProviderCode: provider, Key: key}
}

func foundByReference(s *store) {
	s.insert(opened(1), opened(2), openedBy("RIMU", 3))
	s.confirm(1)
	c := s.read(1)
	for _, by := range []checkout.Reference{byOrder("KOWHAI", c.OrderID), byKey("KOWHAI", c.IdempotencyKey),
		{BillingRequestID: c.Setup.BillingRequestID}, {MandateID: c.Setup.MandateID}, {AgreementNumber: c.Confirmation.AgreementNumber}} {
		s.same(fmt.Sprintf("by %+v", by), s.find(by), c)
	}
	for _, by := range []checkout.Reference{{}, byOrder("RIMU", c.OrderID), byOrder("KOWHAI", "ORDER-1"), byOrder("KOWHAI", c.IdempotencyKey),
		byKey("RIMU", c.IdempotencyKey), byKey("KOWHAI", c.OrderID), {MandateID: "md-order-1"}, {AgreementNumber: "PPA"}} {
		missing(s.FindCheckout(s.Context(), by))(s, fmt.Sprintf("by %+v", by))
	}
}
