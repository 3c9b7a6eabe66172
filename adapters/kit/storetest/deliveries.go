package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Deliveries tests a store against ports.Deliveries, and against what ports.Outbox says of failures.
func Deliveries(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a settled event has the reason and the time of its latest failure", failureKept},
		{"a run that was cut short leaves its attempts, and the event to the next holder", cutShort},
		{"events come last stored first, up to the limit", eventsInOrder},
		{"each field of the filter admits what it says, and all of them together", eventsFiltered},
		{"an event since a time was made then, or failed then", eventsSince},
		{"an event is found by its id, whatever became of it", eventFound},
		{"a redelivery that was taken makes a failed event delivered", redelivered},
		{"a redelivery that failed leaves its reason", redeliveredInVain},
		{"a delivered event stays as it is, however its redelivery ends", redeliveredAgain},
		{"nothing is recorded of an event that is pending, not configured or unknown", redeliveredNever},
	})
}

func failed(attempts int, reason string, when time.Time) ports.Settlement {
	return ports.Settlement{Status: events.Failed, Attempts: attempts, Failure: ports.Failure{At: when, Reason: reason}}
}

func settled(t *testing.T, s ports.Admin, n int, outcome ports.Settlement) ports.EventRecord {
	t.Helper()
	must(t, "SettleEvent", s.SettleEvent(t.Context(), opened(n).Events[0].ID, 1, outcome))
	return record1(t, s, n)
}

// record1 returns the record of the first event of a checkout.
func record1(t *testing.T, s ports.Admin, n int) ports.EventRecord {
	t.Helper()
	r, err := s.EventRecord(t.Context(), opened(n).Events[0].ID)
	must(t, "EventRecord", err)
	return r
}

func failureKept(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	when := at(30).Add(123_456_789 * time.Nanosecond)
	want := ports.EventRecord{Event: opened(1).Events[0], Status: events.Failed, Attempts: 3,
		Failure: ports.Failure{At: when.Truncate(time.Millisecond), Reason: "answered 500, “ā\"'"}}
	same(t, "failed", settled(t, s, 1, failed(3, want.Failure.Reason, when)), want)
	same(t, "delivered without a failure", settled(t, s, 2, ports.Settlement{Status: events.Delivered, Attempts: 1}),
		ports.EventRecord{Event: opened(2).Events[0], Status: events.Delivered, Attempts: 1})
	same(t, "exported", export(t, s).Checkouts[0].Events, []ports.EventRecord{want})
}

func cutShort(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	e := opened(1).Events[0]
	short := failed(2, "answered 503", at(3))
	short.Status = events.Pending
	must(t, "SettleEvent as pending", s.SettleEvent(t.Context(), e.ID, 1, short))
	same(t, "pending", pendingEvents(t, s, opened(1)), []ports.PendingEvent{{Event: e, Attempts: 2, Epoch: 2}})
	same(t, "expired at once", expired(t, s, at(0), many), ids(opened(1)))
	refused(t, "SettleEvent of the former holder", s.SettleEvent(t.Context(), e.ID, 1, failed(3, "late", at(9))), ports.ErrNotFound)
	refused(t, "SettleEvent as pending of the former holder", s.SettleEvent(t.Context(), e.ID, 1, short), ports.ErrNotFound)
	epoch, err := s.LeaseEvent(t.Context(), e.ID, 2, at(20))
	must(t, "LeaseEvent", err)
	must(t, "SettleEvent", s.SettleEvent(t.Context(), e.ID, epoch, ports.Settlement{Status: events.Delivered, Attempts: 1}))
	same(t, "delivered by the next", record1(t, s, 1), ports.EventRecord{Event: e, Status: events.Delivered, Attempts: 3,
		Failure: ports.Failure{At: at(3), Reason: "answered 503"}})
}

func listed(t *testing.T, s ports.Admin, f ports.EventFilter, limit int) []string {
	t.Helper()
	list, err := s.EventRecords(t.Context(), f, limit)
	must(t, "EventRecords", err)
	found := []string{}
	for _, r := range list {
		found = append(found, r.Event.ID)
	}
	return found
}

