package storetest

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// many is the number of calls that race for one thing.
const many = 24

// Checkouts tests a store against ports.Checkouts, except for what [Updates] and [Idempotency] test.
func Checkouts(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a checkout comes back as it was stored, by id, order and key", checkoutComesBack},
		{"text comes back byte for byte, and texts that look alike are different orders and keys", textComesBack},
		{"amounts and counts of 64 bits come back whole", bigNumbers},
		{"times come back in UTC to the millisecond", timesComeBack},
		{"the zero time and the zero date come back as zero", zeroTimes},
		{"a checkout that does not exist is not found", func(t *testing.T, s ports.Admin) {
			insert(t, s, opened(1))
			missing(t, "Checkout")(s.Checkout(t.Context(), "KOWHAI-1-x"))
			missing(t, "FindCheckout by order")(s.FindCheckout(t.Context(), byOrder("KOWHAI", "order")))
			missing(t, "FindCheckout by nothing")(s.FindCheckout(t.Context(), byOrder("KOWHAI", "")))
			for _, key := range []string{"key-2", "KEY-1", "", "KOWHAI:", "KOWHAI:order", "KOWHAI"} {
				missing(t, "FindCheckout by key "+key)(s.FindCheckout(t.Context(), byKey("KOWHAI", key)))
			}
		}},
		{"an order and a checkout id are taken once, and a second insert stores nothing", func(t *testing.T, s ports.Admin) {
			insert(t, s, opened(1))
			order, id := opened(2), opened(2)
			order.Next.OrderID, id.Next.ID = opened(1).Next.OrderID, opened(1).Next.ID
			for _, c := range []checkout.Change{order, id} {
				isDuplicate(t, s, c)
			}
		}},
		{"orders and keys belong to their provider", func(t *testing.T, s ports.Admin) {
			a, b := opened(1), otherProviders(2)
			b.Next.OrderID, b.Next.IdempotencyKey = a.Next.OrderID, a.Next.IdempotencyKey
			insert(t, s, a, b)
			for provider, id := range map[string]string{"KOWHAI": a.Next.ID, "RIMU": b.Next.ID} {
				same(t, provider+"'s checkout of the order", find(t, s, byOrder(provider, a.Next.OrderID)).ID, id)
				same(t, provider+"'s checkout of the key", find(t, s, byKey(provider, a.Next.IdempotencyKey)).ID, id)
			}
			missing(t, "FindCheckout of a third provider")(s.FindCheckout(t.Context(), byOrder("TOTARA", a.Next.OrderID)))
		}},
		{"of many concurrent inserts under one order or one key, however it is spelt, one succeeds", inOne(concurrentInserts)},
		{"a checkout is found by its billing request and by its mandate", func(t *testing.T, s ports.Admin) {
			for i, text := range oddTexts() {
				insert(t, s, begun(i, "BRQ"+text, "MD"+text))
			}
			for i, text := range oddTexts() {
				want := begun(i, "BRQ"+text, "MD"+text).Next
				same(t, "checkout of the billing request", find(t, s, checkout.Reference{BillingRequestID: "BRQ" + text}), want)
				same(t, "checkout of the mandate", find(t, s, checkout.Reference{MandateID: "MD" + text}), want)
			}
		}},
		{"a checkout is found by its latest billing request and mandate alone", foundByLatestSetup},
		{"a checkout without a billing request or mandate is not found by one", func(t *testing.T, s ports.Admin) {
			insert(t, s, opened(1), begun(2, "BRQ2", "MD2"))
			for _, id := range []string{"", "BRQ", "brq2", "MD", "md2"} {
				same(t, "found by "+id, bySetup(t, s, id, id), [2]string{})
			}
			same(t, "found by the id of the other kind", bySetup(t, s, "MD2", "BRQ2"), [2]string{})
		}},
	})
}

func textComesBack(t *testing.T, s ports.Admin) {
	var all []checkout.Checkout
	for i, text := range oddTexts() {
		c := opened(i)
		n := &c.Next
		n.OrderID, n.IdempotencyKey, n.RequestID = text, text, text
		n.Student = checkout.Student{FirstName: text, LastName: text, Email: text}
		n.CourseCode, n.Intent.CourseName = text, text
		n.Records = checkout.Records{ContactID: text, OpportunityID: text, DDAID: text}
		n.Setup.BillingRequestID, n.Setup.MandateID, n.Setup.MandateReason, n.Setup.AccountHolder = text, text, text, text
		n.Setup.Mandate = checkout.MandateStatus(text) // any word of the processor is kept
		c.Events[0].OrderID, c.Events[0].RequestID, c.Events[0].Body = text, text, []byte(text)
		insert(t, s, c)
		same(t, "event", jobOf(t, s, c.Events[0].ID).Job.Event(), c.Events[0])
		all = append(all, *n)
	}
	for _, c := range all {
		same(t, "checkout of the order", find(t, s, byOrder(c.ProviderCode, c.OrderID)), c)
		same(t, "checkout of the key", find(t, s, byKey(c.ProviderCode, c.OrderID)).ID, c.ID)
	}
}

func timesComeBack(t *testing.T, s ports.Admin) {
	for i, when := range oddTimes() {
		c := opened(i)
		c.Next = completed(c.Next)
		setTimes(&c.Next, when)
		insert(t, s, c)
		want := c.Next
		want.Tokens = slices.Clone(want.Tokens)
		setTimes(&want, when.UTC().Truncate(time.Millisecond))
		gets(t, "Checkout", want)(s.Checkout(t.Context(), c.Next.ID))
	}
}

