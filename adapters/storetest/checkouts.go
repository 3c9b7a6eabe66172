package storetest

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// many is how many calls race for one thing.
const many = 24

// Checkouts holds a store to ports.Checkouts.
func Checkouts(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a checkout comes back as it went in, by id, order and key", checkoutComesBack},
		{"text comes back byte for byte", textComesBack},
		{"texts that look alike are different orders and keys", lookalikes},
		{"amounts and counts come back whole, to the last of 64 bits", bigNumbers},
		{"times come back in UTC to the millisecond", timesComeBack},
		{"no time comes back as no time, and no date as none", noTimes},
		{"what is not there is not found", unknownCheckouts},
		{"an order is taken once, and the loser stores nothing", orderTaken},
		{"an idempotency key is taken once, and the loser stores nothing", keyTaken},
		{"a checkout id is taken once", idTaken},
		{"orders and keys belong to their provider", otherProvider},
		{"many checkouts have no idempotency key", withoutKeys},
		{"of many concurrent inserts of one order one wins", concurrentOrder},
		{"of many concurrent inserts under one idempotency key one wins", concurrentKey},
		{"values share no memory with the store", sharedMemory},
		{"an ended context is an error and stores nothing", endedContext},
		{"an update stores all of its change", updateStoresAll},
		{"an update stores every field but the identity", updateStoresFields},
		{"an update stores with the checkout that it is of, whatever decide names", updateKeepsIdentity},
		{"an update of no checkout is not found and decides nothing", updateUnknown},
		{"an error of decide is returned as it is and stores nothing", updateError},
		{"a panic of decide stores nothing and blocks nobody", updatePanic},
		{"an update that cannot be stored whole is not stored at all", updateWhole},
		{"no concurrent update is lost", concurrentUpdates},
		{"events of concurrent updates are pending in the order of the updates", concurrentEvents},
		{"of many concurrent confirmations one wins", concurrentConfirmations},
	})
}

