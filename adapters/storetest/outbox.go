package storetest

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Outbox holds a store to ports.Outbox.
func Outbox(t *testing.T, open Open) {
	run(t, open, []promise{
		{"an event enters at epoch 1, owned by the request that committed it", eventEnters},
		{"events are pending in the order of their storing", pendingInOrder},
		{"an event that is not configured is on record and never pending", notConfigured},
		{"an event comes back as it went in, its body byte for byte", eventComesBack},
		{"a taken event has the next epoch and the new end of ownership", eventTaken},
		{"of many concurrent takers one wins", concurrentTakers},
		{"a late owner is fenced by the epoch", lateOwner},
		{"a settled event keeps its outcome and its attempts", eventSettled},
		{"of many concurrent settlements one wins", concurrentSettlements},
		{"an unknown event is not found", unknownEvent},
		{"an event is abandoned from the very millisecond its ownership ends", abandonedAt},
		{"abandoned checkouts come once each, oldest event first, up to the limit", abandonedInOrder},
		{"a provider with many abandoned checkouts does not hide another's", abandonedOfEach},
		{"a checkout of one event owned and one abandoned is abandoned", abandonedInPart},
		{"a backlog is what is pending, owned or not, and as old as the oldest of it", backlogShrinks},
	})
}

func pendingEvents(t *testing.T, s ports.Store, c checkout.Change) []ports.QueuedEvent {
	t.Helper()
	evs, err := s.PendingEvents(t.Context(), c.Next.ID)
	must(t, "PendingEvents", err)
	return evs
}

func abandoned(t *testing.T, s ports.Store, now time.Time, limit int) []string {
	t.Helper()
	found, err := s.AbandonedCheckouts(t.Context(), now, limit)
	must(t, "AbandonedCheckouts", err)
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

func eventEnters(t *testing.T, s ports.Store) {
	insert(t, s, opened(1))
	same(t, "pending", pendingEvents(t, s, opened(1)),
		[]ports.QueuedEvent{{Event: opened(1).Events[0], Epoch: 1, Until: at(10)}})
	same(t, "on record", export(t, s).Dossiers[0].Events,
		[]ports.EventRecord{{Event: opened(1).Events[0], Status: events.Pending}})
	same(t, "pending of nobody", len(pendingEvents(t, s, opened(2))), 0)
}

func pendingInOrder(t *testing.T, s ports.Store) {
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

func notConfigured(t *testing.T, s ports.Store) {
	c := opened(1)
	nowhere := ports.Queued{Status: events.NotConfigured, Until: at(10)}
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, nowhere))
	same(t, "pending", len(pendingEvents(t, s, c)), 0)
	same(t, "abandoned", abandoned(t, s, at(59), many), []string{})
	_, err := s.TakeEvent(t.Context(), c.Events[0].ID, 1, at(20))
	refused(t, "TakeEvent", err, ports.ErrNotFound)
	same(t, "on record", export(t, s).Dossiers[0].Events,
		[]ports.EventRecord{{Event: c.Events[0], Status: events.NotConfigured}})
}

func eventComesBack(t *testing.T, s ports.Store) {
	c := opened(1)
	want := &c.Events[0]
	want.ProviderCode, want.OrderID, want.RequestID = "RIMU", "another order", "req_other"
	want.CreatedAt = time.Date(2026, time.November, 20, 17, 4, 5, 999_999_999, time.FixedZone("NZDT", 13*60*60))
	want.Body = []byte("{\"a\" : 1e2,\r\n \"ā\":\"\\u0000\", \"a\u0304\": \"\u2028\"}\n\n")
	insert(t, s, c)
	want.CreatedAt = want.CreatedAt.UTC().Truncate(time.Millisecond)
	same(t, "pending", pendingEvents(t, s, c)[0].Event, *want)
	same(t, "on record", export(t, s).Dossiers[0].Events[0].Event, *want)
}

