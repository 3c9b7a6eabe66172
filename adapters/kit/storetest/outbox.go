package storetest

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Outbox tests a store against ports.Outbox.
func Outbox(t *testing.T, open Open) {
	run(t, open, []promise{
		{"an event enters at epoch 1, leased to the request that committed it", eventEnters},
		{"events are pending in the order in which they were stored", pendingInOrder},
		{"an event that is not configured is on record and never pending", notConfigured},
		{"an event comes back as it was stored, its body byte for byte", eventComesBack},
		{"a leased event has the next epoch and the new end of the lease", eventLeased},
		{"of many concurrent leases of one event one succeeds", concurrentLeases},
		{"a holder whose lease has ended is fenced by the epoch", lateHolder},
		{"a settled event keeps its outcome and its attempts", eventSettled},
		{"of many concurrent settlements one succeeds", concurrentSettlements},
		{"an event that does not exist is not found", unknownEvent},
		{"a lease has expired from the very millisecond of its end", expiredAt},
		{"an event that was never leased has no lease to wait for", neverLeased},
		{"checkouts with expired leases come once each, oldest event first, up to the limit", expiredInOrder},
		{"a provider with many expired leases does not hide another's", expiredOfEach},
		{"a checkout with one event leased and one expired is found", expiredInPart},
		{"the backlog counts what is pending, leased or not, and has the age of the oldest", backlogShrinks},
	})
}

func pendingEvents(t *testing.T, s ports.Admin, c checkout.Change) []ports.PendingEvent {
	t.Helper()
	evs, err := s.PendingEvents(t.Context(), c.Next.ID)
	must(t, "PendingEvents", err)
	return evs
}

func expired(t *testing.T, s ports.Admin, now time.Time, limit int) []string {
	t.Helper()
	found, err := s.ExpiredLeases(t.Context(), now, limit)
	must(t, "ExpiredLeases", err)
	ids := []string{}
	for _, a := range found {
		ids = append(ids, a.CheckoutID)
	}
	return ids
}

func ids(changes ...checkout.Change) []string {
	all := []string{}
	for _, c := range changes {
		all = append(all, c.Next.ID)
	}
	return all
}

func eventEnters(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	same(t, "pending", pendingEvents(t, s, opened(1)),
		[]ports.PendingEvent{{Event: opened(1).Events[0], Epoch: 1, Until: at(10)}})
	same(t, "on record", export(t, s).Checkouts[0].Events,
		[]ports.EventRecord{{Event: opened(1).Events[0], Status: events.Pending}})
	same(t, "pending of a checkout that does not exist", len(pendingEvents(t, s, opened(2))), 0)
}

func pendingInOrder(t *testing.T, s ports.Admin) {
	c := opened(1)
	c.Events = append(c.Events, event(c.Next, "zzz"), event(c.Next, "aaa"), event(c.Next, "mmm"))
	insert(t, s, c, opened(2))
	done := confirm(t, s, c.Next.ID, 1)
	var got []events.Event
	for _, q := range pendingEvents(t, s, c) {
		got = append(got, q.Event)
	}
	same(t, "pending", got, append(c.Events, done.Events...))
}

func notConfigured(t *testing.T, s ports.Admin) {
	c := opened(1)
	nowhere := ports.Enqueue{Status: events.NotConfigured, Until: at(10)}
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, nowhere))
	same(t, "pending", len(pendingEvents(t, s, c)), 0)
	same(t, "expired", expired(t, s, at(59), many), []string{})
	_, err := s.LeaseEvent(t.Context(), c.Events[0].ID, 1, at(20))
	refused(t, "LeaseEvent", err, ports.ErrNotFound)
	same(t, "on record", export(t, s).Checkouts[0].Events,
		[]ports.EventRecord{{Event: c.Events[0], Status: events.NotConfigured}})
}

func eventComesBack(t *testing.T, s ports.Admin) {
	c := opened(1)
	want := &c.Events[0]
	want.ProviderCode, want.OrderID, want.RequestID = "RIMU", "another order", "req_other"
	want.CreatedAt = time.Date(2026, time.November, 20, 17, 4, 5, 999_999_999, time.FixedZone("NZDT", 13*60*60))
	want.Body = []byte("{\"a\" : 1e2,\r\n \"ā\":\"\\u0000\", \"a\u0304\": \"\u2028\"}\n\n")
	insert(t, s, c)
	want.CreatedAt = want.CreatedAt.UTC().Truncate(time.Millisecond)
	same(t, "pending", pendingEvents(t, s, c)[0].Event, *want)
	same(t, "on record", export(t, s).Checkouts[0].Events[0].Event, *want)
}

