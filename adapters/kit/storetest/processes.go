package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// readAfterWrite writes by one process and reads by another, again and again: nothing may be read from an older state.
func readAfterWrite(t *testing.T, place Place) {
	writer, reader := place.open(t, ""), place.open(t, "")
	for n := range 10 {
		configure(t, writer, legacy(fmt.Sprint("P", n)))
		all, err := reader.Providers(t.Context())
		must(t, "Providers", err)
		same(t, "providers", all, []catalogue.Provider{legacy(fmt.Sprint("P", n)).Provider})

		addKeys(t, writer, key(n))
		_, err = reader.Key(t.Context(), key(n).Hash)
		must(t, "Key", err)

		insert(t, writer, opened(n))
		got, err := reader.CheckoutByOrder(t.Context(), "KOWHAI", opened(n).Next.OrderID)
		must(t, "CheckoutByOrder", err)
		same(t, "checkout", got, opened(n).Next)
		got, err = reader.CheckoutByKey(t.Context(), "KOWHAI", opened(n).Next.IdempotencyKey)
		must(t, "CheckoutByKey", err)
		same(t, "checkout", got, opened(n).Next)

		want := confirm(t, writer, opened(n).Next.ID, int64(n))
		got, err = reader.CheckoutByMandate(t.Context(), want.Next.Setup.MandateID)
		must(t, "CheckoutByMandate", err)
		same(t, "confirmed checkout", got, want.Next)
		d, err := reader.Document(t.Context(), want.Agreement.Number)
		must(t, "Document", err)
		same(t, "document", d, *want.Document)

		must(t, "SettleEvent", writer.SettleEvent(t.Context(), want.Events[0].ID, 1, ports.Settlement{Status: events.Delivered, Attempts: 1}))
		same(t, "pending events", len(pendingEvents(t, reader, opened(n))), 2)
		writer, reader = reader, writer
	}
}

func insertsOfTwoProcesses(t *testing.T, place Place) {
	stores := []ports.Admin{place.open(t, ""), place.open(t, "")}
	const rounds, racers = 10, 4
	races := []struct {
		name   string
		change func(n, i int, name string) checkout.Change
	}{
		{"one order", func(n, _ int, name string) checkout.Change { return under(n, name, fmt.Sprint("key-", n)) }},
		{"one key", func(n, _ int, name string) checkout.Change { return under(n, fmt.Sprint("order-", n), name) }},
		{"two spellings of one key", func(n, i int, name string) checkout.Change {
			if i%2 == 0 {
				return byDefault(n, name)
			}
			return under(n, fmt.Sprint("order-", n), checkout.DefaultKey("KOWHAI", name))
		}},
	}
	for round := range rounds * len(races) {
		race := races[round%len(races)]
		errs := concurrently(racers, func(i int) error {
			return stores[i/2].InsertCheckout(t.Context(), race.change(round*racers+i, i, fmt.Sprint("name-", round)), pending())
		})
		oneWins(t, "InsertCheckout of "+race.name, errs, ports.ErrDuplicate)
	}
	same(t, "checkouts", len(export(t, stores[0]).Checkouts), rounds*len(races))
}

func updatesOfTwoProcesses(t *testing.T, place Place) {
	stores := []ports.Admin{place.open(t, ""), place.open(t, "")}
	insert(t, stores[0], opened(1))
	for _, err := range concurrently(many, func(i int) error {
		return stores[i%2].UpdateCheckout(t.Context(), opened(1).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			c.Setup.Try++
			return checkout.Change{Next: c}, nil
		})
	}) {
		must(t, "UpdateCheckout", err)
	}
	got, err := stores[0].Checkout(t.Context(), opened(1).Next.ID)
	must(t, "Checkout", err)
	same(t, "updates on record", got.Setup.Try, many)
}

func leasesOfTwoProcesses(t *testing.T, place Place) {
	stores := []ports.Admin{place.open(t, ""), place.open(t, "")}
	insert(t, stores[0], opened(1))
	for epoch := int64(1); epoch <= 5; epoch++ {
		errs := concurrently(6, func(i int) error {
			_, err := stores[i%2].LeaseEvent(t.Context(), opened(1).Events[0].ID, epoch, at(20))
			return err
		})
		oneWins(t, "LeaseEvent", errs, ports.ErrNotFound)
	}
	same(t, "epoch", pendingEvents(t, stores[1], opened(1))[0].Epoch, int64(6))
}

func notifiedAcross(t *testing.T, place Place) {
	writer, reader := place.open(t, ""), place.open(t, "")
	for n := range 10 {
		keepAll(t, writer, notification(n))
		same(t, "fresh", keepAll(t, reader, notification(n)), []ports.Notification{})
		same(t, "pending", unsettled(t, reader, at(59), many), numbered(n, 1))
		settle(t, writer, at(30), notification(n).ID)
		same(t, "pending when it is settled", unsettled(t, reader, at(59), many), []ports.Notification{})
		writer, reader = reader, writer
	}
}

func notificationsOfTwoProcesses(t *testing.T, place Place) {
	stores := []ports.Notifications{place.open(t, ""), place.open(t, "")}
	const rounds, racers, size = 5, 4, 50
	for round := range rounds {
		returned := make([][]ports.Notification, racers)
		for _, err := range concurrently(racers, func(i int) (err error) {
			given := numbered(round*size, size)
			if i%2 == 1 {
				slices.Reverse(given)
			}
			returned[i], err = stores[i/2].KeepNotifications(t.Context(), given)
			return err
		}) {
			must(t, "KeepNotifications", err)
		}
		ids := notificationIDs(slices.Concat(returned...))
		slices.Sort(ids)
		same(t, "returned by one of the calls", ids, notificationIDs(numbered(round*size, size)))
	}
}

func taskOfTwoProcesses(t *testing.T, place Place) {
	stores := []ports.Notifications{place.open(t, ""), place.open(t, "")}
	for round := 1; round <= 5; round++ {
		errs := concurrently(6, func(i int) error {
			_, err := stores[i%2].LeaseTask(t.Context(), "task", at(round), at(round+1))
			return err
		})
		winner := oneWins(t, "LeaseTask", errs, ports.ErrBusy) % 2
		task := ports.Task{Epoch: int64(2*round - 1), Cursor: fmt.Sprint(round)}
		saveTask(t, stores[winner], "task", task, at(round+1))
		next := leaseTask(t, stores[1-winner], "task", at(round+1), at(round+1))
		same(t, "the other's task", next, ports.Task{Epoch: task.Epoch + 1, Cursor: task.Cursor})
		err := stores[winner].SaveTask(t.Context(), "task", task, at(59))
		refused(t, "SaveTask of the one that is fenced off", err, ports.ErrNotFound)
	}
}