// setTimes sets every time of a completed checkout.
func setTimes(c *checkout.Checkout, when time.Time) {
	c.CreatedAt, c.Tokens[1].Expires, c.Tokens[1].Renewed, c.Confirmation.At = when, when, when, when
	c.Setup.MandateSince, c.Setup.CompletedAt, c.Setup.Consent.At = when, when, when
}

func zeroTimes(t *testing.T, s ports.Admin) {
	c := checkout.Change{Next: checkout.Checkout{ID: "KOWHAI-0-bare", ProviderCode: "KOWHAI", OrderID: "bare", IdempotencyKey: "key"}}
	c.Next.Status = checkout.SetupRequired
	insert(t, s, c)
	gets(t, "Checkout", c.Next)(s.Checkout(t.Context(), c.Next.ID))
}

func concurrentInserts(t *testing.T, s processes) {
	const rounds, racers = 10, 4
	races := []struct {
		name   string
		change func(n, i int, name string) checkout.Change
	}{
		{"one order", func(n, _ int, name string) checkout.Change { return under(n, name, fmt.Sprint("key-", n)) }},
		{"one key", func(n, _ int, name string) checkout.Change { return under(n, fmt.Sprint("order-", n), name) }},
		{"two spellings of one key", func(n, i int, name string) checkout.Change {
			if i%2 == 0 {
				return byDefault(n, name)
			}
			return under(n, fmt.Sprint("order-", n), checkout.DefaultKey("KOWHAI", name))
		}},
	}
	var winners []string
	for round := range rounds * len(races) {
		race := races[round%len(races)]
		change := func(i int) checkout.Change { return race.change(round*racers+i, i, fmt.Sprint("name-", round)) }
		errs := concurrently(racers, func(i int) error { return s[i/2].InsertCheckout(t.Context(), change(i), pending()) })
		won := change(oneWins(t, "InsertCheckout of "+race.name, errs, ports.ErrDuplicate)).Next
		same(t, "the checkout of the key", find(t, s[0], byKey("KOWHAI", won.IdempotencyKey)), won)
		winners = append(winners, won.ID)
	}
	var found []string
	for _, r := range export(t, s[0]).Checkouts {
		found = append(found, r.Checkout.ID)
		same(t, "events and moments of a winner", []int{len(r.Jobs), len(r.Moments)}, []int{1, 1})
	}
	same(t, "on record", found, winners)
	same(t, "leased", len(leases(t, s[0], nil)), len(winners))
}

// begun returns what a create stores, with a setup that was begun.
func begun(n int, billingRequest, mandate string) checkout.Change {
	c := opened(n)
	c.Next.Setup.Try, c.Next.Setup.BillingRequestID, c.Next.Setup.MandateID = 1, billingRequest, mandate
	return c
}

// bySetup looks a checkout up by both ids, and returns the ids of what was found: "" for nothing.
func bySetup(t *testing.T, s ports.Admin, billingRequest, mandate string) (found [2]string) {
	t.Helper()
	for i, by := range []checkout.Reference{{BillingRequestID: billingRequest}, {MandateID: mandate}} {
		c, err := s.FindCheckout(t.Context(), by)
		if found[i] = c.ID; err != nil {
			refused(t, "FindCheckout", err, ports.ErrNotFound)
		}
	}
	return found
}

func foundByLatestSetup(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	id := opened(1).Next.ID
	set := func(billingRequest, mandate string) {
		t.Helper()
		update(t, s, id, func(checkout.Checkout) checkout.Change {
			return checkout.Change{Next: begun(1, billingRequest, mandate).Next}
		})
	}
	set("BRQ1", "")
	same(t, "found once the setup is begun", bySetup(t, s, "BRQ1", "MD1"), [2]string{id, ""})
	set("BRQ1", "MD1")
	same(t, "found once there is a mandate", bySetup(t, s, "BRQ1", "MD1"), [2]string{id, id})
	set("BRQ2", "")
	same(t, "found by the former setup", bySetup(t, s, "BRQ1", "MD1"), [2]string{})
	set("BRQ2", "MD2")
	same(t, "found by the next setup", bySetup(t, s, "BRQ2", "MD2"), [2]string{id, id})
	confirm(t, s, opened(2).Next.ID, 2)
	c := completed(opened(2).Next)
	same(t, "found when it is confirmed", bySetup(t, s, c.Setup.BillingRequestID, c.Setup.MandateID), [2]string{c.ID, c.ID})
}

func checkoutComesBack(t *testing.T, s ports.Admin) {
	first, second := opened(1), opened(2)
	second.Next = completed(second.Next)
	insert(t, s, first, second)
	for _, want := range []checkout.Checkout{first.Next, second.Next} {
		gets(t, "Checkout", want)(s.Checkout(t.Context(), want.ID))
		same(t, "checkout of the order", find(t, s, byOrder(want.ProviderCode, want.OrderID)), want)
		same(t, "checkout of the key", find(t, s, byKey(want.ProviderCode, want.IdempotencyKey)), want)
	}
}

func bigNumbers(t *testing.T, s ports.Admin) {
	c := opened(1)
	p := &c.Next.Intent
	p.Pricing = money.Pricing{Price: math.MaxInt64, Upfront: math.MinInt64, Principal: 1<<53 + 1}
	p.Plan.Instalments = money.Instalments{Number: math.MaxInt32, Regular: math.MaxInt64 - 1, Final: -1}
	insert(t, s, c)
	got := result(s.Checkout(t.Context(), c.Next.ID))(t)
	same(t, "intent", got.Intent, *p)
}
