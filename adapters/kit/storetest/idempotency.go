package storetest

import (
	"fmt"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Idempotency tests that a store never has two orders of one provider with the same idempotency key. A key comes from a
// header, or is the default of an order, <provider code>:<order id>. A header may contain another order's
// default.
func Idempotency(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a key is taken once, and a second insert stores nothing", keyTaken},
		{"a header cannot take the default key of an order on record", defaultKeyTaken},
		{"an order cannot be opened once a header has taken its default key", headerTookDefaultKey},
		{"a checkout is found by its key, however it was spelled", foundByEitherSpelling},
		{"a key that only looks like a default key is like any other", almostDefaultKeys},
		{"of many concurrent inserts under one key one succeeds", concurrentKey},
		{"of many concurrent inserts under both spellings of one key one succeeds", concurrentSpellings},
		{"many checkouts have their default keys", manyDefaultKeys},
	})
}

// byDefault returns what a create of the order without a header stores.
func byDefault(n int, order string) checkout.Change {
	return under(n, order, checkout.DefaultKey("KOWHAI", order))
}

// under returns what a create of the order under the key stores.
func under(n int, order, key string) checkout.Change {
	c := opened(n)
	c.Next.OrderID, c.Next.IdempotencyKey = order, key
	return c
}

// isDuplicate reports unless the insert is refused and changes nothing.
func isDuplicate(t *testing.T, s ports.Admin, c checkout.Change) {
	t.Helper()
	unchanged(t, s, func() {
		refused(t, fmt.Sprintf("InsertCheckout of order %q under key %q", c.Next.OrderID, c.Next.IdempotencyKey),
			s.InsertCheckout(t.Context(), c, pending()), ports.ErrDuplicate)
	})
}

func keyTaken(t *testing.T, s ports.Admin) {
	insert(t, s, under(1, "order-1", "key"), byDefault(2, "order-2"))
	isDuplicate(t, s, under(3, "order-3", "key"))
	isDuplicate(t, s, byDefault(3, "order-2"))
}

func defaultKeyTaken(t *testing.T, s ports.Admin) {
	for i, order := range oddTexts() {
		insert(t, s, byDefault(i, order))
	}
	for i, order := range oddTexts() {
		isDuplicate(t, s, under(i+100, fmt.Sprint("another ", i), checkout.DefaultKey("KOWHAI", order)))
	}
}

func headerTookDefaultKey(t *testing.T, s ports.Admin) {
	for i, order := range oddTexts() {
		insert(t, s, under(i, fmt.Sprint("another ", i), checkout.DefaultKey("KOWHAI", order)))
	}
	for i, order := range oddTexts() {
		isDuplicate(t, s, byDefault(i+100, order))
	}
	insert(t, s, under(200, oddTexts()[0], "a key of its own"))
}

func foundByEitherSpelling(t *testing.T, s ports.Admin) {
	changes := []checkout.Change{
		byDefault(1, "order-1"),
		under(2, "order-2", "key"),
		under(3, "order-3", checkout.DefaultKey("KOWHAI", "order-4")),
		under(4, "order-4", checkout.DefaultKey("KOWHAI", "order-5")),
		under(5, "order-6", checkout.DefaultKey("KOWHAI", "order-6")),
		under(6, "order-7", "KOWHAI:"),
	}
	insert(t, s, changes...)
	for _, want := range changes {
		same(t, "checkout", find(t, s, byKey("KOWHAI", want.Next.IdempotencyKey)), want.Next)
	}
	for _, key := range []string{checkout.DefaultKey("KOWHAI", "order-2"), checkout.DefaultKey("KOWHAI", "order-3"), "order-1"} {
		missing(t, "FindCheckout by key "+key)(s.FindCheckout(t.Context(), byKey("KOWHAI", key)))
	}
}

func almostDefaultKeys(t *testing.T, s ports.Admin) {
	insert(t, s, byDefault(1, "order"))
	for i, key := range []string{"order", ":order", "KOWHAI", "KOWHAI:", "KOWHAIorder", "KOWHAI::order", "kowhai:order", "RIMU:order",
		"KOWHAI:Order", "KOWHAI:order ", " KOWHAI:order"} {
		insert(t, s, under(i+2, fmt.Sprint("order-", i), key))
	}
	other := under(50, "order", checkout.DefaultKey("KOWHAI", "order"))
	other.Next.ProviderCode, other.Events[0].ProviderCode = "RIMU", "RIMU"
	insert(t, s, other)
	same(t, "checkouts", len(export(t, s).Checkouts), 13)
}

func concurrentKey(t *testing.T, s ports.Admin) {
	for round, key := range []string{"key", checkout.DefaultKey("KOWHAI", "an order that is never opened")} {
		errs := concurrently(many, func(i int) error {
			n := round*many + i
			return s.InsertCheckout(t.Context(), under(n, fmt.Sprint("order-", n), key), pending())
		})
		winner := oneWins(t, "InsertCheckout under "+key, errs, ports.ErrDuplicate)
		same(t, "the checkout of the key", find(t, s, byKey("KOWHAI", key)).ID, opened(round*many+winner).Next.ID)
	}
	same(t, "checkouts", len(export(t, s).Checkouts), 2)
}

// concurrentSpellings opens one order by default while other orders take its default key by a header.
func concurrentSpellings(t *testing.T, s ports.Admin) {
	for round := range 10 {
		order := fmt.Sprint("order-", round)
		key := checkout.DefaultKey("KOWHAI", order)
		errs := concurrently(4, func(i int) error {
			n := round*4 + i
			if i%2 == 0 {
				return s.InsertCheckout(t.Context(), byDefault(n, order), pending())
			}
			return s.InsertCheckout(t.Context(), under(n, fmt.Sprint("another ", n), key), pending())
		})
		winner := oneWins(t, "InsertCheckout under "+key, errs, ports.ErrDuplicate)
		same(t, "the checkout of the key", find(t, s, byKey("KOWHAI", key)).ID, opened(round*4+winner).Next.ID)
	}
	same(t, "checkouts", len(export(t, s).Checkouts), 10)
}

func manyDefaultKeys(t *testing.T, s ports.Admin) {
	allSucceed(t, "InsertCheckout", many, func(i int) error {
		return s.InsertCheckout(t.Context(), byDefault(i, fmt.Sprint("order-", i)), pending())
	})
	for _, c := range export(t, s).Checkouts {
		same(t, "key", c.Checkout.IdempotencyKey, checkout.DefaultKey("KOWHAI", c.Checkout.OrderID))
	}
}