func checkoutComesBack(t *testing.T, s ports.Store) {
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

func textComesBack(t *testing.T, s ports.Store) {
	for i, text := range oddTexts() {
		c := opened(i)
		n := &c.Next
		n.OrderID, n.IdempotencyKey, n.RequestID = text, text, text
		n.Student = checkout.Student{FirstName: text, LastName: text, Email: text}
		n.CourseCode, n.Intent.CourseName = text, text
		n.Records = checkout.Records{ContactID: text, OpportunityID: text, DDAID: text}
		n.Setup.BillingRequestID, n.Setup.AccountHolder = text, text
		n.Setup.Mandate = checkout.MandateStatus(text) // kept as the processor says it
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

func lookalikes(t *testing.T, s ports.Store) {
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

func bigNumbers(t *testing.T, s ports.Store) {
	c := opened(1)
	p := &c.Next.Intent
	p.Pricing = money.Pricing{Price: math.MaxInt64, Upfront: math.MinInt64, Principal: 1<<53 + 1}
	p.Plan.Instalments = money.Instalments{Number: math.MaxInt32, Regular: math.MaxInt64 - 1, Final: -1}
	insert(t, s, c)
	got, err := s.Checkout(t.Context(), c.Next.ID)
	must(t, "Checkout", err)
	same(t, "intent", got.Intent, *p)
}

func timesComeBack(t *testing.T, s ports.Store) {
	zone := time.FixedZone("NZDT", 13*60*60)
	for i, when := range []time.Time{
		time.Date(2027, time.January, 1, 0, 30, 0, 123_456_789, zone),
		time.Date(1969, time.July, 20, 20, 17, 40, 999_999, time.UTC),
		time.Date(9999, time.December, 31, 23, 59, 59, 999_999_999, time.UTC),
	} {
		c := opened(i)
		c.Next = completed(c.Next)
		c.Next.CreatedAt, c.Next.Setup.CompletedAt, c.Next.Tokens[1].Expires = when, when, when
		insert(t, s, c)
		want := when.UTC().Truncate(time.Millisecond)
		got, err := s.Checkout(t.Context(), c.Next.ID)
		must(t, "Checkout", err)
		same(t, "creation", got.CreatedAt, want)
		same(t, "completion", got.Setup.CompletedAt, want)
		same(t, "expiry", got.Tokens[1].Expires, want)
	}
}

func noTimes(t *testing.T, s ports.Store) {
	c := checkout.Change{Next: checkout.Checkout{ID: "bare", ProviderCode: "KOWHAI", OrderID: "bare"}}
	c.Next.Status = checkout.SetupRequired
	insert(t, s, c)
	got, err := s.Checkout(t.Context(), "bare")
	must(t, "Checkout", err)
	same(t, "checkout", got, c.Next)
}

func unknownCheckouts(t *testing.T, s ports.Store) {
	c := opened(1)
	c.Next.IdempotencyKey = ""
	insert(t, s, c)
	_, err := s.Checkout(t.Context(), "KOWHAI-1-x")
	refused(t, "Checkout", err, ports.ErrNotFound)
	_, err = s.CheckoutByOrder(t.Context(), "KOWHAI", "order")
	refused(t, "CheckoutByOrder", err, ports.ErrNotFound)
	_, err = s.CheckoutByKey(t.Context(), "KOWHAI", "key-1")
	refused(t, "CheckoutByKey", err, ports.ErrNotFound)
	_, err = s.CheckoutByKey(t.Context(), "KOWHAI", "")
	refused(t, "CheckoutByKey without a key", err, ports.ErrNotFound)
}

func orderTaken(t *testing.T, s ports.Store) {
	insert(t, s, opened(1))
	unchanged(t, s, func() {
		c := opened(2)
		c.Next.OrderID = opened(1).Next.OrderID
		refused(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, pending()), ports.ErrDuplicate)
	})
}

func keyTaken(t *testing.T, s ports.Store) {
	insert(t, s, opened(1))
	unchanged(t, s, func() {
		c := opened(2)
		c.Next.IdempotencyKey = opened(1).Next.IdempotencyKey
		refused(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, pending()), ports.ErrDuplicate)
	})
}

func idTaken(t *testing.T, s ports.Store) {
	insert(t, s, opened(1))
	unchanged(t, s, func() {
		c := opened(2)
		c.Next.ID = opened(1).Next.ID
		refused(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, pending()), ports.ErrDuplicate)
	})
}

func otherProvider(t *testing.T, s ports.Store) {
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

func withoutKeys(t *testing.T, s ports.Store) {
	for i := range 3 {
		c := opened(i)
		c.Next.IdempotencyKey = ""
		insert(t, s, c)
	}
	same(t, "checkouts", len(export(t, s).Dossiers), 3)
}

func concurrentOrder(t *testing.T, s ports.Store) {
	errs := together(many, func(i int) error {
		c := opened(i)
		c.Next.OrderID = "order"
		return s.InsertCheckout(t.Context(), c, pending())
	})
	winner := oneWins(t, "InsertCheckout", errs, ports.ErrDuplicate)
	onlyOneOnRecord(t, s, opened(winner).Next.ID)
}

func concurrentKey(t *testing.T, s ports.Store) {
	errs := together(many, func(i int) error {
		c := opened(i)
		c.Next.IdempotencyKey = "key"
		return s.InsertCheckout(t.Context(), c, pending())
	})
	winner := oneWins(t, "InsertCheckout", errs, ports.ErrDuplicate)
	onlyOneOnRecord(t, s, opened(winner).Next.ID)
}

func onlyOneOnRecord(t *testing.T, s ports.Store, id string) {
	t.Helper()
	all := export(t, s).Dossiers
	if len(all) != 1 || all[0].Checkout.ID != id || len(all[0].Events) != 1 {
		t.Errorf("on record: got %+v, want the winner %s alone, with one event", all, id)
	}
	same(t, "checkouts with events", abandoned(t, s, at(30), many), []string{id})
}

func sharedMemory(t *testing.T, s ports.Store) {
	want, spoilt := opened(1), opened(1)
	insert(t, s, spoilt)
	spoilt.Next.Tokens[0].KID, spoilt.Events[0].Body[0] = "spoilt", 'X'
	for range 2 { // what the first round spoils shows in the second
		got, err := s.Checkout(t.Context(), want.Next.ID)
		must(t, "Checkout", err)
		same(t, "checkout", got, want.Next)
		got.Tokens[0].KID = "spoilt"
		evs, err := s.PendingEvents(t.Context(), want.Next.ID)
		must(t, "PendingEvents", err)
		same(t, "body", evs[0].Event.Body, want.Events[0].Body)
		evs[0].Event.Body[0] = 'X'
		err = s.UpdateCheckout(t.Context(), want.Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			c.Tokens[0].KID = "spoilt"
			return checkout.Change{}, errors.New("no")
		})
		if err == nil {
			t.Error("UpdateCheckout: got no error of decide")
		}
	}
}

func endedContext(t *testing.T, s ports.Store) {
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
		_, err = s.DrawNumber(ended)
		refused(t, "DrawNumber", err, context.Canceled)
		refused(t, "AddKey", s.AddKey(ended, key(1)), context.Canceled)
		refused(t, "Export", s.Export(ended, new(record).collect()), context.Canceled)
	})
}
