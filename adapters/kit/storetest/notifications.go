package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/ports"
)

// Notifications holds a store to ports.Notifications. What it promises to several processes is in [Opening].
func Notifications[S ports.Notifications](t *testing.T, open func(t *testing.T) S) {
	for _, promise := range []struct {
		name  string
		check func(t *testing.T, s ports.Notifications)
	}{
		{"a notification whose id is not on record is kept and returned", keptFresh},
		{"a notification whose id is on record is not returned, and the first stays", keptAgain},
		{"an id that comes twice in one call counts once, the first time", keptTwice},
		{"notifications that are not on record are returned in the order given", keptInOrder},
		{"of many concurrent calls with the same id one returns it", keptConcurrently},
		{"of many concurrent calls with the same ids in other orders one returns each", keptInOtherOrders},
		{"many notifications in one call are kept and settled", keptInBatches},
		{"a reader sees all notifications of a call or none", keptAtOnce},
		{"of a call that is interrupted all notifications are kept or none", keptInPart},
		{"no notifications at all are none", noNotifications},
		{"a notification's text comes back byte for byte, and ids that look alike are different", notificationText},
		{"a notification's time comes back in UTC to the millisecond", notificationTimes},
		{"pending are those that were received before the time", pendingBefore},
		{"pending ones come in the order of their receipt, of one time in that of their ids, up to the limit", pendingByReceipt},
		{"a settled notification is never pending again", settledStays},
		{"an id that is not on record is not settled", settledUnknown},
		{"many may settle the same notifications at once", settledConcurrently},
		{"notifications share no memory with the store", notificationsShareNothing},
		{"a context that has ended is an error, and nothing changes", notificationsEnded},

		{"the first lease of a task has epoch 1 and no cursor", leasedFirst},
		{"a task's epoch rises with every lease, and its cursor is the one saved last", leasedAgain},
		{"a task is busy until the very millisecond in which its lease ends", leasedUntil},
		{"a task that is saved is leased for longer, or given back", savedUntil},
		{"a holder whose lease has ended saves until another has the task", savedLate},
		{"a holder that is fenced off changes nothing", savedFenced},
		{"a task that was never leased is not saved", savedUnknown},
		{"of many concurrent leases of one task one wins", leasedConcurrently},
		{"of many concurrent saves the one with the task's epoch succeeds", savedConcurrently},
		{"a task's name and cursor come back byte for byte, and tasks that look alike are different", taskText},
	} {
		t.Run(promise.name, func(t *testing.T) { promise.check(t, open(t)) })
	}
}

// SettledTimes holds a store whose rows can be read to the time at which a notification was settled: the first time
// stays. settled reads it, in milliseconds since 1970.
func SettledTimes(t *testing.T, s ports.Notifications, settled func(id string) int64) {
	keepAll(t, s, notification(1), notification(2), notification(3))
	settle(t, s, at(30), notification(1).ID)
	settle(t, s, at(40), notification(1).ID, notification(2).ID, notification(2).ID)
	settle(t, s, at(20), notification(3).ID, notification(2).ID, notification(1).ID)
	for n, want := range map[int]time.Time{1: at(30), 2: at(40), 3: at(20)} {
		same(t, fmt.Sprint("notification ", n, " was settled"), time.UnixMilli(settled(notification(n).ID)).UTC(), want)
	}
}

// notification returns notification number n, with every field of it filled.
func notification(n int) ports.Notification {
	return ports.Notification{
		ID:               fmt.Sprintf("EV%04d", n),
		Received:         at(5),
		Resource:         "mandates",
		Action:           fmt.Sprintf("action_%d", n),
		BillingRequestID: fmt.Sprintf("BRQ%d", n),
		MandateID:        fmt.Sprintf("MD%d", n),
	}
}

// numbered returns count notifications, from number first on.
func numbered(first, count int) []ports.Notification {
	all := make([]ports.Notification, count)
	for i := range all {
		all[i] = notification(first + i)
	}
	return all
}

// notified returns the notification as it comes when it is received later.
func notified(n ports.Notification, received time.Time) ports.Notification {
	n.Received = received
	return n
}

func keepAll(t *testing.T, s ports.Notifications, given ...ports.Notification) []ports.Notification {
	t.Helper()
	fresh, err := s.KeepNotifications(t.Context(), given)
	must(t, "KeepNotifications", err)
	return append([]ports.Notification{}, fresh...)
}

func settle(t *testing.T, s ports.Notifications, when time.Time, ids ...string) {
	t.Helper()
	must(t, "SettleNotifications", s.SettleNotifications(t.Context(), ids, when))
}