func eventTaken(t *testing.T, s ports.Store) {
	insert(t, s, opened(1), opened(2))
	id := opened(1).Events[0].ID
	for epoch := int64(1); epoch <= 3; epoch++ {
		until := at(20 + int(epoch))
		got, err := s.TakeEvent(t.Context(), id, epoch, until)
		must(t, "TakeEvent", err)
		same(t, "epoch", got, epoch+1)
		same(t, "pending", pendingEvents(t, s, opened(1)),
			[]ports.QueuedEvent{{Event: opened(1).Events[0], Epoch: epoch + 1, Until: until}})
	}
	same(t, "the other event", pendingEvents(t, s, opened(2))[0].Epoch, int64(1))
}

func concurrentTakers(t *testing.T, s ports.Store) {
	insert(t, s, opened(1))
	epochs := make([]int64, many)
	errs := together(many, func(i int) (err error) {
		epochs[i], err = s.TakeEvent(t.Context(), opened(1).Events[0].ID, 1, at(20+i))
		return err
	})
	winner := oneWins(t, "TakeEvent", errs, ports.ErrNotFound)
	same(t, "the winner's epoch", epochs[winner], int64(2))
	same(t, "owned until", pendingEvents(t, s, opened(1))[0].Until, at(20+winner))
}

func lateOwner(t *testing.T, s ports.Store) {
	insert(t, s, opened(1))
	e := opened(1).Events[0]
	_, err := s.TakeEvent(t.Context(), e.ID, 1, at(20))
	must(t, "TakeEvent", err)
	before := pendingEvents(t, s, opened(1))
	for _, epoch := range []int64{1, 0, 3} {
		err := s.SettleEvent(t.Context(), e.ID, epoch, events.Failed, 3)
		refused(t, "SettleEvent of another epoch", err, ports.ErrNotFound)
		_, err = s.TakeEvent(t.Context(), e.ID, epoch, at(30))
		refused(t, "TakeEvent of another epoch", err, ports.ErrNotFound)
	}
	same(t, "pending", pendingEvents(t, s, opened(1)), before)
	same(t, "on record", export(t, s).Dossiers[0].Events, []ports.EventRecord{{Event: e, Status: events.Pending}})
	must(t, "SettleEvent of the owner", s.SettleEvent(t.Context(), e.ID, 2, events.Delivered, 1))
}

func eventSettled(t *testing.T, s ports.Store) {
	insert(t, s, opened(1), opened(2))
	outcome := map[int]ports.EventRecord{
		1: {Event: opened(1).Events[0], Status: events.Delivered, Attempts: 2},
		2: {Event: opened(2).Events[0], Status: events.Failed, Attempts: 3},
	}
	for n, want := range outcome {
		must(t, "SettleEvent", s.SettleEvent(t.Context(), want.Event.ID, 1, want.Status, want.Attempts))
		same(t, "pending", len(pendingEvents(t, s, opened(n))), 0)
		err := s.SettleEvent(t.Context(), want.Event.ID, 1, events.NotConfigured, 1)
		refused(t, "SettleEvent again", err, ports.ErrNotFound)
		_, err = s.TakeEvent(t.Context(), want.Event.ID, 1, at(20))
		refused(t, "TakeEvent of a settled event", err, ports.ErrNotFound)
	}
	same(t, "abandoned", abandoned(t, s, at(59), many), []string{})
	for i, d := range export(t, s).Dossiers {
		same(t, "on record", d.Events, []ports.EventRecord{outcome[i+1]})
	}
}

func concurrentSettlements(t *testing.T, s ports.Store) {
	insert(t, s, opened(1))
	errs := together(many, func(i int) error {
		return s.SettleEvent(t.Context(), opened(1).Events[0].ID, 1, events.Failed, i+1)
	})
	winner := oneWins(t, "SettleEvent", errs, ports.ErrNotFound)
	same(t, "attempts", export(t, s).Dossiers[0].Events[0].Attempts, winner+1)
}

