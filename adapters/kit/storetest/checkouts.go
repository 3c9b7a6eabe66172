package storetest

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// many is how many calls race for one thing.
const many = 24

// Checkouts tests a store against ports.Checkouts, except for what [Updates], [Idempotency] and [Setups] test.
func Checkouts(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a checkout comes back as it was stored, by id, order and key", checkoutComesBack},
		{"text comes back byte for byte", textComesBack},
		{"texts that look alike are different orders and keys", lookalikes},
		{"amounts and counts of 64 bits come back whole", bigNumbers},
		{"times come back in UTC to the millisecond", timesComeBack},
		{"the zero time and the zero date come back as zero", zeroTimes},
		{"a checkout that does not exist is not found", unknownCheckouts},
		{"an order is taken once, and a second insert stores nothing", orderTaken},
		{"a checkout id is taken once", idTaken},
		{"orders and keys belong to their provider", otherProvider},
		{"of many concurrent inserts of one order one succeeds", concurrentOrder},
		{"values share no memory with the store", sharedMemory},
		{"a context that has ended is an error, and nothing is stored", endedContext},
	})
}

func checkoutComesBack(t *testing.T, s ports.Admin) {
	first, second := opened(1), opened(2)
	second.Next = completed(second.Next)
	insert(t, s, first, second)
	for _, want := range []checkout.Checkout{first.Next, second.Next} {
		got, err := s.Checkout(t.Context(), want.ID)
		must(t, "Checkout", err)
		same(t, "Checkout", got, want)
		got, err = s.CheckoutByOrder(t.Context(), want.ProviderCode, want.OrderID)
		must(t, "CheckoutByOrder", err)
		same(t, "CheckoutByOrder", got, want)
		got, err = s.CheckoutByKey(t.Context(), want.ProviderCode, want.IdempotencyKey)
		must(t, "CheckoutByKey", err)
		same(t, "CheckoutByKey", got, want)
	}
}

func textComesBack(t *testing.T, s ports.Admin) {
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
		got, err := s.CheckoutByOrder(t.Context(), n.ProviderCode, text)
		must(t, "CheckoutByOrder", err)
		same(t, "checkout", got, *n)
		evs, err := s.PendingEvents(t.Context(), n.ID)
		must(t, "PendingEvents", err)
		if len(evs) != 1 {
			t.Fatalf("PendingEvents: got %d events, want 1", len(evs))
		}
		same(t, "event", evs[0].Event, c.Events[0])
	}
}

func lookalikes(t *testing.T, s ports.Admin) {
	for i, text := range oddTexts() {
		c := opened(i)
		c.Next.OrderID, c.Next.IdempotencyKey = text, text
		insert(t, s, c)
	}
	for i, text := range oddTexts() {
		want := opened(i).Next.ID
		got, err := s.CheckoutByOrder(t.Context(), "KOWHAI", text)
		must(t, "CheckoutByOrder", err)
		same(t, "checkout of the order", got.ID, want)
		got, err = s.CheckoutByKey(t.Context(), "KOWHAI", text)
		must(t, "CheckoutByKey", err)
		same(t, "checkout of the key", got.ID, want)
	}
}

func bigNumbers(t *testing.T, s ports.Admin) {
	c := opened(1)
	p := &c.Next.Intent
	p.Pricing = money.Pricing{Price: math.MaxInt64, Upfront: math.MinInt64, Principal: 1<<53 + 1}
	p.Plan.Instalments = money.Instalments{Number: math.MaxInt32, Regular: math.MaxInt64 - 1, Final: -1}
	insert(t, s, c)
	got, err := s.Checkout(t.Context(), c.Next.ID)
	must(t, "Checkout", err)
	same(t, "intent", got.Intent, *p)
}

func timesComeBack(t *testing.T, s ports.Admin) {
	zone := time.FixedZone("NZDT", 13*60*60)
	for i, when := range []time.Time{
		time.Date(2027, time.January, 1, 0, 30, 0, 123_456_789, zone),
		time.Date(1969, time.July, 20, 20, 17, 40, 999_999, time.UTC),
		time.Date(9999, time.December, 31, 23, 59, 59, 999_999_999, time.UTC),
	} {
		c := opened(i)
		c.Next = completed(c.Next)
		setTimes(&c.Next, when)
		insert(t, s, c)
		want := c.Next
		want.Tokens = slices.Clone(want.Tokens)
		setTimes(&want, when.UTC().Truncate(time.Millisecond))
		got, err := s.Checkout(t.Context(), c.Next.ID)
		must(t, "Checkout", err)
		same(t, "checkout", got, want)
	}
}

// setTimes sets every time of a completed checkout.
func setTimes(c *checkout.Checkout, when time.Time) {
	c.CreatedAt, c.Tokens[1].Expires, c.Confirmation.At = when, when, when
	c.Setup.MandateSince, c.Setup.CompletedAt, c.Setup.LookAgain, c.Setup.Consent.At = when, when, when, when
}