// anyNumber is a limit that no case reaches.
const anyNumber = 1 << 20

func unsettled(t *testing.T, s ports.Notifications, before time.Time, limit int) []ports.Notification {
	t.Helper()
	pending, err := s.PendingNotifications(t.Context(), before, limit)
	must(t, "PendingNotifications", err)
	return append([]ports.Notification{}, pending...)
}

func notificationIDs(all []ports.Notification) []string {
	ids := []string{}
	for _, n := range all {
		ids = append(ids, n.ID)
	}
	return ids
}

func keptFresh(t *testing.T, s ports.Notifications) {
	bare := ports.Notification{ID: "EV", Received: at(5)}
	same(t, "fresh", keepAll(t, s, notification(1)), numbered(1, 1))
	same(t, "fresh", keepAll(t, s, notification(2), bare), []ports.Notification{notification(2), bare})
	same(t, "pending", unsettled(t, s, at(59), many), []ports.Notification{bare, notification(1), notification(2)})
}

func keptAgain(t *testing.T, s ports.Notifications) {
	keepAll(t, s, numbered(1, 2)...)
	again := ports.Notification{ID: notification(1).ID, Received: at(7), Resource: "other", Action: "other", MandateID: "other"}
	same(t, "fresh", keepAll(t, s, again), []ports.Notification{})
	same(t, "fresh", keepAll(t, s, again, notification(3), notification(2)), numbered(3, 1))
	same(t, "pending", unsettled(t, s, at(59), many), numbered(1, 3))
}

func keptTwice(t *testing.T, s ports.Notifications) {
	second := notification(1)
	second.Action = "other"
	same(t, "fresh", keepAll(t, s, notification(2), notification(1), second, notification(2), second),
		[]ports.Notification{notification(2), notification(1)})
	same(t, "pending", unsettled(t, s, at(59), many), numbered(1, 2))
}

func keptInOrder(t *testing.T, s ports.Notifications) {
	keepAll(t, s, notification(4), notification(6))
	var given []ports.Notification
	for i, n := range []int{7, 4, 9, 1, 6, 8, 2} {
		given = append(given, notified(notification(n), at(20-i)))
	}
	same(t, "fresh", notificationIDs(keepAll(t, s, given...)), []string{"EV0007", "EV0009", "EV0001", "EV0008", "EV0002"})
}

func keptConcurrently(t *testing.T, s ports.Notifications) {
	returned := make([][]ports.Notification, many)
	for _, err := range concurrently(many, func(i int) (err error) {
		given := notification(1)
		given.Action = fmt.Sprint("call ", i)
		returned[i], err = s.KeepNotifications(t.Context(), []ports.Notification{given})
		return err
	}) {
		must(t, "KeepNotifications", err)
	}
	all := slices.Concat(returned...)
	same(t, "calls that returned it", len(all), 1)
	same(t, "pending", unsettled(t, s, at(59), many), all)
}

func keptInOtherOrders(t *testing.T, s ports.Notifications) {
	const calls, size = 8, 100
	returned := make([][]ports.Notification, calls)
	for _, err := range concurrently(calls, func(i int) (err error) {
		given := numbered(0, size)
		given = append(given[i*size/calls:], given[:i*size/calls]...)
		if i%2 == 1 {
			slices.Reverse(given)
		}
		returned[i], err = s.KeepNotifications(t.Context(), given)
		return err
	}) {
		must(t, "KeepNotifications", err)
	}
	ids := notificationIDs(slices.Concat(returned...))
	slices.Sort(ids)
	same(t, "returned by one of the calls", ids, notificationIDs(numbered(0, size)))
	same(t, "pending", unsettled(t, s, at(59), anyNumber), numbered(0, size))
}

func keptInBatches(t *testing.T, s ports.Notifications) {
	first, second := numbered(0, 250), numbered(250, 500)
	same(t, "fresh of 250", keepAll(t, s, first...), first)
	overlap := numbered(200, 500)
	same(t, "fresh of 500, of which 50 are on record", keepAll(t, s, overlap...), overlap[50:])
	keepAll(t, s, second...)
	same(t, "pending", unsettled(t, s, at(59), anyNumber), numbered(0, 750))
	settle(t, s, at(30), notificationIDs(second)...)
	same(t, "pending when 500 are settled", unsettled(t, s, at(59), anyNumber), first)
	settle(t, s, at(30), notificationIDs(first)...)
	same(t, "pending when all are settled", unsettled(t, s, at(59), anyNumber), []ports.Notification{})
}