func unknownEvent(t *testing.T, s ports.Store) {
	_, err := s.TakeEvent(t.Context(), "evt_none", 1, at(20))
	refused(t, "TakeEvent", err, ports.ErrNotFound)
	refused(t, "SettleEvent", s.SettleEvent(t.Context(), "evt_none", 1, events.Delivered, 1), ports.ErrNotFound)
}

func abandonedAt(t *testing.T, s ports.Store) {
	insert(t, s, opened(1))
	same(t, "a millisecond before", abandoned(t, s, at(10).Add(-time.Millisecond), many), []string{})
	same(t, "at the end", abandoned(t, s, at(10), many), ids(opened(1)))
	_, err := s.TakeEvent(t.Context(), opened(1).Events[0].ID, 1, at(20))
	must(t, "TakeEvent", err)
	same(t, "taken", abandoned(t, s, at(20).Add(-time.Millisecond), many), []string{})
	same(t, "abandoned by the taker", abandoned(t, s, at(20), many), ids(opened(1)))
}

func abandonedInOrder(t *testing.T, s ports.Store) {
	for _, n := range []int{3, 1, 2} { // ids do not sort in the order of storing
		insert(t, s, opened(n))
	}
	confirm(t, s, opened(3).Next.ID, 3)
	same(t, "all", abandoned(t, s, at(10), many), ids(opened(3), opened(1), opened(2)))
	same(t, "at most 2", abandoned(t, s, at(10), 2), ids(opened(3), opened(1)))
	same(t, "at most 3", abandoned(t, s, at(10), 3), ids(opened(3), opened(1), opened(2)))
	must(t, "SettleEvent", s.SettleEvent(t.Context(), opened(3).Events[0].ID, 1, events.Failed, 3))
	same(t, "the oldest settled", abandoned(t, s, at(10), many), ids(opened(1), opened(2), opened(3)))
}

func abandonedInPart(t *testing.T, s ports.Store) {
	insert(t, s, opened(1), opened(2))
	confirm(t, s, opened(1).Next.ID, 1)
	_, err := s.TakeEvent(t.Context(), opened(1).Events[0].ID, 1, at(20))
	must(t, "TakeEvent", err)
	same(t, "abandoned", abandoned(t, s, at(10), many), ids(opened(2), opened(1)))
}

func backlogShrinks(t *testing.T, s ports.Store) {
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
	insert(t, s, aged(1, 5), aged(2, 3), aged(3, 4)) // the oldest is not the first stored
	silent := ports.Queued{Status: events.NotConfigured}
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), aged(4, 1), silent))
	backlog("all pending", 3, at(3))
	_, err := s.TakeEvent(t.Context(), opened(2).Events[0].ID, 1, at(59))
	must(t, "TakeEvent", err)
	backlog("the oldest taken", 3, at(3))
	must(t, "SettleEvent", s.SettleEvent(t.Context(), opened(2).Events[0].ID, 2, events.Delivered, 1))
	backlog("the oldest delivered", 2, at(4))
	for _, n := range []int{1, 3} {
		must(t, "SettleEvent", s.SettleEvent(t.Context(), opened(n).Events[0].ID, 1, events.Failed, 3))
	}
	backlog("all settled", 0, time.Time{})
}

func abandonedOfEach(t *testing.T, s ports.Store) {
	busy := []checkout.Change{opened(1), opened(2), opened(3)}
	other := opened(4)
	other.Next.ProviderCode, other.Events[0].ProviderCode = "RIMU", "RIMU"
	insert(t, s, append(busy, other)...)
	found, err := s.AbandonedCheckouts(t.Context(), at(10), 2)
	must(t, "AbandonedCheckouts", err)
	same(t, "two of each", found, []ports.Abandoned{
		{CheckoutID: opened(1).Next.ID, ProviderCode: "KOWHAI"},
		{CheckoutID: opened(2).Next.ID, ProviderCode: "KOWHAI"},
		{CheckoutID: other.Next.ID, ProviderCode: "RIMU"},
	})
}