func eventLeased(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	id := opened(1).Events[0].ID
	for epoch := int64(1); epoch <= 3; epoch++ {
		until := at(20 + int(epoch))
		got, err := s.LeaseEvent(t.Context(), id, epoch, until)
		must(t, "LeaseEvent", err)
		same(t, "epoch", got, epoch+1)
		same(t, "pending", pendingEvents(t, s, opened(1)),
			[]ports.PendingEvent{{Event: opened(1).Events[0], Epoch: epoch + 1, Until: until}})
	}
	same(t, "the other event", pendingEvents(t, s, opened(2))[0].Epoch, int64(1))
}

func concurrentLeases(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	epochs := make([]int64, many)
	errs := concurrently(many, func(i int) (err error) {
		epochs[i], err = s.LeaseEvent(t.Context(), opened(1).Events[0].ID, 1, at(20+i))
		return err
	})
	winner := oneWins(t, "LeaseEvent", errs, ports.ErrNotFound)
	same(t, "the winner's epoch", epochs[winner], int64(2))
	same(t, "leased until", pendingEvents(t, s, opened(1))[0].Until, at(20+winner))
}

func lateHolder(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	e := opened(1).Events[0]
	_, err := s.LeaseEvent(t.Context(), e.ID, 1, at(20))
	must(t, "LeaseEvent", err)
	before := pendingEvents(t, s, opened(1))
	for _, epoch := range []int64{1, 0, 3} {
		err := s.SettleEvent(t.Context(), e.ID, epoch, ports.Settlement{Status: events.Failed, Attempts: 3})
		refused(t, "SettleEvent of another epoch", err, ports.ErrNotFound)
		_, err = s.LeaseEvent(t.Context(), e.ID, epoch, at(30))
		refused(t, "LeaseEvent of another epoch", err, ports.ErrNotFound)
	}
	same(t, "pending", pendingEvents(t, s, opened(1)), before)
	same(t, "on record", export(t, s).Checkouts[0].Events, []ports.EventRecord{{Event: e, Status: events.Pending}})
	must(t, "SettleEvent of the holder", s.SettleEvent(t.Context(), e.ID, 2, ports.Settlement{Status: events.Delivered, Attempts: 1}))
}

func eventSettled(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	outcome := map[int]ports.EventRecord{
		1: {Event: opened(1).Events[0], Status: events.Delivered, Attempts: 2},
		2: {Event: opened(2).Events[0], Status: events.Failed, Attempts: 3},
	}
	for n, want := range outcome {
		must(t, "SettleEvent", s.SettleEvent(t.Context(), want.Event.ID, 1, ports.Settlement{Status: want.Status, Attempts: want.Attempts}))
		same(t, "pending", len(pendingEvents(t, s, opened(n))), 0)
		err := s.SettleEvent(t.Context(), want.Event.ID, 1, ports.Settlement{Status: events.NotConfigured, Attempts: 1})
		refused(t, "SettleEvent again", err, ports.ErrNotFound)
		_, err = s.LeaseEvent(t.Context(), want.Event.ID, 1, at(20))
		refused(t, "LeaseEvent of a settled event", err, ports.ErrNotFound)
	}
	same(t, "expired", expired(t, s, at(59), many), []string{})
	for i, d := range export(t, s).Checkouts {
		same(t, "on record", d.Events, []ports.EventRecord{outcome[i+1]})
	}
}

func concurrentSettlements(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	errs := concurrently(many, func(i int) error {
		return s.SettleEvent(t.Context(), opened(1).Events[0].ID, 1, ports.Settlement{Status: events.Failed, Attempts: i + 1})
	})
	winner := oneWins(t, "SettleEvent", errs, ports.ErrNotFound)
	same(t, "attempts", export(t, s).Checkouts[0].Events[0].Attempts, winner+1)
}

func unknownEvent(t *testing.T, s ports.Admin) {
	_, err := s.LeaseEvent(t.Context(), "evt_none", 1, at(20))
	refused(t, "LeaseEvent", err, ports.ErrNotFound)
	refused(t, "SettleEvent", s.SettleEvent(t.Context(), "evt_none", 1, ports.Settlement{Status: events.Delivered, Attempts: 1}), ports.ErrNotFound)
}

