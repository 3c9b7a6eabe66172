package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Lists tests a store against ports.Lists.
func Lists(t *testing.T, open Open) {
	run(t, open, []promise{
		{"events are listed as they are on record, those of their provider, the oldest first", eventsListed},
		{"a page has as many entries as the limit while there are more, and goes on behind its last cursor", pagesOfEvents},
		{"a page behind a cursor that a lost store gave is full while there are more", pagesAfterRestore},
		{"events of one order are listed, and events after a time", eventsChosen},
		{"an event that comes later comes behind every cursor that was returned, whatever its time", eventsAfterCursors},
		{"of events that are stored while the list is read each is read once, by every reader in one order", inOne(eventsMeanwhile)},
		{"enrolments are listed as they are on record, without reserved ones, the oldest change first", enrolmentsListed},
		{"an enrolment of which the list says something else moves to its end, and another change leaves its place", enrolmentsMove},
		{"enrolments of one status or one order are listed, and those that changed after a time", enrolmentsChosen},
		{"of enrolments that change while the list is read the last change of each is read", inOne(enrolmentsMeanwhile)},
	})
}

// listing asks for up to many entries of KOWHAI's lists.
func listing() checkout.ListQuery { return checkout.ListQuery{ProviderCode: "KOWHAI", Limit: 100} }

// opening returns what a create stores at a time.
func opening(n int, created time.Time) checkout.Change {
	c := opened(n)
	c.Next.CreatedAt, c.Events[0].CreatedAt = created, created
	return c
}

