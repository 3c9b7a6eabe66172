package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/ports"
)

func leaseTask(t *testing.T, s ports.Notifications, name string, now, until time.Time) ports.Task {
	t.Helper()
	task, err := s.LeaseTask(t.Context(), name, now, until)
	must(t, "LeaseTask "+name, err)
	return task
}

func saveTask(t *testing.T, s ports.Notifications, name string, task ports.Task, until time.Time) {
	t.Helper()
	must(t, "SaveTask "+name, s.SaveTask(t.Context(), name, task, until))
}

// isLeased reports unless the task is leased at the time.
func isLeased(t *testing.T, s ports.Notifications, name string, now time.Time) {
	t.Helper()
	task, err := s.LeaseTask(t.Context(), name, now, at(59))
	refused(t, "LeaseTask of a leased task", err, ports.ErrBusy)
	same(t, "task of the other", task, ports.Task{})
}

func leasedFirst(t *testing.T, s ports.Notifications) {
	same(t, "one task", leaseTask(t, s, "one", at(0), at(10)), ports.Task{Epoch: 1})
	same(t, "another", leaseTask(t, s, "another", at(0), at(10)), ports.Task{Epoch: 1})
}

func leasedAgain(t *testing.T, s ports.Notifications) {
	cursor := ""
	for n := 1; n <= 5; n++ {
		task := leaseTask(t, s, "task", at(10*n), at(10*n+5))
		same(t, "task", task, ports.Task{Epoch: int64(n), Cursor: cursor})
		if n == 3 {
			continue // which saves nothing
		}
		for _, part := range []string{"a", "b"} {
			cursor = fmt.Sprint(part, n)
			saveTask(t, s, "task", ports.Task{Epoch: task.Epoch, Cursor: cursor}, at(10*n+5))
		}
	}
	saveTask(t, s, "task", ports.Task{Epoch: 5}, time.Time{})
	same(t, "task when the cursor is taken back", leaseTask(t, s, "task", at(10), at(20)), ports.Task{Epoch: 6})
}

func leasedUntil(t *testing.T, s ports.Notifications) {
	leaseTask(t, s, "task", at(10), at(20))
	isLeased(t, s, "task", at(0))
	isLeased(t, s, "task", at(10))
	isLeased(t, s, "task", at(20).Add(-time.Millisecond))
	zone := time.FixedZone("NZDT", 13*60*60)
	isLeased(t, s, "task", at(20).Add(-time.Nanosecond).In(zone))
	same(t, "task", leaseTask(t, s, "task", at(20).In(zone), at(30).Add(999*time.Microsecond).In(zone)), ports.Task{Epoch: 2})
	isLeased(t, s, "task", at(30).Add(-time.Millisecond))
	same(t, "task", leaseTask(t, s, "task", at(30), at(30)), ports.Task{Epoch: 3}) // which ends at once
	same(t, "task", leaseTask(t, s, "task", at(30), time.Time{}), ports.Task{Epoch: 4})
	same(t, "task", leaseTask(t, s, "task", at(30), at(40)), ports.Task{Epoch: 5})
}

func savedUntil(t *testing.T, s ports.Notifications) {
	task := leaseTask(t, s, "task", at(0), at(10))
	saveTask(t, s, "task", task, at(20))
	isLeased(t, s, "task", at(19))
	saveTask(t, s, "task", task, at(15))
	isLeased(t, s, "task", at(14))
	task = leaseTask(t, s, "task", at(15), at(30))
	for _, past := range []time.Time{at(15), at(0), {}} {
		epoch := task.Epoch
		saveTask(t, s, "task", task, past)
		task = leaseTask(t, s, "task", at(15), at(30))
		same(t, "epoch after it was given back", task.Epoch, epoch+1)
		isLeased(t, s, "task", at(16))
	}
}

