package contract_test

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// A reader of the list sees the latest state of every enrolment, while enrolments are made and cancelled by two processes and other
// readers, whose filters leave most of them out, are the first to see some of them.
func TestTheListOfEnrolmentsLeavesNoChangeOutWhileOthersFilterIt(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		const orders = 60
		both := [2]*suite{s, s.beside(t)}
		status := func(i int) string {
			if i%3 == 0 {
				return "cancelled"
			}
			return "direct_debit_setup_required"
		}
		var creating, filtering sync.WaitGroup
		for i := range orders {
			creating.Go(func() {
				created := both[i%2].Create(t, fmt.Sprint("ORDER-", i))
				if status(i) == "cancelled" {
					both[(i+1)%2].cancel(t, created, "wrong course")
				}
			})
		}
		done := make(chan struct{})
		for _, filter := range []string{"provider_order_id=ORDER-7", "status=cancelled&limit=1", "updated_after=2026-01-01T00:00:00Z&limit=2"} {
			filtering.Go(func() {
				for over := false; !over; {
					select {
					case <-done:
						over = true
					case <-time.After(time.Millisecond):
					}
					entries(t, s.Get(t, "KOWHAI", enrolmentsPath+"?"+filter), "enrolments")
				}
			})
		}
		go func() { creating.Wait(); close(done) }()
		latest, cursor := map[any]any{}, ""
		for over := false; !over; {
			select {
			case <-done:
				over = true
			default:
			}
			var page []map[string]any
			page, cursor = both[len(latest)%2].walk(t, "KOWHAI", enrolmentsPath, cursor, 3)
			for _, e := range page {
				latest[e["provider_order_id"]] = e["status"]
			}
		}
		filtering.Wait()
		for i := range orders {
			if got := latest[fmt.Sprint("ORDER-", i)]; got != status(i) {
				t.Errorf("the reader saw ORDER-%d as %v last, want %s", i, got, status(i))
			}
		}
	})
}

// What a call with a filter finds first has its place from then on: the document says so.
func TestAnEntryKeepsThePlaceThatACallWithAFilterGaveIt(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.Create(t, "ORDER-1")
		s.Clock.Forward(time.Minute)
		s.Create(t, "ORDER-2")
		for path, name := range map[string]string{eventsPath: "events", enrolmentsPath: "enrolments"} {
			first := entries(t, s.Get(t, "KOWHAI", path+"?provider_order_id=ORDER-2"), name)[0]["cursor"]
			all := entries(t, s.Get(t, "KOWHAI", path), name)
			if len(all) != 2 || all[0]["cursor"] != first {
				t.Errorf("%s: the list is %v, want the entry at %v first", path, all, first)
			}
		}
	})
}
