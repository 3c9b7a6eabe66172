package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

func journal() []promise {
	return []promise{
		{"moments come in the order of their positions, and as they were stored", func(s *store) {
			s.insert(opened(1), opened(2))
			pressed, bare := moment(checkout.MomentPressed, 5), checkout.Moment{At: at(5), Kind: checkout.MomentSetupDone}
			s.update(1, func(c checkout.Checkout) checkout.Change {
				return checkout.Change{At: at(5), Next: c, Moments: []checkout.Moment{pressed, bare}}
			})
			s.note(1, moment(checkout.MomentOpened, 9), moment(checkout.MomentReturned, 3))
			s.note(2, moment(checkout.MomentOpened, 4))
			want := []checkout.Moment{moment(checkout.MomentReturned, 3), pressed, bare, moment(checkout.MomentOpened, 9)}
			for i, p := range []int64{checkout.FirstPosition(at(3)) + 1, checkout.FirstPosition(at(5)), checkout.FirstPosition(at(5)) + 1,
				checkout.FirstPosition(at(9))} {
				want[i].Position, want[i].Times = p, 1
			}
			want[2].ID = fmt.Sprint(want[2].Position)
			s.same("moments", s.moments(1), want)
		}},
		{"a moment whose id is on record raises its count", func(s *store) {
			s.insert(opened(1), opened(2))
			first := moment(checkout.MomentRefused, 3)
			first.Times = 0
			again := checkout.Moment{ID: first.ID, At: at(9), Kind: checkout.MomentOpened, Detail: "another", Times: 4}
			s.note(1, first, first)
			s.note(1, again)
			s.note(2, first)
			s.update(1, func(c checkout.Checkout) checkout.Change {
				return checkout.Change{At: at(5), Next: c, Moments: []checkout.Moment{again}}
			})
			s.settle(s.leaseOne(opened(1).Jobs[0].ID), checkout.Outcome{State: checkout.JobDone, Moments: []checkout.Moment{again}})
			first.Position, first.Times = checkout.FirstPosition(at(3)), 14
			s.same("moments", s.moments(1), []checkout.Moment{first})
		}},
		{"of concurrent moments each is stored, or counted", func(s *store) {
			s.insert(opened(1))
			s.concurrently("Note", many, nil, func(s *store, i int) error {
				return s.Note(s.Context(), noted(1, moment(checkout.MomentOpened, 3), moment(checkout.MomentReturned, 10+i)), nil)
			})
			s.same("moments, and times of the first", []int{len(s.moments(1)), s.moments(1)[0].Times}, []int{1 + many, many})
		}},
		{"moments of unknown checkouts are left out", func(s *store) {
			s.insert(opened(1))
			m := moment(checkout.MomentOpened, 3)
			s.must("Note", s.Note(s.Context(), slices.Concat(noted(2, m), noted(1, m), []checkout.Noted{{Moment: m}}), nil))
			s.same("moments, and of the unknown", []int{len(s.moments(1)), len(s.moments(2))}, []int{1, 0})
		}},
		{"the last time that a key was used is kept", func(s *store) {
			s.addKeys(key(1), key(2))
			for _, n := range []int{1, 3, 2} {
				s.must("Note", s.Note(s.Context(), nil, []checkout.KeyUse{{KeyID: "id1", Minute: at(n)}, {KeyID: "unknown", Minute: at(n)}}))
			}
			used := key(1)
			used.LastUsed = at(3)
			s.same("key", get(s.Key(s.Context(), used.Hash))(s), used)
			s.same("another key", get(s.Key(s.Context(), key(2).Hash))(s), key(2))
		}},
	}
}

// noted returns moments of checkout number n.
func noted(n int, moments ...checkout.Moment) (list []checkout.Noted) {
	for _, m := range moments {
		list = append(list, checkout.Noted{About: checkout.About{CheckoutID: opened(n).Next.ID}, Moment: m})
	}
	return list
}

func (s *store) note(n int, moments ...checkout.Moment) {
	s.Helper()
	s.must("Note", s.Note(s.Context(), noted(n, moments...), nil))
}