func keptAtOnce(t *testing.T, s ports.Notifications) {
	const batches, size = 6, 250
	var kept sync.WaitGroup
	done := make(chan struct{})
	kept.Go(func() {
		defer close(done)
		for i := range batches {
			if _, err := s.KeepNotifications(t.Context(), numbered(i*size, size)); err != nil {
				t.Errorf("KeepNotifications: %v", err)
			}
		}
	})
	defer kept.Wait()
	for {
		if n := len(unsettled(t, s, at(59), anyNumber)); n%size != 0 {
			t.Errorf("a reader sees %d notifications, want a multiple of %d", n, size)
		}
		select {
		case <-done:
			same(t, "pending", len(unsettled(t, s, at(59), anyNumber)), batches*size)
			return
		default:
		}
	}
}

func keptInPart(t *testing.T, s ports.Notifications) {
	const calls, size = 20, 250
	for i := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*500*time.Microsecond)
		_, err := s.KeepNotifications(ctx, numbered(i*size, size))
		cancel()
		fresh := len(keepAll(t, s, numbered(i*size, size)...))
		if fresh != 0 && (fresh != size || err == nil) {
			t.Errorf("a call that returned %v kept %d of %d notifications", err, size-fresh, size)
		}
	}
	same(t, "pending", len(unsettled(t, s, at(59), anyNumber)), calls*size)
}

func noNotifications(t *testing.T, s ports.Notifications) {
	same(t, "fresh", keepAll(t, s), []ports.Notification{})
	same(t, "pending", unsettled(t, s, at(59), many), []ports.Notification{})
	settle(t, s, at(30))
	keepAll(t, s, notification(1))
	same(t, "fresh", keepAll(t, s), []ports.Notification{})
	settle(t, s, at(30))
	same(t, "pending", unsettled(t, s, at(59), many), numbered(1, 1))
	same(t, "pending, none wanted", unsettled(t, s, at(59), 0), []ports.Notification{})
}

func notificationText(t *testing.T, s ports.Notifications) {
	var all []ports.Notification
	for _, text := range oddTexts() {
		all = append(all, ports.Notification{ID: text, Received: at(5), Resource: text, Action: text, BillingRequestID: text, MandateID: text})
	}
	same(t, "fresh", keepAll(t, s, all...), all)
	same(t, "fresh again", keepAll(t, s, all...), []ports.Notification{})
	for len(all) > 0 {
		pending := unsettled(t, s, at(59), anyNumber)
		slices.SortFunc(pending, func(a, b ports.Notification) int { return compareIn(all, a, b) })
		same(t, "pending", pending, all)
		settle(t, s, at(30), all[0].ID)
		all = all[1:]
	}
}

// compareIn compares the places of two notifications in a list.
func compareIn(all []ports.Notification, a, b ports.Notification) int {
	return slices.Index(all, a) - slices.Index(all, b)
}

func notificationTimes(t *testing.T, s ports.Notifications) {
	for i, when := range []time.Time{
		time.Date(2027, time.January, 1, 0, 30, 0, 123_456_789, time.FixedZone("NZDT", 13*60*60)),
		time.Date(1969, time.July, 20, 20, 17, 40, 999_999, time.UTC),
		time.Date(9999, time.December, 31, 23, 59, 59, 999_999_999, time.UTC),
		{},
	} {
		given := notified(notification(i), when)
		want := notified(given, when.UTC().Truncate(time.Millisecond))
		same(t, "fresh", keepAll(t, s, given), []ports.Notification{want})
		same(t, "pending", unsettled(t, s, want.Received.Add(time.Millisecond), many), []ports.Notification{want})
		settle(t, s, when, given.ID)
		same(t, "pending when it is settled", unsettled(t, s, want.Received.Add(time.Millisecond), many), []ports.Notification{})
	}
}

func pendingBefore(t *testing.T, s ports.Notifications) {
	keepAll(t, s, notified(notification(1), at(20)))
	same(t, "at its time", unsettled(t, s, at(20), many), []ports.Notification{})
	same(t, "within its millisecond", unsettled(t, s, at(20).Add(999*time.Microsecond), many), []ports.Notification{})
	next := at(20).Add(time.Millisecond)
	same(t, "a millisecond later", notificationIDs(unsettled(t, s, next, many)), []string{"EV0001"})
	same(t, "in another zone", len(unsettled(t, s, next.In(time.FixedZone("NZDT", 13*60*60)), many)), 1)
	same(t, "in another zone, at its time", len(unsettled(t, s, at(20).In(time.FixedZone("NZDT", 13*60*60)), many)), 0)
}

