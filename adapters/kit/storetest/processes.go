package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// readAfterWrite writes by one process and reads by another, again and again: nothing may be read from an older state.
func readAfterWrite(t *testing.T, place Place) {
	writer, reader := place.open(t, ""), place.open(t, "")
	for n := range 10 {
		configure(t, writer, legacy(fmt.Sprint("P", n)))
		gets(t, "providers", []catalogue.Provider{legacy(fmt.Sprint("P", n)).Provider})(reader.Providers(t.Context()))

		addKeys(t, writer, key(n))
		gets(t, "Key", key(n))(reader.Key(t.Context(), key(n).Hash))

		insert(t, writer, opened(n))
		same(t, "checkout of the order", find(t, reader, byOrder("KOWHAI", opened(n).Next.OrderID)), opened(n).Next)
		same(t, "checkout of the key", find(t, reader, byKey("KOWHAI", opened(n).Next.IdempotencyKey)), opened(n).Next)

		want := confirm(t, writer, opened(n).Next.ID, int64(n))
		same(t, "checkout of the mandate", find(t, reader, checkout.Reference{MandateID: want.Next.Setup.MandateID}), want.Next)
		gets(t, "document", *want.Document)(reader.Document(t.Context(), want.Agreement.Number))
		same(t, "moments", len(moments(t, reader, want.Next.ID)), 2)
		note(t, writer, n, moment(checkout.MomentOpened, 9))
		same(t, "moments", len(moments(t, reader, want.Next.ID)), 3)
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
	allSucceed(t, "UpdateCheckout", many, func(i int) error {
		return stores[i%2].UpdateCheckout(t.Context(), opened(1).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			c.Setup.Try++
			return checkout.Change{Next: c}, nil
		})
	})
	got := result(stores[0].Checkout(t.Context(), opened(1).Next.ID))(t)
	same(t, "updates on record", got.Setup.Try, many)
}

func leasesOfTwoProcesses(t *testing.T, place Place) {
	stores := []ports.Admin{place.open(t, ""), place.open(t, "")}
	enqueue(t, stores[0], work(1))
	for round := int64(1); round <= 5; round++ {
		const calls = 6
		got := make([][]checkout.Lease, calls)
		allSucceed(t, "Lease", calls, func(i int) (err error) {
			got[i], err = stores[i%2].Lease(t.Context(), checkout.JobQuery{Now: now(), For: leaseFor, Kinds: checkout.JobKinds(), Limit: 1})
			return err
		})
		all := slices.Concat(got...)
		if len(all) != 1 || all[0].Token != 2*round-1 {
			t.Fatalf("%d calls got the leases %+v, want one with token %d", calls, all, 2*round-1)
		}
		winner := slices.IndexFunc(got, func(l []checkout.Lease) bool { return len(l) > 0 }) % 2
		settle(t, stores[winner], all[0], checkout.Outcome{State: checkout.JobPending, Cursor: fmt.Sprint(round)})
		next := lease(t, stores[1-winner], work(1).ID)
		same(t, "the other's cursor", next.Cursor, fmt.Sprint(round))
		err := stores[winner].Settle(t.Context(), all[0], checkout.Outcome{State: checkout.JobDone}, pending(), nil)
		refused(t, "Settle of the one that is fenced off", err, ports.ErrNotFound)
		giveBack(t, stores[1-winner], next)
	}
}

func jobsAcross(t *testing.T, place Place) {
	writer, reader := place.open(t, ""), place.open(t, "")
	for n := range 10 {
		enqueue(t, writer, work(n))
		same(t, "fresh", len(enqueue(t, reader, work(n))), 0)
		giveBack(t, reader, lease(t, reader, work(n).ID))
		l := lease(t, writer, work(n).ID)
		notDue(t, reader, "a job that the other has leased", work(n).ID)
		settle(t, writer, l, checkout.Outcome{State: checkout.JobDone})
		same(t, "state", jobOf(t, reader, work(n).ID).State, checkout.JobDone)
		writer, reader = reader, writer
	}
}

func jobsOfTwoProcesses(t *testing.T, place Place) {
	stores := []ports.Admin{place.open(t, ""), place.open(t, "")}
	const rounds, racers, size = 5, 4, 50
	for round := range rounds {
		returned := make([][]checkout.Job, racers)
		allSucceed(t, "Enqueue", racers, func(i int) (err error) {
			given := workFrom(round*size, size)
			if i%2 == 1 {
				slices.Reverse(given)
			}
			returned[i], err = stores[i/2].Enqueue(t.Context(), given)
			return err
		})
		sameSet(t, "returned by one of the calls", jobIDs(slices.Concat(returned...)), jobIDs(workFrom(round*size, size))...)
	}
}

func journalOfTwoProcesses(t *testing.T, place Place) {
	stores := []ports.Admin{place.open(t, ""), place.open(t, "")}
	insert(t, stores[0], opened(1))
	allSucceed(t, "Note", many, func(i int) error {
		return stores[i%2].Note(t.Context(), []checkout.Noted{{CheckoutID: opened(1).Next.ID, Moment: moment(checkout.MomentOpened, i)}},
			[]checkout.Refusal{refusal("KOWHAI", 20, "X", "", 1)})
	})
	for i, m := range moments(t, stores[0], opened(1).Next.ID) {
		same(t, "position", m.Position, i+1)
	}
	same(t, "moments", len(moments(t, stores[1], opened(1).Next.ID)), 1+many)
	gets(t, "Refusals", []checkout.Refusal{refusal("KOWHAI", 20, "X", "", many)})(stores[1].Refusals(t.Context(), "", ""))
}
