package storetest

import (
	"cmp"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Lists tests a store against what ports.Journal promises about lists of events.
func Lists(t *testing.T, open Open) {
	run(t, open, []promise{
		{"events are listed as they are on record, those of their provider, in the order in which they entered", eventsListed},
		{"a page has as many entries as the limit while there are more, and goes on behind its last cursor", pagesOfEvents},
		{"events of one order are listed, and events after a time", eventsChosen},
		{"an event that comes later comes behind every cursor that was returned, whatever its time", eventsAfterCursors},
		{"of events that are stored while the list is read each is read once, by every reader in one order", inOne(eventsMeanwhile)},
	})
}

// listing asks for up to a hundred of KOWHAI's events.
func listing() checkout.ListQuery { return checkout.ListQuery{ProviderCode: "KOWHAI", Limit: 100} }

// opening returns what a create stores at a time.
func opening(n int, created time.Time) checkout.Change {
	c := opened(n)
	c.Next.CreatedAt, c.Events[0].CreatedAt = created, created
	return c
}

// behind reports whether a cursor is behind another.
func behind(c, other checkout.Cursor) bool {
	return cmp.Or(cmp.Compare(c.Epoch, other.Epoch), cmp.Compare(c.Position, other.Position)) > 0
}

func listEvents(t *testing.T, s ports.Admin, q checkout.ListQuery) (ids []string, end checkout.Cursor) {
	t.Helper()
	end = q.After
	for _, e := range result(s.Events(t.Context(), q))(t) {
		if !behind(e.Cursor, end) {
			t.Errorf("event %s has the cursor %s behind %s", e.Event.ID, e.Cursor, end)
		}
		ids, end = append(ids, e.Event.ID), e.Cursor
	}
	return ids, end
}

func eventsListed(t *testing.T, s ports.Admin) {
	insert(t, s, opening(2, at(2)), opening(1, at(1)), ofProvider("RIMU", opened(3)))
	done := confirm(t, s, opened(1).Next.ID, 1)
	settle(t, s, lease(t, s, opened(1).Events[0].ID), checkout.Outcome{State: checkout.JobDead, Attempts: 3, Failure: checkout.FailureOf(errNo, at(3))})
	enqueue(t, s, job(opened(1).Next, checkout.JobLook, 1))
	var got []checkout.EventRecord
	for _, e := range result(s.Events(t.Context(), listing()))(t) {
		got = append(got, e.EventRecord)
	}
	first := opening(1, at(1)).Events[0]
	same(t, "events", got, []checkout.EventRecord{
		{Event: opening(2, at(2)).Events[0], Status: events.Pending},
		{Event: first, Status: events.Failed, Attempts: 3, Failure: checkout.FailureOf(errNo, at(3))},
		{Event: done.Events[0], Status: events.Pending}, {Event: done.Events[1], Status: events.Pending},
	})
	settle(t, s, lease(t, s, done.Events[0].ID), checkout.Outcome{State: checkout.JobDropped})
	for id, n := range map[string]int{first.ID: 1, done.Events[0].ID: 1, done.Events[1].ID: 0, job(opened(1).Next, checkout.JobLook, 1).ID: 0} {
		counts(t, "Jobs of settled events", n)(s.Jobs(t.Context(), checkout.JobFilter{ID: id, Settled: true, ProviderCode: "KOWHAI"}, 9))
		counts(t, "Jobs of settled events of another", 0)(s.Jobs(t.Context(), checkout.JobFilter{ID: id, Settled: true, ProviderCode: "RIMU"}, 9))
	}
	counts(t, "Events of another", 0)(s.Events(t.Context(), checkout.ListQuery{ProviderCode: "TOTARA", Limit: 9}))
}

func pagesOfEvents(t *testing.T, s ports.Admin) {
	var want, got []string
	for n := range 25 {
		insert(t, s, opening(n, at(n)))
		want = append(want, opened(n).Events[0].ID)
	}
	q := listing()
	for q.Limit = 1; ; q.Limit++ {
		ids, end := listEvents(t, s, q)
		if got = append(got, ids...); len(ids) < q.Limit {
			break
		}
		q.After = end
	}
	same(t, "events", got, want)
}

func eventsChosen(t *testing.T, s ports.Admin) {
	for n := range 9 {
		insert(t, s, opening(n, at(n)))
	}
	confirm(t, s, opened(3).Next.ID, 1) // at minute 1
	q := listing()
	q.OrderID = "order-3"
	got, _ := listEvents(t, s, q)
	same(t, "events of an order", got, []string{opened(3).Events[0].ID, event(opened(3).Next, events.CheckoutConfirmed).ID,
		event(opened(3).Next, events.AgreementGenerated).ID})
	q = listing()
	q.Since = at(6)
	got, _ = listEvents(t, s, q)
	same(t, "events after a time", got, []string{opened(7).Events[0].ID, opened(8).Events[0].ID})
	got, _ = listEvents(t, s, q)
	same(t, "events after a time, read again", len(got), 2)
}

func eventsAfterCursors(t *testing.T, s ports.Admin) {
	insert(t, s, opening(1, at(30)))
	q := listing()
	_, q.After = listEvents(t, s, q)
	insert(t, s, opening(2, at(10)), opening(3, at(50)))
	got, _ := listEvents(t, s, q)
	same(t, "events", got, []string{opened(2).Events[0].ID, opened(3).Events[0].ID})
	q.OrderID = "order-3"
	got, _ = listEvents(t, s, q)
	same(t, "events of an order", got, []string{opened(3).Events[0].ID})
}

// catchUp reads a list to its end, again and again, until done is closed and it has read it once more.
func catchUp(done <-chan struct{}, read func() (more bool)) {
	for {
		select {
		case <-done:
			for read() {
			}
			return
		default:
			read()
		}
	}
}

func eventsMeanwhile(t *testing.T, s processes) {
	done := make(chan struct{})
	got := make([][]string, 4)
	var readers sync.WaitGroup
	for i := range got {
		readers.Go(func() {
			q := listing()
			q.Limit = 3 + i
			catchUp(done, func() bool {
				list, err := s[i%2].Events(t.Context(), q)
				if err != nil {
					t.Errorf("Events: %v", err)
				}
				for _, e := range list {
					got[i], q.After = append(got[i], e.Event.ID), e.Cursor
				}
				return len(list) > 0
			})
		})
	}
	allSucceed(t, "InsertCheckout", many, func(i int) error {
		return s[i%2].InsertCheckout(t.Context(), opening(i, at(i*7%60)), pending())
	})
	close(done)
	readers.Wait()
	var want []string
	for n := range many {
		want = append(want, opened(n).Events[0].ID)
	}
	sameSet(t, "events", got[0], want...)
	for i := range got {
		same(t, fmt.Sprint("what reader ", i, " has read"), got[i], got[0])
	}
}