func savedLate(t *testing.T, s ports.Notifications) {
	leaseTask(t, s, "task", at(0), at(10))
	saveTask(t, s, "task", ports.Task{Epoch: 1, Cursor: "given back"}, at(5))
	saveTask(t, s, "task", ports.Task{Epoch: 1, Cursor: "late"}, at(30))
	isLeased(t, s, "task", at(29))
	same(t, "task", leaseTask(t, s, "task", at(30), at(40)), ports.Task{Epoch: 2, Cursor: "late"})
}

func savedFenced(t *testing.T, s ports.Notifications) {
	leaseTask(t, s, "task", at(0), at(10))
	leaseTask(t, s, "task", at(10), at(20))
	saveTask(t, s, "task", ports.Task{Epoch: 2, Cursor: "holder's"}, at(20))
	for _, epoch := range []int64{1, 0, 3, -1} {
		for _, until := range []time.Time{at(59), at(0), {}} {
			err := s.SaveTask(t.Context(), "task", ports.Task{Epoch: epoch, Cursor: "fenced off"}, until)
			refused(t, fmt.Sprint("SaveTask at epoch ", epoch), err, ports.ErrNotFound)
			isLeased(t, s, "task", at(19))
		}
	}
	same(t, "task", leaseTask(t, s, "task", at(20), at(30)), ports.Task{Epoch: 3, Cursor: "holder's"})
}

func savedUnknown(t *testing.T, s ports.Notifications) {
	leaseTask(t, s, "task", at(0), at(10))
	for _, name := range []string{"", "TASK", "tas", "task "} {
		for epoch := range int64(2) {
			err := s.SaveTask(t.Context(), name, ports.Task{Epoch: epoch, Cursor: "x"}, at(59))
			refused(t, "SaveTask of "+name, err, ports.ErrNotFound)
		}
		same(t, "first lease", leaseTask(t, s, name, at(0), at(10)), ports.Task{Epoch: 1})
	}
}

func leasedConcurrently(t *testing.T, s ports.Notifications) {
	for round := 1; round <= 5; round++ { // the first makes the task
		tasks := make([]ports.Task, many)
		errs := concurrently(many, func(i int) (err error) {
			tasks[i], err = s.LeaseTask(t.Context(), "task", at(round), at(round+1).Add(time.Duration(i)*time.Second))
			return err
		})
		winner := oneWins(t, "LeaseTask", errs, ports.ErrBusy)
		same(t, "the winner's task", tasks[winner], ports.Task{Epoch: int64(round), Cursor: tasks[winner].Cursor})
		isLeased(t, s, "task", at(round+1).Add(time.Duration(winner)*time.Second-time.Millisecond))
		saveTask(t, s, "task", ports.Task{Epoch: int64(round), Cursor: fmt.Sprint(round)}, at(round+1))
	}
	same(t, "task", leaseTask(t, s, "task", at(6), at(10)), ports.Task{Epoch: 6, Cursor: "5"})
}

func savedConcurrently(t *testing.T, s ports.Notifications) {
	for range many / 2 {
		leaseTask(t, s, "task", at(0), time.Time{})
	}
	errs := concurrently(many, func(i int) error {
		return s.SaveTask(t.Context(), "task", ports.Task{Epoch: int64(i), Cursor: fmt.Sprint(i)}, at(10))
	})
	same(t, "epoch that saved", oneWins(t, "SaveTask", errs, ports.ErrNotFound), many/2)
	isLeased(t, s, "task", at(9))
	same(t, "task", leaseTask(t, s, "task", at(10), at(20)), ports.Task{Epoch: many/2 + 1, Cursor: fmt.Sprint(many / 2)})
}

func taskText(t *testing.T, s ports.Notifications) {
	for _, text := range oddTexts() {
		same(t, "first lease", leaseTask(t, s, text, at(0), at(10)), ports.Task{Epoch: 1})
		saveTask(t, s, text, ports.Task{Epoch: 1, Cursor: text}, at(10))
	}
	for _, text := range oddTexts() {
		same(t, "task", leaseTask(t, s, text, at(10), at(20)), ports.Task{Epoch: 2, Cursor: text})
	}
}