func listEvents(t *testing.T, s ports.Admin, q checkout.ListQuery) (ids []string, end checkout.Cursor) {
	t.Helper()
	end = q.After
	for _, e := range result(s.Events(t.Context(), q))(t) {
		if e.Cursor <= end {
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
		{Event: first, Status: events.Failed, Attempts: 3, Failure: checkout.FailureOf(errNo, at(3))},
		{Event: done.Events[0], Status: events.Pending}, {Event: done.Events[1], Status: events.Pending},
		{Event: opening(2, at(2)).Events[0], Status: events.Pending},
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

func pagesAfterRestore(t *testing.T, s ports.Admin) {
	var want []string
	for n := range 8 {
		insert(t, s, opening(n, at(n)))
		if n > 4 {
			want = append(want, opened(n).Events[0].ID)
		}
	}
	q := listing()
	q.Limit, q.After = 2, checkout.CursorAt(at(4)) // by which the reader knows the others
	got, end := listEvents(t, s, q)
	q.After = end
	rest, _ := listEvents(t, s, q)
	same(t, "events", append(got, rest...), want)
}

func eventsChosen(t *testing.T, s ports.Admin) {
	for n := range 9 {
		insert(t, s, opening(n, at(n)))
	}
	confirm(t, s, opened(3).Next.ID, 1) // at minute 1
	q := listing()
	q.OrderID = "order-3"
	got, _ := listEvents(t, s, q)
	same(t, "events of an order", got, []string{event(opened(3).Next, events.CheckoutConfirmed).ID, event(opened(3).Next, events.AgreementGenerated).ID,
		opened(3).Events[0].ID})
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
	got, q.After = listEvents(t, s, q)
	same(t, "events of an order", got, []string{opened(3).Events[0].ID})
	if early := checkout.CursorAt(at(50)); q.After < early {
		t.Errorf("the cursor of an event is %s, before %s of its time", q.After, early)
	}
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

func listEnrolments(t *testing.T, s ports.Admin, q checkout.ListQuery) (orders []string) {
	t.Helper()
	for _, e := range result(s.Enrolments(t.Context(), q))(t) {
		if orders = append(orders, e.Checkout.OrderID); e.Cursor <= q.After {
			t.Errorf("%s has the cursor %s behind %s", e.Checkout.OrderID, e.Cursor, q.After)
		}
		q.After = e.Cursor
	}
	return orders
}

func enrolmentsListed(t *testing.T, s ports.Admin) {
	insert(t, s, opening(1, at(1)), reserved(2), opening(3, at(0)), ofProvider("RIMU", opened(4)))
	done := confirm(t, s, opened(1).Next.ID, 1)
	list := result(s.Enrolments(t.Context(), listing()))(t)
	if len(list) != 2 {
		t.Fatalf("%d enrolments, want 2", len(list))
	}
	same(t, "first", []any{list[0].Checkout, list[0].UpdatedAt}, []any{opening(3, at(0)).Next, at(0)})
	same(t, "second", list[1].Checkout, done.Next)
	if changed := list[1].UpdatedAt; changed.Before(now()) || changed.After(timeOf(s)) {
		t.Errorf("changed at %s, want the time of the confirm", changed)
	}
}

func enrolmentsMove(t *testing.T, s ports.Admin) {
	insert(t, s, opening(1, at(1)), opening(2, at(2)), reserved(3))
	q := listing()
	same(t, "at first", listEnrolments(t, s, q), []string{"order-1", "order-2"})
	change(t, s, 1, checkout.Change{Moments: []checkout.Moment{moment(checkout.MomentOpened, 3)}})
	update(t, s, opened(2).Next.ID, func(c checkout.Checkout) checkout.Change {
		c.Setup.BillingRequestID = "BRQ"
		return checkout.Change{Next: c}
	})
	list := result(s.Enrolments(t.Context(), q))(t)
	same(t, "after other changes", []string{list[0].Checkout.OrderID, list[1].Checkout.OrderID}, []string{"order-1", "order-2"})
	q.After = list[1].Cursor
	update(t, s, opened(1).Next.ID, func(c checkout.Checkout) checkout.Change { return checkout.Change{Next: completed(c)} })
	same(t, "after the setup", listEnrolments(t, s, q), []string{"order-1"})
	update(t, s, opened(3).Next.ID, func(c checkout.Checkout) checkout.Change {
		c.Status = checkout.SetupRequired
		return checkout.Change{Next: c}
	})
	same(t, "after another was opened", listEnrolments(t, s, q), []string{"order-1", "order-3"})
	confirm(t, s, opened(1).Next.ID, 1)
	same(t, "after the confirm", listEnrolments(t, s, q), []string{"order-3", "order-1"})
	same(t, "all", listEnrolments(t, s, listing()), []string{"order-2", "order-3", "order-1"})
}

func enrolmentsChosen(t *testing.T, s ports.Admin) {
	for n := range 9 {
		insert(t, s, opening(n, at(n)))
	}
	confirm(t, s, opened(4).Next.ID, 1)
	for _, read := range []string{"", ", read again"} {
		q := listing()
		q.Since = at(6)
		same(t, "changed after a time"+read, listEnrolments(t, s, q), []string{"order-7", "order-8", "order-4"})
		q = listing()
		q.OrderID = "order-5"
		same(t, "of an order"+read, listEnrolments(t, s, q), []string{"order-5"})
		q = listing()
		q.Status = checkout.Confirmed
		same(t, "of a status"+read, listEnrolments(t, s, q), []string{"order-4"})
		q.Since = at(6)
		q.OrderID, q.Status = "order-1", checkout.SetupRequired
		counts(t, "changed before", 0)(s.Enrolments(t.Context(), q))
	}
}

func enrolmentsMeanwhile(t *testing.T, s processes) {
	for n := range many {
		insert(t, s[0], opening(n, at(n%60)))
	}
	done := make(chan struct{})
	last := make([]map[string]checkout.Status, 3)
	var readers sync.WaitGroup
	for i := range last {
		last[i] = map[string]checkout.Status{}
		readers.Go(func() {
			q := listing()
			q.Limit = 5 + i
			catchUp(done, func() bool {
				list, err := s[i%2].Enrolments(t.Context(), q)
				if err != nil {
					t.Errorf("Enrolments: %v", err)
				}
				for _, e := range list {
					last[i][e.Checkout.OrderID], q.After = e.Checkout.Status, e.Cursor
				}
				return len(list) > 0
			})
		})
	}
	allSucceed(t, "UpdateCheckout", many, func(i int) error {
		return s[i%2].UpdateCheckout(t.Context(), opened(i).Next.ID, pending(),
			deciding(func(c checkout.Checkout) checkout.Change { return confirmed(completed(c), int64(i)) }))
	})
	close(done)
	readers.Wait()
	for i := range last {
		for n := range many {
			order := fmt.Sprint("order-", n)
			if got := last[i][order]; got != checkout.Confirmed {
				t.Errorf("reader %d: %s is %q at last, want %q", i, order, got, checkout.Confirmed)
			}
		}
	}
	got := listEnrolments(t, s[1], checkout.ListQuery{ProviderCode: "KOWHAI", Limit: 2 * many})
	same(t, "enrolments at the end", len(slices.Compact(slices.Sorted(slices.Values(got)))), many)
}