func (s *store) moments(n int) []checkout.Moment {
	s.Helper()
	return get(s.Moments(s.Context(), opened(n).Next.ID))(s)
}

func retention() []promise {
	return []promise{
		{"the walk looks at every checkout once, in pages, while others are stored", func(s *store) {
			var want []string
			for i := range 7 {
				s.insert(opened(i))
				want = append(want, opened(i).Next.ID)
			}
			for _, limit := range []int{1, 3, 7, 8} {
				s.same(fmt.Sprint("ids in pages of ", limit), s.walk(limit, time.Time{}, at(59), func(int) {}), want)
			}
			got := s.walk(3, time.Time{}, at(10), func(page int) { s.insert(opened(20+page), openedBy("A", 20+page), openedBy("Z", 20+page)) })
			s.same("ids while others are stored", got, want)
		}},
		{"the walk names what was kept for long enough, and is not erased", namesOld},
		{"the walk deletes jobs that were settled long enough ago, but none that is pending or of kind JobSync", deletesJobs},
	}
}

// walk returns the sorted ids that OldCheckouts names in pages of a size, and calls f after each page but the last.
func (s *store) walk(limit int, confirmed, open time.Time, f func(page int)) (all []string) {
	s.Helper()
	cursor := ""
	for page := 0; ; page++ {
		ids, next, err := s.OldCheckouts(s.Context(), cursor, limit, confirmed, open)
		if s.must("OldCheckouts", err); len(ids) > limit || page > 100 {
			s.Fatalf("page %d has %d ids, want at most %d in a few pages", page, len(ids), limit)
		}
		if all, cursor = append(all, ids...), next; next == "" {
			return slices.Sorted(slices.Values(all))
		}
		f(page)
	}
}

func namesOld(s *store) {
	for i := range 6 {
		s.insert(opened(i))
	}
	s.confirm(0)
	s.confirm(1)
	s.confirm(2)
	s.update(0, erased)
	s.update(3, erased)
	s.update(4, func(c checkout.Checkout) checkout.Change {
		c.Status, c.End = checkout.Cancelled, checkout.End{At: at(5), By: checkout.PartyProvider}
		return checkout.Change{At: at(5), Next: c}
	})
	for _, tt := range []struct {
		confirmed, open time.Time
		want            []int
	}{
		{time.Time{}, time.Time{}, nil},
		{at(2), time.Time{}, []int{1}},
		{at(2).Add(time.Millisecond), time.Time{}, []int{1, 2}},
		{time.Time{}, at(9), []int{4, 5}},
		{at(2), at(5), []int{1, 4}},
	} {
		var want []string
		for _, n := range tt.want {
			want = append(want, opened(n).Next.ID)
		}
		s.same(fmt.Sprint(tt.want), s.walk(2, tt.confirmed, tt.open, func(int) {}), want)
	}
}

func deletesJobs(s *store) {
	s.insert(opened(1), opened(2))
	c, first := opened(1).Next, opened(1).Jobs[0].ID
	s.change(1, event(c, "second", 2), notice(c, 1), notice(c, 2), c.Job(checkout.JobEnd, "", at(2), 0), c.Job(checkout.JobLook, "", at(2), 0))
	for _, id := range []string{first, "ntc_1", "end"} {
		s.settle(s.leaseOne(id), checkout.Outcome{State: checkout.JobFailed})
	}
	for _, l := range s.lease(checkout.JobSync) {
		s.done(l)
	}
	left := func(what string, want ...string) {
		s.Helper()
		s.walk(1, time.Time{}, time.Time{}, func(int) {})
		var got []string
		for _, r := range s.jobs(checkout.JobFilter{CheckoutID: c.ID}) {
			got = append(got, r.ID)
		}
		s.same(what, slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
	}
	kept := []string{"look", "ntc_2", "sync", event(c, "second", 2).ID}
	s.pass(checkout.JobsKept - s.margin())
	left("before jobs are kept for long enough", append(kept, "end", "ntc_1", first)...)
	s.pass(2 * s.margin())
	left("once jobs were kept for longer", append(kept, first)...)
	s.pass(checkout.EventsKept - checkout.JobsKept)
	left("once events were kept for longer", kept...)
}