// eventIDs returns the ids of all events of the changes.
func eventIDs(changes ...checkout.Change) []string {
	all := []string{}
	for _, c := range changes {
		for _, e := range c.Events {
			all = append(all, e.ID)
		}
	}
	return all
}

func eventsInOrder(t *testing.T, s ports.Admin) {
	same(t, "of an empty store", listed(t, s, ports.EventFilter{}, many), []string{})
	for _, n := range []int{3, 1, 2} {
		insert(t, s, opened(n))
	}
	done := confirm(t, s, opened(3).Next.ID, 3)
	want := append([]string{done.Events[1].ID, done.Events[0].ID}, eventIDs(opened(2), opened(1), opened(3))...)
	same(t, "all", listed(t, s, ports.EventFilter{}, many), want)
	same(t, "at most 3", listed(t, s, ports.EventFilter{}, 3), want[:3])
	slices.Reverse(want)
	same(t, "the oldest 3", listed(t, s, ports.EventFilter{OldestFirst: true}, 3), want[:3])
	slices.Reverse(want)
	list, err := s.EventRecords(t.Context(), ports.EventFilter{}, 1)
	must(t, "EventRecords", err)
	same(t, "the last", list, []ports.EventRecord{{Event: done.Events[1], Status: events.Pending}})
}

func eventsFiltered(t *testing.T, s ports.Admin) {
	other := opened(4)
	other.Next.ProviderCode, other.Events[0].ProviderCode = "RIMU", "RIMU"
	insert(t, s, opened(1), opened(2), opened(3), other)
	settled(t, s, 1, failed(3, "answered 500", at(5)))
	settled(t, s, 2, ports.Settlement{Status: events.Delivered, Attempts: 1})
	must(t, "SettleEvent", s.SettleEvent(t.Context(), other.Events[0].ID, 1, failed(3, "answered 500", at(6))))
	for _, tt := range []struct {
		name   string
		filter ports.EventFilter
		want   []string
	}{
		{"failed", ports.EventFilter{Status: events.Failed}, eventIDs(other, opened(1))},
		{"delivered", ports.EventFilter{Status: events.Delivered}, eventIDs(opened(2))},
		{"pending", ports.EventFilter{Status: events.Pending}, eventIDs(opened(3))},
		{"of a provider", ports.EventFilter{ProviderCode: "RIMU"}, eventIDs(other)},
		{"of an order", ports.EventFilter{OrderID: opened(2).Next.OrderID}, eventIDs(opened(2))},
		{"of a checkout", ports.EventFilter{CheckoutID: opened(3).Next.ID}, eventIDs(opened(3))},
		{"failed of a provider since", ports.EventFilter{Status: events.Failed, ProviderCode: "KOWHAI", Since: at(5)}, eventIDs(opened(1))},
		{"an order of another provider", ports.EventFilter{ProviderCode: "RIMU", OrderID: opened(2).Next.OrderID}, []string{}},
		{"an order that does not exist", ports.EventFilter{OrderID: "none"}, []string{}},
	} {
		same(t, tt.name, listed(t, s, tt.filter, many), tt.want)
	}
}

func eventsSince(t *testing.T, s ports.Admin) {
	late := opened(2)
	late.Events[0].CreatedAt = at(20)
	insert(t, s, opened(1), late) // the first was made at(1)
	since := func(when time.Time) []string { return listed(t, s, ports.EventFilter{Since: when}, many) }
	same(t, "since the first was made", since(at(1)), eventIDs(late, opened(1)))
	same(t, "a millisecond later", since(at(1).Add(time.Millisecond)), eventIDs(late))
	settled(t, s, 1, failed(3, "answered 500", at(30)))
	same(t, "since it failed", since(at(30)), eventIDs(opened(1)))
	same(t, "a millisecond after it failed", since(at(30).Add(time.Millisecond)), []string{})
}

