package storetest

import (
	"fmt"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// processes are two processes with one store.
type processes [2]ports.Admin

// inOne tests a promise about several processes within one.
func inOne(check func(*testing.T, processes)) func(*testing.T, ports.Admin) {
	return func(t *testing.T, s ports.Admin) { check(t, processes{s, s}) }
}

func inTwo(check func(*testing.T, processes)) func(*testing.T, Place) {
	return func(t *testing.T, place Place) { check(t, processes{place.open(t, ""), place.open(t, "")}) }
}

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
