package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

func lists() []promise {
	return []promise{
		{"jobs are listed by every filter, the newest first, and at most as many as asked for", listsJobs},
		{"the pages behind the cursors have every event of a provider once, in the order in which they entered", func(s *store) {
			var want []string
			for i := range 7 {
				change := opened(9 - i) // created in another order than they enter
				change.Jobs[0].Unsent = i == 3
				s.insert(change, openedBy("RIMU", i))
				want = append(want, change.Jobs[0].ID)
			}
			s.confirm(9)
			s.lease()
			for _, e := range confirmed(opened(9).Next, 9).Jobs[:2] {
				want = append(want, e.ID)
			}
			for size := 1; size <= len(want)+1; size++ {
				var got []string
				s.pages("", size, func(r checkout.JobRecord) { got = append(got, r.ID) })
				s.same(fmt.Sprint("pages of ", size), got, want)
			}
		}},
		{"no event is passed over while events enter from many goroutines", listsMeanwhile},
		{"a text that cannot be a cursor is ErrNotFound", func(s *store) {
			s.insert(opened(1))
			for _, text := range []checkout.Cursor{"x", "evt_1", " ", "1 OR 1=1", "Ō", "a.1.\x00.1.1", "\xff"} {
				f := checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}, ProviderCode: "KOWHAI", After: &text}
				missing(s.Jobs(s.Context(), f, many))(s, fmt.Sprintf("Jobs after %q", text))
			}
		}},
		{"the backlog has the pending jobs of each kind, leased ones too", func(s *store) {
			s.same("empty", len(get(s.Backlog(s.Context()))(s)), 0)
			s.insert(opened(1), opened(2), opened(3))
			s.change(1, notice(opened(1).Next, 1))
			failure := checkout.Failure{At: at(4), Reason: "503"}
			for _, l := range s.lease(checkout.JobDeliver) {
				s.settle(l, map[string]checkout.Outcome{
					idOf("KOWHAI", 1): {State: checkout.JobDone},
					idOf("KOWHAI", 2): {State: checkout.JobPending, Pause: time.Hour, Failure: failure},
					idOf("KOWHAI", 3): {State: checkout.JobPending},
				}[l.Job.CheckoutID])
			}
			s.settle(s.leaseOne("ntc_1"), checkout.Outcome{State: checkout.JobFailed, Failure: failure})
			s.lease()
			s.same("backlog", get(s.Backlog(s.Context()))(s), map[checkout.JobKind]checkout.Backlog{
				checkout.JobDeliver: {Waiting: 2, Failing: 1, Oldest: at(2)}, checkout.JobSync: {Waiting: 3, Oldest: at(1)}})
		}},
	}
}

func listsJobs(s *store) {
	s.insert(opened(0), opened(1), opened(2), openedBy("RIMU", 3))
	c := opened(1).Next
	s.change(1, event(c, "second", 1), notice(c, 1))
	s.enqueue(later(checkout.StoreJob(checkout.JobPull, at(9)), time.Minute))
	s.settle(s.leaseOne("ntc_1"), checkout.Outcome{State: checkout.JobFailed})
	of := func(change checkout.Change) []string {
		return []string{change.Next.ID + " sync", change.Next.ID + " " + change.Jobs[0].ID}
	}
	first := append([]string{c.ID + " ntc_1", c.ID + " " + event(c, "second", 1).ID}, of(opened(1))...)
	all := slices.Concat([]string{" pull"}, of(openedBy("RIMU", 3)), of(opened(2)), first, of(opened(0)))
	for _, tt := range []struct {
		what   string
		filter checkout.JobFilter
		want   []string
	}{
		{"all", checkout.JobFilter{}, all},
		{"id", checkout.JobFilter{ID: opened(2).Jobs[0].ID}, all[4:5]},
		{"id of many", checkout.JobFilter{ID: "sync"}, []string{all[1], all[3], first[2], all[9]}},
		{"kinds", checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobPull, checkout.JobNotify}}, []string{all[0], first[0]}},
		{"state", checkout.JobFilter{State: checkout.JobFailed}, first[:1]},
		{"provider", checkout.JobFilter{ProviderCode: "RIMU"}, all[1:3]},
		{"checkout", checkout.JobFilter{CheckoutID: c.ID}, first},
		{"since", checkout.JobFilter{Since: at(2).Add(999 * time.Microsecond).In(nzdt)}, all[:5]},
		{"every filter", checkout.JobFilter{ID: "sync", Kinds: []checkout.JobKind{checkout.JobSync}, State: checkout.JobPending,
			ProviderCode: "KOWHAI", CheckoutID: c.ID, Since: at(1)}, first[2:3]},
		{"unknown", checkout.JobFilter{ProviderCode: "KOWHAI", CheckoutID: idOf("RIMU", 3)}, nil},
	} {
		for limit := max(1, len(tt.want)-1); limit <= len(tt.want)+1; limit++ {
			var got []string
			for _, r := range get(s.Jobs(s.Context(), tt.filter, limit))(s) {
				got = append(got, r.CheckoutID+" "+r.ID)
			}
			s.same(fmt.Sprintf("%d by %s", limit, tt.what), got, tt.want[:min(limit, len(tt.want))])
		}
	}
}

// pages passes the events of KOWHAI behind a cursor to f, in pages of a size, and returns the cursor of the last.
func (s *store) pages(after checkout.Cursor, size int, f func(checkout.JobRecord)) checkout.Cursor {
	s.Helper()
	for {
		events := checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}, ProviderCode: "KOWHAI", After: &after}
		list := get(s.Jobs(s.Context(), events, size))(s)
		for _, r := range list {
			if f(r); r.Cursor == "" || len(r.Cursor) > 200 {
				s.Errorf("cursor %q, want a text of 1 to 200 characters", r.Cursor)
			}
			after = r.Cursor
		}
		if len(list) == 0 {
			return after
		}
	}
}

func listsMeanwhile(s *store) {
	const each = 5
	var got, want []string
	for i := range each * many {
		want = append(want, opened(i).Next.ID)
	}
	var reading sync.WaitGroup
	other, cursor := s.another(), checkout.Cursor("")
	reading.Go(func() { // for half a minute at most
		for begun := time.Now(); len(got) < len(want) && time.Since(begun) < 30*time.Second; {
			cursor = other.pages(cursor, 3, func(r checkout.JobRecord) { got = append(got, r.CheckoutID) })
		}
	})
	s.concurrently("InsertCheckout", many, nil, func(s *store, i int) (err error) {
		for j := range each {
			if _, err = s.InsertCheckout(s.Context(), opened(each*i+j), 0); err != nil {
				break
			}
		}
		return err
	})
	reading.Wait()
	s.same("events", slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
}
