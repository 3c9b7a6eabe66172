package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Updates tests a store against ports.Checkouts.UpdateCheckout.
func Updates(t *testing.T, open Open) {
	run(t, open, []promise{
		{"an update stores all of its change", updateStoresAll},
		{"an update stores every field but the identity", updateStoresFields},
		{"an update belongs to its checkout, whatever id decide returns", updateKeepsIdentity},
		{"an update of a checkout that does not exist is not found and decides nothing", func(t *testing.T, s ports.Admin) {
			err := s.UpdateCheckout(t.Context(), "no such checkout", pending(), func(checkout.Checkout) (checkout.Change, error) {
				t.Error("decide was called")
				return checkout.Change{}, nil
			})
			refused(t, "UpdateCheckout", err, ports.ErrNotFound)
		}},
		{"an error of decide is returned as it is, a panic reaches the caller, and nothing is stored or settled", updateError},
		{"a change that cannot be stored whole is not stored at all, and settles nothing", updateWhole},
		{"no concurrent update is lost", inOne(concurrentUpdates)},
		{"events of concurrent updates enter in the order of the updates", concurrentEvents},
		{"of many concurrent confirms one succeeds", concurrentConfirms},
	})
}

func updateStoresAll(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	want := confirm(t, s, opened(1).Next.ID, 7)
	gets(t, "Checkout", want.Next)(s.Checkout(t.Context(), want.Next.ID))
	gets(t, "Agreement", *want.Agreement)(s.Agreement(t.Context(), want.Agreement.Number))
	gets(t, "Document", *want.Document)(s.Document(t.Context(), want.Agreement.Number))
	var names []string
	r := exported(t, s, 1)
	for _, j := range r.Jobs {
		names = append(names, j.Job.Name)
	}
	same(t, "jobs", names, []string{"checkout.created", "checkout.confirmed", "agreement.generated", want.Jobs[0].Name})
	same(t, "moments", r.Moments, journal(opened(1).Moments[0], want.Moments[0]))
	gets(t, "the other checkout", opened(2).Next)(s.Checkout(t.Context(), opened(2).Next.ID))
}

func updateStoresFields(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	was, want := opened(1).Next, completed(opened(2).Next)
	want.CreatedAt, want.Student.FirstName, want.CourseCode = at(9), "Mere", ""
	want.Intent.Pricing.Price, want.Intent.Plan.Frequency = 1, money.Monthly
	want.Tokens = slices.Repeat(want.Tokens, 5)
	update(t, s, was.ID, func(checkout.Checkout) checkout.Change { return checkout.Change{Next: want} })
	want.ID, want.ProviderCode, want.OrderID, want.IdempotencyKey = was.ID, was.ProviderCode, was.OrderID, was.IdempotencyKey
	gets(t, "Checkout", want)(s.Checkout(t.Context(), was.ID))

	want.Tokens, want.Setup = nil, checkout.Setup{}
	update(t, s, was.ID, func(checkout.Checkout) checkout.Change { return checkout.Change{Next: want} })
	gets(t, "checkout without tokens and setup", want)(s.Checkout(t.Context(), was.ID))
}

func updateKeepsIdentity(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	want := confirmed(completed(opened(1).Next), 1)
	update(t, s, want.Next.ID, func(checkout.Checkout) checkout.Change {
		other := want
		other.Next.ID, other.Next.OrderID, other.Next.IdempotencyKey = opened(2).Next.ID, "another", "another"
		return other
	})
	d := export(t, s).Checkouts
	same(t, "checkout", d[0].Checkout, want.Next)
	same(t, "agreement", d[0].Agreement, want.Agreement)
	if d[0].Document == nil || d[1].Document != nil {
		t.Errorf("documents: got %v and %v, want one of the first checkout alone", d[0].Document, d[1].Document)
	}
}

// decision is the function that a store runs under the lock of a checkout.
type decision = func(checkout.Checkout) (checkout.Change, error)