func zeroTimes(t *testing.T, s ports.Admin) {
	c := checkout.Change{Next: checkout.Checkout{ID: "bare", ProviderCode: "KOWHAI", OrderID: "bare", IdempotencyKey: "key"}}
	c.Next.Status = checkout.SetupRequired
	insert(t, s, c)
	got, err := s.Checkout(t.Context(), "bare")
	must(t, "Checkout", err)
	same(t, "checkout", got, c.Next)
}

func unknownCheckouts(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	_, err := s.Checkout(t.Context(), "KOWHAI-1-x")
	refused(t, "Checkout", err, ports.ErrNotFound)
	_, err = s.CheckoutByOrder(t.Context(), "KOWHAI", "order")
	refused(t, "CheckoutByOrder", err, ports.ErrNotFound)
	for _, key := range []string{"key-2", "KEY-1", "", "KOWHAI:", "KOWHAI:order", "KOWHAI"} {
		_, err = s.CheckoutByKey(t.Context(), "KOWHAI", key)
		refused(t, "CheckoutByKey "+key, err, ports.ErrNotFound)
	}
}

func orderTaken(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	unchanged(t, s, func() {
		c := opened(2)
		c.Next.OrderID = opened(1).Next.OrderID
		refused(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, pending()), ports.ErrDuplicate)
	})
}

func idTaken(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	unchanged(t, s, func() {
		c := opened(2)
		c.Next.ID = opened(1).Next.ID
		refused(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, pending()), ports.ErrDuplicate)
	})
}

func otherProvider(t *testing.T, s ports.Admin) {
	a, b := opened(1), opened(2)
	b.Next.ProviderCode, b.Next.OrderID, b.Next.IdempotencyKey = "RIMU", a.Next.OrderID, a.Next.IdempotencyKey
	insert(t, s, a, b)
	for provider, id := range map[string]string{"KOWHAI": a.Next.ID, "RIMU": b.Next.ID} {
		got, err := s.CheckoutByOrder(t.Context(), provider, a.Next.OrderID)
		must(t, "CheckoutByOrder", err)
		same(t, provider+"'s checkout of the order", got.ID, id)
		got, err = s.CheckoutByKey(t.Context(), provider, a.Next.IdempotencyKey)
		must(t, "CheckoutByKey", err)
		same(t, provider+"'s checkout of the key", got.ID, id)
	}
	_, err := s.CheckoutByOrder(t.Context(), "TOTARA", a.Next.OrderID)
	refused(t, "CheckoutByOrder of a third provider", err, ports.ErrNotFound)
}

func concurrentOrder(t *testing.T, s ports.Admin) {
	errs := concurrently(many, func(i int) error {
		c := opened(i)
		c.Next.OrderID = "order"
		return s.InsertCheckout(t.Context(), c, pending())
	})
	winner := oneWins(t, "InsertCheckout", errs, ports.ErrDuplicate)
	onlyOneOnRecord(t, s, opened(winner).Next.ID)
}

func onlyOneOnRecord(t *testing.T, s ports.Admin, id string) {
	t.Helper()
	all := export(t, s).Checkouts
	if len(all) != 1 || all[0].Checkout.ID != id || len(all[0].Events) != 1 {
		t.Errorf("on record: got %+v, want the winner %s alone, with one event", all, id)
	}
	same(t, "checkouts with events", expired(t, s, at(30), many), []string{id})
}

func sharedMemory(t *testing.T, s ports.Admin) {
	want, changed := opened(1), opened(1)
	insert(t, s, changed)
	changed.Next.Tokens[0].KID, changed.Events[0].Body[0] = "changed", 'X'
	for range 2 { // what the first round changes would show in the second
		got, err := s.Checkout(t.Context(), want.Next.ID)
		must(t, "Checkout", err)
		same(t, "checkout", got, want.Next)
		got.Tokens[0].KID = "changed"
		evs, err := s.PendingEvents(t.Context(), want.Next.ID)
		must(t, "PendingEvents", err)
		same(t, "body", evs[0].Event.Body, want.Events[0].Body)
		evs[0].Event.Body[0] = 'X'
		err = s.UpdateCheckout(t.Context(), want.Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			c.Tokens[0].KID = "changed"
			return checkout.Change{}, errors.New("no")
		})
		if err == nil {
			t.Error("UpdateCheckout: got no error of decide")
		}
	}
}

func endedContext(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	ended, end := context.WithCancel(t.Context())
	end()
	unchanged(t, s, func() {
		refused(t, "InsertCheckout", s.InsertCheckout(ended, opened(2), pending()), context.Canceled)
		_, err := s.Checkout(ended, opened(1).Next.ID)
		refused(t, "Checkout", err, context.Canceled)
		err = s.UpdateCheckout(ended, opened(1).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			return confirmed(c, 1), nil
		})
		refused(t, "UpdateCheckout", err, context.Canceled)
		_, err = s.LeaseEvent(ended, opened(1).Events[0].ID, 1, at(20))
		refused(t, "LeaseEvent", err, context.Canceled)
		refused(t, "AddKey", s.AddKey(ended, key(1), nil), context.Canceled)
		refused(t, "Export", s.Export(ended, new(record).collect()), context.Canceled)
	})
}
