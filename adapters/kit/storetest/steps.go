package storetest

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Steps tests a store against what ports.Checkouts promises about the steps of a CRM outside of the store.
func Steps(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a step comes back as it was stored", stepComesBack},
		{"a step is due from the very millisecond at which its lease ends", stepDueAt},
		{"due steps come in the order of their times, up to the limit", stepsInOrder},
		{"a step that is leased again is due later, and one that is done never", stepDueAgain},
		{"the backlog is every step, leased or not, and since when the oldest began", stepBacklog},
		{"of many who lease a step at once one gets it", stepLeasedOnce},
		{"a checkout that is removed leaves its order, its key and its id free", removed},
		{"a checkout that is removed leaves all others alone", removedAlone},
	})
}

// reserved returns what a create stores that reserves checkout number n.
func reserved(n int, since, until time.Time) checkout.Change {
	c := opened(n).Next
	c.Status, c.Records, c.Tokens = checkout.Reserved, checkout.Records{}, nil
	c.Step = checkout.Step{Kind: checkout.StepOpen, Epoch: 1, Since: since, Until: until}
	return checkout.Change{Next: c}
}

// setStep stores another step of checkout number n.
func setStep(t *testing.T, s ports.Admin, n int, step checkout.Step) {
	t.Helper()
	update(t, s, opened(n).Next.ID, func(c checkout.Checkout) checkout.Change {
		c.Step = step
		return checkout.Change{Next: c}
	})
}

func dueSteps(t *testing.T, s ports.Admin, now time.Time, limit int) []string {
	t.Helper()
	ids, err := s.DueSteps(t.Context(), now, limit)
	must(t, "DueSteps", err)
	return ids
}

func stepComesBack(t *testing.T, s ports.Admin) {
	insert(t, s, reserved(1, at(1), at(2)))
	read := func() checkout.Step {
		c, err := s.Checkout(t.Context(), opened(1).Next.ID)
		must(t, "Checkout", err)
		return c.Step
	}
	same(t, "step of a reservation", read(), reserved(1, at(1), at(2)).Next.Step)
	for _, text := range oddTexts() {
		step := checkout.Step{Kind: checkout.StepComplete, Epoch: 1 << 40, Since: at(3), Until: at(4), Failure: text}
		setStep(t, s, 1, step)
		same(t, "step", read(), step)
	}
	setStep(t, s, 1, checkout.Step{})
	same(t, "no step", read(), checkout.Step{})
}

func stepDueAt(t *testing.T, s ports.Admin) {
	insert(t, s, reserved(1, at(1), at(2)), opened(2))
	same(t, "due before the lease ends", dueSteps(t, s, at(2).Add(-time.Millisecond), many), []string(nil))
	same(t, "due when the lease ends", dueSteps(t, s, at(2), many), ids(opened(1)))
}

func stepsInOrder(t *testing.T, s ports.Admin) {
	insert(t, s, reserved(1, at(1), at(9)), reserved(2, at(2), at(7)), reserved(3, at(3), at(8)), reserved(4, at(0), at(30)))
	same(t, "due steps", dueSteps(t, s, at(10), many), ids(opened(2), opened(3), opened(1)))
	same(t, "the first two", dueSteps(t, s, at(10), 2), ids(opened(2), opened(3)))
}

func stepDueAgain(t *testing.T, s ports.Admin) {
	insert(t, s, reserved(1, at(1), at(2)))
	setStep(t, s, 1, checkout.Step{Kind: checkout.StepOpen, Epoch: 2, Since: at(1), Until: at(20)})
	same(t, "due under the former lease", dueSteps(t, s, at(10), many), []string(nil))
	same(t, "due when the lease ends", dueSteps(t, s, at(20), many), ids(opened(1)))
	setStep(t, s, 1, checkout.Step{})
	same(t, "due when it is done", dueSteps(t, s, at(59), many), []string(nil))
}

func stepBacklog(t *testing.T, s ports.Admin) {
	backlog := func(waiting int, oldest time.Time) {
		t.Helper()
		n, since, err := s.StepBacklog(t.Context())
		must(t, "StepBacklog", err)
		if n != waiting || !since.Equal(oldest) {
			t.Errorf("StepBacklog() = %d, %v; want %d, %v", n, since, waiting, oldest)
		}
	}
	insert(t, s, opened(3))
	backlog(0, time.Time{})
	insert(t, s, reserved(1, at(5), at(50)), reserved(2, at(4), at(1)))
	backlog(2, at(4))
	setStep(t, s, 2, checkout.Step{})
	backlog(1, at(5))
}

func stepLeasedOnce(t *testing.T, s ports.Admin) {
	insert(t, s, reserved(1, at(1), at(2)))
	errs := concurrently(8, func(int) error {
		return s.UpdateCheckout(t.Context(), opened(1).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			return c.Lease(at(3), at(20))
		})
	})
	oneWins(t, "Lease", errs, checkout.ErrNotDue)
}

// remove removes checkout number n.
func remove(t *testing.T, s ports.Admin, n int) {
	t.Helper()
	update(t, s, opened(n).Next.ID, func(c checkout.Checkout) checkout.Change {
		return checkout.Change{Next: c, Remove: true}
	})
}

func removed(t *testing.T, s ports.Admin) {
	byHeader, byDefault := reserved(1, at(1), at(2)), reserved(2, at(1), at(2))
	byDefault.Next.IdempotencyKey = checkout.DefaultKey(byDefault.Next.ProviderCode, byDefault.Next.OrderID)
	for n, change := range map[int]checkout.Change{1: byHeader, 2: byDefault} {
		insert(t, s, change)
		refused(t, "a second reservation", s.InsertCheckout(t.Context(), change, pending()), ports.ErrDuplicate)
		remove(t, s, n)
		c := change.Next
		_, err := s.Checkout(t.Context(), c.ID)
		refused(t, "Checkout", err, ports.ErrNotFound)
		_, err = s.CheckoutByOrder(t.Context(), c.ProviderCode, c.OrderID)
		refused(t, "CheckoutByOrder", err, ports.ErrNotFound)
		_, err = s.CheckoutByKey(t.Context(), c.ProviderCode, c.IdempotencyKey)
		refused(t, "CheckoutByKey", err, ports.ErrNotFound)
		err = s.UpdateCheckout(t.Context(), c.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			t.Error("decide is called for a checkout that was removed")
			return checkout.Change{Next: c}, nil
		})
		refused(t, "UpdateCheckout", err, ports.ErrNotFound)
		same(t, "due steps", dueSteps(t, s, at(59), many), []string(nil))
		insert(t, s, change)
		remove(t, s, n)
	}
	same(t, "record", len(export(t, s).Checkouts), 0)
}

func removedAlone(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(3))
	want := export(t, s)
	insert(t, s, reserved(2, at(1), at(2)))
	remove(t, s, 2)
	same(t, "record", export(t, s), want)
}
