package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Setups tests a store against what ports.Checkouts promises about bank setups.
func Setups(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a checkout is found by its billing request and by its mandate", foundBySetup},
		{"a checkout is found by its latest billing request and mandate alone", foundByLatestSetup},
		{"a checkout without a billing request or mandate is not found by one", notFoundBySetup},
		{"a setup is due from the very millisecond of its time", dueAt},
		{"due setups come in the order of their times, up to the limit", dueInOrder},
		{"a setup that is looked at later is due later, and one that is final never", dueAgain},
	})
}

// withSetup returns what a create stores, with a setup that was begun.
func withSetup(n int, billingRequest, mandate string, lookAgain time.Time) checkout.Change {
	c := opened(n)
	c.Next.Setup.Try = 1
	c.Next.Setup.BillingRequestID, c.Next.Setup.MandateID, c.Next.Setup.LookAgain = billingRequest, mandate, lookAgain
	return c
}

// setSetup stores other ids and another time of a setup.
func setSetup(t *testing.T, s ports.Admin, n int, billingRequest, mandate string, lookAgain time.Time) {
	t.Helper()
	update(t, s, opened(n).Next.ID, func(c checkout.Checkout) checkout.Change {
		c.Setup = withSetup(n, billingRequest, mandate, lookAgain).Next.Setup
		return checkout.Change{Next: c}
	})
}

func foundBySetup(t *testing.T, s ports.Admin) {
	for i, text := range oddTexts() {
		insert(t, s, withSetup(i, "BRQ"+text, "MD"+text, time.Time{}))
	}
	for i, text := range oddTexts() {
		want := withSetup(i, "BRQ"+text, "MD"+text, time.Time{}).Next
		got, err := s.CheckoutByBillingRequest(t.Context(), "BRQ"+text)
		must(t, "CheckoutByBillingRequest", err)
		same(t, "checkout of the billing request", got, want)
		got, err = s.CheckoutByMandate(t.Context(), "MD"+text)
		must(t, "CheckoutByMandate", err)
		same(t, "checkout of the mandate", got, want)
	}
}

// bySetup looks a checkout up by both ids, and returns the ids of what was found: "" for nothing.
func bySetup(t *testing.T, s ports.Admin, billingRequest, mandate string) (found [2]string) {
	t.Helper()
	c, err := s.CheckoutByBillingRequest(t.Context(), billingRequest)
	if found[0] = c.ID; err != nil {
		refused(t, "CheckoutByBillingRequest", err, ports.ErrNotFound)
	}
	c, err = s.CheckoutByMandate(t.Context(), mandate)
	if found[1] = c.ID; err != nil {
		refused(t, "CheckoutByMandate", err, ports.ErrNotFound)
	}
	return found
}

func foundByLatestSetup(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	id := opened(1).Next.ID
	setSetup(t, s, 1, "BRQ1", "", time.Time{})
	same(t, "found once the setup is begun", bySetup(t, s, "BRQ1", "MD1"), [2]string{id, ""})
	setSetup(t, s, 1, "BRQ1", "MD1", time.Time{})
	same(t, "found once there is a mandate", bySetup(t, s, "BRQ1", "MD1"), [2]string{id, id})
	setSetup(t, s, 1, "BRQ2", "", time.Time{})
	same(t, "found by the former setup", bySetup(t, s, "BRQ1", "MD1"), [2]string{})
	setSetup(t, s, 1, "BRQ2", "MD2", time.Time{})
	same(t, "found by the next setup", bySetup(t, s, "BRQ2", "MD2"), [2]string{id, id})
	confirm(t, s, opened(2).Next.ID, 2)
	c := completed(opened(2).Next)
	same(t, "found when it is confirmed", bySetup(t, s, c.Setup.BillingRequestID, c.Setup.MandateID), [2]string{c.ID, c.ID})
}

func notFoundBySetup(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), withSetup(2, "BRQ2", "MD2", time.Time{}))
	for _, id := range []string{"", "BRQ", "brq2", "MD", "md2"} {
		same(t, "found by "+id, bySetup(t, s, id, id), [2]string{})
	}
	same(t, "found by the id of the other kind", bySetup(t, s, "MD2", "BRQ2"), [2]string{})
}

func due(t *testing.T, s ports.Admin, now time.Time, limit int) []string {
	t.Helper()
	found, err := s.DueSetups(t.Context(), now, limit)
	must(t, "DueSetups", err)
	return append([]string{}, found...)
}

func dueAt(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), withSetup(2, "BRQ2", "", at(20)))
	same(t, "due a millisecond before", due(t, s, at(20).Add(-time.Millisecond), many), []string{})
	same(t, "due", due(t, s, at(20), many), ids(opened(2)))
	same(t, "due in another zone", due(t, s, at(20).In(time.FixedZone("NZDT", 13*60*60)), many), ids(opened(2)))
}

func dueInOrder(t *testing.T, s ports.Admin) {
	for n, minute := range []int{30, 20, 40, 20, 10} {
		insert(t, s, withSetup(n, fmt.Sprint("BRQ", n), "", at(minute)))
	}
	all := ids(opened(4), opened(1), opened(3), opened(0))
	same(t, "due", due(t, s, at(30), many), all)
	for limit := range all {
		same(t, "due up to the limit", due(t, s, at(30), limit), all[:limit])
	}
}

func dueAgain(t *testing.T, s ports.Admin) {
	insert(t, s, withSetup(1, "BRQ1", "", at(20)), withSetup(2, "BRQ2", "", at(21)))
	setSetup(t, s, 1, "BRQ1", "", at(25))
	same(t, "due", due(t, s, at(24), many), ids(opened(2)))
	same(t, "due later", due(t, s, at(25), many), ids(opened(2), opened(1)))
	setSetup(t, s, 2, "BRQ2", "MD2", time.Time{})
	same(t, "due when one is final", due(t, s, at(59), many), ids(opened(1)))
}