func expiredAt(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	same(t, "a millisecond before", expired(t, s, at(10).Add(-time.Millisecond), many), []string{})
	same(t, "at the end", expired(t, s, at(10), many), ids(opened(1)))
	_, err := s.LeaseEvent(t.Context(), opened(1).Events[0].ID, 1, at(20))
	must(t, "LeaseEvent", err)
	same(t, "leased", expired(t, s, at(20).Add(-time.Millisecond), many), []string{})
	same(t, "expired again", expired(t, s, at(20), many), ids(opened(1)))
}

func neverLeased(t *testing.T, s ports.Admin) {
	c := opened(1)
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, ports.Enqueue{Status: events.Pending}))
	same(t, "pending", pendingEvents(t, s, c), []ports.PendingEvent{{Event: c.Events[0], Epoch: 1}})
	same(t, "expired", expired(t, s, at(0), many), ids(c))
}

func expiredInOrder(t *testing.T, s ports.Admin) {
	for _, n := range []int{3, 1, 2} { // ids do not sort in the order of their creation
		insert(t, s, opened(n))
	}
	confirm(t, s, opened(3).Next.ID, 3)
	same(t, "all", expired(t, s, at(10), many), ids(opened(3), opened(1), opened(2)))
	same(t, "at most 2", expired(t, s, at(10), 2), ids(opened(3), opened(1)))
	same(t, "at most 3", expired(t, s, at(10), 3), ids(opened(3), opened(1), opened(2)))
	must(t, "SettleEvent", s.SettleEvent(t.Context(), opened(3).Events[0].ID, 1, ports.Settlement{Status: events.Failed, Attempts: 3}))
	same(t, "the oldest settled", expired(t, s, at(10), many), ids(opened(1), opened(2), opened(3)))
}

func expiredInPart(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	confirm(t, s, opened(1).Next.ID, 1)
	_, err := s.LeaseEvent(t.Context(), opened(1).Events[0].ID, 1, at(20))
	must(t, "LeaseEvent", err)
	same(t, "expired", expired(t, s, at(10), many), ids(opened(2), opened(1)))
}

func backlogShrinks(t *testing.T, s ports.Admin) {
	backlog := func(what string, wantPending int, wantOldest time.Time) {
		t.Helper()
		pending, oldest, err := s.Backlog(t.Context())
		must(t, "Backlog", err)
		same(t, what+": pending", pending, wantPending)
		same(t, what+": oldest", oldest, wantOldest)
	}
	backlog("nothing stored", 0, time.Time{})
	aged := func(n, minute int) checkout.Change {
		c := opened(n)
		c.Events[0].CreatedAt = at(minute)
		return c
	}
	insert(t, s, aged(1, 5), aged(2, 3), aged(3, 4)) // the oldest is not the first that was stored
	silent := ports.Enqueue{Status: events.NotConfigured}
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), aged(4, 1), silent))
	backlog("all pending", 3, at(3))
	_, err := s.LeaseEvent(t.Context(), opened(2).Events[0].ID, 1, at(59))
	must(t, "LeaseEvent", err)
	backlog("the oldest leased", 3, at(3))
	must(t, "SettleEvent", s.SettleEvent(t.Context(), opened(2).Events[0].ID, 2, ports.Settlement{Status: events.Delivered, Attempts: 1}))
	backlog("the oldest delivered", 2, at(4))
	for _, n := range []int{1, 3} {
		must(t, "SettleEvent", s.SettleEvent(t.Context(), opened(n).Events[0].ID, 1, ports.Settlement{Status: events.Failed, Attempts: 3}))
	}
	backlog("all settled", 0, time.Time{})
}

func expiredOfEach(t *testing.T, s ports.Admin) {
	busy := []checkout.Change{opened(1), opened(2), opened(3)}
	other := opened(4)
	other.Next.ProviderCode, other.Events[0].ProviderCode = "RIMU", "RIMU"
	insert(t, s, append(busy, other)...)
	found, err := s.ExpiredLeases(t.Context(), at(10), 2)
	must(t, "ExpiredLeases", err)
	same(t, "two of each", found, []ports.ExpiredLease{
		{CheckoutID: opened(1).Next.ID, ProviderCode: "KOWHAI"},
		{CheckoutID: opened(2).Next.ID, ProviderCode: "KOWHAI"},
		{CheckoutID: other.Next.ID, ProviderCode: "RIMU"},
	})
}