func pendingByReceipt(t *testing.T, s ports.Notifications) {
	received := func(id string, minute int) ports.Notification {
		return ports.Notification{ID: id, Received: at(minute)}
	}
	keepAll(t, s, received("c", 30), received("ā", 20), received("late", 50), ports.Notification{ID: "timeless"})
	keepAll(t, s, received("b", 20), received("B", 20), received("b10", 20), received("b9", 20), received("a", 40), received("_", 20))
	all := []string{"timeless", "B", "_", "b", "b10", "b9", "ā", "c", "a"}
	for limit := range len(all) + 2 {
		same(t, fmt.Sprint("at most ", limit), notificationIDs(unsettled(t, s, at(45), limit)), all[:min(limit, len(all))])
	}
	settle(t, s, at(59), "B", "b10", "c")
	same(t, "when some are settled", notificationIDs(unsettled(t, s, at(45), 4)), []string{"timeless", "_", "b", "b9"})
}

func settledStays(t *testing.T, s ports.Notifications) {
	keepAll(t, s, numbered(1, 3)...)
	settle(t, s, at(30), notification(2).ID)
	same(t, "pending", unsettled(t, s, at(59), many), []ports.Notification{notification(1), notification(3)})
	same(t, "fresh", keepAll(t, s, notified(notification(2), at(40)), notification(4)), numbered(4, 1))
	settle(t, s, at(20), notification(2).ID, notification(3).ID, notification(3).ID)
	settle(t, s, time.Time{}, notification(4).ID)
	same(t, "pending", unsettled(t, s, at(59), many), numbered(1, 1))
}

func settledUnknown(t *testing.T, s ports.Notifications) {
	keepAll(t, s, numbered(1, 2)...)
	settle(t, s, at(30), "", "ev0001", notification(3).ID, notification(1).ID, "EV")
	settle(t, s, at(30), notification(4).ID)
	same(t, "pending", unsettled(t, s, at(59), many), numbered(2, 1))
	same(t, "fresh", keepAll(t, s, numbered(3, 2)...), numbered(3, 2))
	same(t, "pending when they have come", unsettled(t, s, at(59), many), numbered(2, 3))
}

func settledConcurrently(t *testing.T, s ports.Notifications) {
	const size = 100
	keepAll(t, s, numbered(0, size+1)...)
	for _, err := range concurrently(8, func(i int) error {
		ids := notificationIDs(numbered(0, size))
		if i%2 == 1 {
			slices.Reverse(ids)
		}
		return s.SettleNotifications(t.Context(), ids, at(20+i))
	}) {
		must(t, "SettleNotifications", err)
	}
	same(t, "pending", unsettled(t, s, at(59), anyNumber), numbered(size, 1))
}

func notificationsShareNothing(t *testing.T, s ports.Notifications) {
	given := numbered(1, 2)
	fresh, err := s.KeepNotifications(t.Context(), given)
	must(t, "KeepNotifications", err)
	given[0], fresh[1] = notification(7), notification(8)
	same(t, "fresh", fresh[0], notification(1))
	same(t, "given", given[1], notification(2))
	for range 2 {
		pending, err := s.PendingNotifications(t.Context(), at(59), many)
		must(t, "PendingNotifications", err)
		same(t, "pending", pending, numbered(1, 2))
		pending[0], pending[1] = notification(8), notification(9)
	}
}

func notificationsEnded(t *testing.T, s ports.Notifications) {
	keepAll(t, s, notification(1))
	leaseTask(t, s, "task", at(0), at(10))
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := s.KeepNotifications(ended, numbered(1, 2))
	refused(t, "KeepNotifications", err, context.Canceled)
	_, err = s.PendingNotifications(ended, at(59), many)
	refused(t, "PendingNotifications", err, context.Canceled)
	refused(t, "SettleNotifications", s.SettleNotifications(ended, []string{notification(1).ID}, at(30)), context.Canceled)
	_, err = s.LeaseTask(ended, "task", at(20), at(30))
	refused(t, "LeaseTask", err, context.Canceled)
	refused(t, "SaveTask", s.SaveTask(ended, "task", ports.Task{Epoch: 1, Cursor: "x"}, at(30)), context.Canceled)
	same(t, "pending", unsettled(t, s, at(59), many), numbered(1, 1))
	same(t, "the next lease", leaseTask(t, s, "task", at(10), at(20)), ports.Task{Epoch: 2})
}
