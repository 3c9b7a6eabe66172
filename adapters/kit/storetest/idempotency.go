package storetest

import (
	"fmt"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Idempotency tests that a store never has two orders of one provider with the same idempotency key. A key comes from a
// header, or is the default of an order, <provider code>:<order id>. A header may contain another order's default.
func Idempotency(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a key is taken once, and a second insert stores nothing", func(t *testing.T, s ports.Admin) {
			insert(t, s, under(1, "order-1", "key"), byDefault(2, "order-2"))
			isDuplicate(t, s, under(3, "order-3", "key"))
			isDuplicate(t, s, byDefault(3, "order-2"))
		}},
		{"a header and an order of the same default key exclude each other", defaultKeyTaken},
		{"a key that only looks like a default key is like any other, and finds its checkout", almostDefaultKeys},
		{"many checkouts have their default keys", func(t *testing.T, s ports.Admin) {
			allSucceed(t, "InsertCheckout", many, func(i int) error {
				return s.InsertCheckout(t.Context(), byDefault(i, fmt.Sprint("order-", i)), pending())
			})
			for _, c := range export(t, s).Checkouts {
				same(t, "key", c.Checkout.IdempotencyKey, checkout.DefaultKey("KOWHAI", c.Checkout.OrderID))
			}
		}},
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

func defaultKeyTaken(t *testing.T, s ports.Admin) {
	another := func(i int, order string) checkout.Change {
		return under(i+100, fmt.Sprint("another ", i), checkout.DefaultKey("KOWHAI", order))
	}
	for i, order := range oddTexts() {
		first, second := byDefault(i, order), another(i, order)
		if i%2 == 1 {
			first, second = second, first
		}
		insert(t, s, first)
		isDuplicate(t, s, second)
		same(t, "checkout of the key", find(t, s, byKey("KOWHAI", checkout.DefaultKey("KOWHAI", order))), first.Next)
	}
	insert(t, s, under(200, oddTexts()[1], "a key of its own"))
}

func almostDefaultKeys(t *testing.T, s ports.Admin) {
	insert(t, s, byDefault(1, "order"))
	for i, key := range []string{"order", ":order", "KOWHAI", "KOWHAI:", "KOWHAIorder", "KOWHAI::order", "kowhai:order", "RIMU:order",
		"KOWHAI:Order", "KOWHAI:order ", " KOWHAI:order"} {
		c := under(i+2, fmt.Sprint("order-", i), key)
		insert(t, s, c)
		same(t, "checkout of the key", find(t, s, byKey("KOWHAI", key)), c.Next)
		missing(t, "FindCheckout by the default key")(s.FindCheckout(t.Context(), byKey("KOWHAI", checkout.DefaultKey("KOWHAI", c.Next.OrderID))))
	}
	other := otherProviders(50)
	other.Next.OrderID, other.Next.IdempotencyKey = "order", checkout.DefaultKey("KOWHAI", "order")
	insert(t, s, other)
	same(t, "checkouts", len(export(t, s).Checkouts), 13)
}