// ways returns the ways to change checkout number n: an update, and the settlement of its first event.
func ways(t *testing.T, s ports.Admin, n int) map[string]func(decision) error {
	t.Helper()
	l := lease(t, s, opened(n).Events[0].ID)
	o := checkout.Outcome{State: checkout.JobDone, Attempts: 1, Moments: []checkout.Moment{moment(checkout.MomentEventDelivered, 1)}}
	return map[string]func(decision) error{
		"UpdateCheckout": func(d decision) error { return s.UpdateCheckout(t.Context(), opened(n).Next.ID, pending(), d) },
		"Settle":         func(d decision) error { return s.Settle(t.Context(), l, o, pending(), d) },
	}
}

func updateError(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	refusal, all := checkout.InvalidAPIKey(), ways(t, s, 1)
	unchanged(t, s, func() {
		for call, change := range all {
			err := change(func(c checkout.Checkout) (checkout.Change, error) { return confirmed(c, 1), refusal })
			if err != error(refusal) {
				t.Errorf("%s: got error %#v, want the very error of decide", call, err)
			}
			panics(t, "decide", func() {
				_ = change(func(checkout.Checkout) (checkout.Change, error) { panic("decide") })
			})
		}
	})
	insert(t, s, opened(2)) // the store goes on, the job is still the caller's, and the checkout is not locked
	must(t, "Settle", all["Settle"](deciding(func(c checkout.Checkout) checkout.Change { return confirmed(completed(c), 1) })))
}

func updateWhole(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	confirm(t, s, opened(1).Next.ID, 1)
	all := ways(t, s, 2)
	unchanged(t, s, func() {
		for name, change := range map[string]func(*checkout.Change){
			"event name on record":       func(c *checkout.Change) { c.Events[1].Name = events.CheckoutCreated },
			"event id on record":         func(c *checkout.Change) { c.Events[1].ID = opened(2).Events[0].ID },
			"two events of one name":     func(c *checkout.Change) { c.Events[1].Name = c.Events[0].Name },
			"agreement number on record": func(c *checkout.Change) { c.Agreement.Number = "PPA-2026-000001" },
		} {
			for call, way := range all {
				refused(t, call+" with "+name, way(deciding(func(c checkout.Checkout) checkout.Change {
					next := confirmed(completed(c), 2)
					change(&next)
					return next
				})), ports.ErrDuplicate)
			}
		}
	})
}

func concurrentUpdates(t *testing.T, s processes) {
	insert(t, s[0], opened(1))
	id := opened(1).Next.ID
	allSucceed(t, "UpdateCheckout", many, func(i int) error {
		return s[i%2].UpdateCheckout(t.Context(), id, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			c.Setup.Try++
			return checkout.Change{Next: c}, nil
		})
	})
	got := result(s[0].Checkout(t.Context(), id))(t)
	same(t, "updates on record", got.Setup.Try, many)
}

func concurrentEvents(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	id := opened(1).Next.ID
	allSucceed(t, "UpdateCheckout", many, func(int) error {
		return s.UpdateCheckout(t.Context(), id, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			c.Setup.Try++
			name := events.Name(fmt.Sprintf("update.%02d", c.Setup.Try))
			return checkout.Change{Next: c, Events: []events.Event{event(c, name)}}, nil
		})
	})
	for i, j := range exported(t, s, 1).Jobs[1:] {
		same(t, "event", j.Job.Name, fmt.Sprintf("update.%02d", i+1))
	}
}

func concurrentConfirms(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	id := opened(1).Next.ID
	already := errors.New("already confirmed")
	errs := concurrently(many, func(i int) error {
		return s.UpdateCheckout(t.Context(), id, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			if c.Status == checkout.Confirmed {
				return checkout.Change{}, already
			}
			return confirmed(completed(c), int64(i+1)), nil
		})
	})
	winner := oneWins(t, "UpdateCheckout", errs, already)
	all := export(t, s).Checkouts
	same(t, "checkouts", len(all), 1)
	same(t, "events", len(all[0].Events()), 3)
	want := confirmed(completed(opened(1).Next), int64(winner+1))
	same(t, "agreement", all[0].Agreement, want.Agreement)
	same(t, "checkout", all[0].Checkout, want.Next)
}