func eventFound(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	same(t, "pending", record1(t, s, 1), ports.EventRecord{Event: opened(1).Events[0], Status: events.Pending})
	settled(t, s, 1, failed(3, "answered 500", at(5)))
	same(t, "failed", record1(t, s, 1).Status, events.Failed)
	_, err := s.EventRecord(t.Context(), "evt_none")
	refused(t, "EventRecord", err, ports.ErrNotFound)
}

func redeliveries(t *testing.T, s ports.Admin, n int) []ports.Redelivery {
	t.Helper()
	list, err := s.Redeliveries(t.Context(), opened(n).Events[0].ID)
	must(t, "Redeliveries", err)
	return list
}

func redeliver(t *testing.T, s ports.Admin, n int, r ports.Redelivery) {
	t.Helper()
	must(t, "RecordRedelivery", s.RecordRedelivery(t.Context(), opened(n).Events[0], r))
}

func redelivered(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	settled(t, s, 2, failed(3, "answered 500", at(5)))
	want := settled(t, s, 1, failed(3, "answered 500", at(5)))
	same(t, "before", redeliveries(t, s, 1), []ports.Redelivery(nil))
	taken := ports.Redelivery{At: at(30), Delivered: true, Attempts: 2, Failure: "answered 503"}
	redeliver(t, s, 1, taken)
	want.Status = events.Delivered
	same(t, "on record", record1(t, s, 1), want)
	same(t, "exported", export(t, s).Checkouts[0].Events, []ports.EventRecord{want})
	same(t, "redeliveries", redeliveries(t, s, 1), []ports.Redelivery{taken})
	same(t, "the other event", record1(t, s, 2).Status, events.Failed)
	same(t, "redeliveries of the other", redeliveries(t, s, 2), []ports.Redelivery(nil))
}

func redeliveredInVain(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	want := settled(t, s, 1, failed(3, "answered 500", at(5)))
	first := ports.Redelivery{At: at(30), Attempts: 3, Failure: "answered 503"}
	second := ports.Redelivery{At: at(31), Failure: "destination is not https"}
	redeliver(t, s, 1, first)
	want.Failure = ports.Failure{At: at(30), Reason: "answered 503"}
	same(t, "on record", record1(t, s, 1), want)
	redeliver(t, s, 1, second)
	want.Failure = ports.Failure{At: at(31), Reason: "destination is not https"}
	same(t, "on record again", record1(t, s, 1), want)
	same(t, "redeliveries", redeliveries(t, s, 1), []ports.Redelivery{first, second})
}

func redeliveredAgain(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	want := settled(t, s, 1, ports.Settlement{Status: events.Delivered, Attempts: 1})
	for _, r := range []ports.Redelivery{{At: at(30), Attempts: 3, Failure: "answered 503"}, {At: at(31), Delivered: true, Attempts: 1}} {
		redeliver(t, s, 1, r)
		same(t, "on record", record1(t, s, 1), want)
	}
	same(t, "redeliveries", len(redeliveries(t, s, 1)), 2)
}

func redeliveredNever(t *testing.T, s ports.Admin) {
	silent := opened(2)
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), silent, ports.Enqueue{Status: events.NotConfigured}))
	insert(t, s, opened(1))
	unknown := opened(1).Events[0]
	unknown.ID = "evt_none"
	for _, e := range []events.Event{opened(1).Events[0], silent.Events[0], unknown, opened(3).Events[0]} {
		err := s.RecordRedelivery(t.Context(), e, ports.Redelivery{At: at(30), Delivered: true, Attempts: 1})
		refused(t, "RecordRedelivery of "+e.ID, err, ports.ErrNotFound)
		list, err := s.Redeliveries(t.Context(), e.ID)
		must(t, "Redeliveries", err)
		same(t, "redeliveries", len(list), 0)
	}
	same(t, "pending", record1(t, s, 1).Status, events.Pending)
}
