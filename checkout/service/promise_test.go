package service_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// unsigned replaces the head of the log by a head without a signature, and returns what puts it back.
func (w *world) unsigned(t *testing.T) (back func()) {
	t.Helper()
	was, err := w.store.EvidenceHead(t.Context())
	must(t, err)
	put := func(h evidence.Head) {
		must(t, w.store.SealEvidence(t.Context(), 0, func(evidence.Head, []evidence.Entry) (evidence.Sealing, error) {
			return evidence.Sealing{Head: h}, nil
		}))
	}
	h := was
	h.Checkpoint = []byte("x")
	put(h)
	return func() { put(was) }
}

// refuses checks that the first confirm is refused as busy, and that the service is not ready for that reason, or neither.
func (w *world) refuses(t *testing.T, cmd checkout.Confirm, want bool) {
	t.Helper()
	_, err := w.confirm(t, cmd)
	refusal := new(checkout.Error)
	if refused := errors.As(err, &refusal) && refusal.Code == checkout.CodeBusy; refused != want || !want && err != nil || want && refusal.Wait != time.Minute {
		t.Errorf("the confirm of %s: %v, for %s; want it refused as busy for a minute: %t", cmd.OrderID.Value, err, refusal.Wait, want)
	}
	if h := w.Health(t.Context()); (h.Evidence != nil) != want || h.Serving() == want || h.OK() == want {
		t.Errorf("the health is %+v; want the evidence to be a fault: %t", h, want)
	}
}

func TestABrokenPromiseRefusesFirstConfirmsUntilSealingGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, signing(t), func(c *service.Config) { c.SealWithin = 10 * time.Minute })
		other := w.again(t) // which never has the job, or soon loses it
		defer w.background(t)()
		defer other.background(t)()
		both := []*world{w, other}
		first := w.ready(t, "ORDER-1")
		w.confirms(t, first)
		time.Sleep(time.Minute)
		if len(w.sealedIDs(t)) != 1 {
			t.Fatal("the agreement is not sealed")
		}
		back := w.unsigned(t)
		second := w.ready(t, "ORDER-2")
		w.refuses(t, second, false)
		time.Sleep(9 * time.Minute)
		w.refuses(t, w.ready(t, "ORDER-3"), false)
		time.Sleep(2 * time.Minute)
		fourth := w.ready(t, "ORDER-4")
		for _, p := range both {
			p.refuses(t, fourth, true)
			for _, repeated := range []checkout.Confirm{first, second} {
				if again, err := p.confirm(t, repeated); err != nil || !again.Already {
					t.Errorf("a repeated confirm: %+v, %v; want it answered", again, err)
				}
			}
			if replay, err := p.Create(t.Context(), caller, create("ORDER-4")); err != nil || !replay.Replay {
				t.Errorf("a create: %+v, %v; want it answered", replay, err)
			}
		}
		fifth := w.again(t) // a restart forgets it, for a minute
		defer fifth.background(t)()
		time.Sleep(2 * time.Minute)
		fifth.refuses(t, fourth, true)
		back()
		time.Sleep(time.Minute)
		if n := len(w.sealedIDs(t)); n != 3 {
			t.Errorf("%d agreements are sealed, want three", n)
		}
		fifth.refuses(t, fourth, false)
		other.refuses(t, other.ready(t, "ORDER-5"), false)
		w.reports.take()
	})
}

// A promise is broken by the wait of a record, and by no clock.
func TestClocksBreakNoPromise(t *testing.T) {
	for _, apart := range []time.Duration{2 * time.Hour, -2 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, signing(t))
			defer w.background(t)()
			for n := range 20 {
				w.record(t, w.config.Keyring.Attest(unattested(fmt.Sprint(n), w.clock.now().Add(apart))))
				time.Sleep(8 * time.Second)
			}
			w.refuses(t, w.ready(t, "ORDER-1"), false)
			w.reports.take()
		})
	}
}

// Where there are more forged entries than the sealer passes over, it seals nothing, and nothing more is promised.
func TestTooManyForgedEntriesBreakThePromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, signing(t), func(c *service.Config) { c.SealWithin = 2 * time.Minute })
		defer w.background(t)()
		for n := range 10_500 {
			w.record(t, unattested(fmt.Sprint(n), w.clock.now()))
		}
		time.Sleep(3 * time.Minute)
		w.refuses(t, w.ready(t, "ORDER-1"), true)
		w.reports.take()
	})
}

// Forged entries are never sealed, and break no promise.
func TestForgedEntriesBreakNoPromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, signing(t), func(c *service.Config) { c.SealWithin = time.Minute })
		defer w.background(t)()
		for n := range 60 { // more than are looked at first
			w.record(t, unattested(fmt.Sprint(n), w.clock.now().Add(-24*time.Hour)))
		}
		time.Sleep(5 * time.Minute)
		w.refuses(t, w.ready(t, "ORDER-1"), false)
		w.reports.take()
	})
}

// A confirm, and every answer after it, has the receipt that was signed with it, whatever key signs now.
func TestAReceiptIsSignedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, signing(t), func(c *service.Config) { c.SealWithin = time.Minute })
		cmd := w.ready(t, "ORDER-1")
		first := w.confirms(t, cmd)
		line := first.Checkout.Confirmation.Receipt
		r, err := w.config.Evidence.OpenReceipt(line)
		must(t, err)
		entry, _, err := w.store.EvidenceEntry(t.Context(), evidence.AgreementID(r.Number))
		must(t, err)
		if !r.Of(entry.Leaf) || !r.At.Equal(entry.At) || r.Until.Sub(r.At) != time.Minute {
			t.Errorf("the receipt is %+v, of entry %+v", r, entry)
		}
		private, err := evidence.NewKey("next.example", [32]byte{2})
		must(t, err)
		w.config.Evidence, err = evidence.ParseKeys(private, w.config.Evidence.Public())
		must(t, err)
		next := w.again(t)
		again, err := next.confirm(t, cmd)
		must(t, err)
		polled, err := next.Checkout(t.Context(), caller, first.Checkout.ID)
		must(t, err)
		if again.Checkout.Confirmation.Receipt != line || polled.Confirmation.Receipt != line {
			t.Errorf("after a rotation the receipts are %q and %q, want %q", again.Checkout.Confirmation.Receipt, polled.Confirmation.Receipt, line)
		}
	})
}

// What was removed before it was sealed is missed by the sealer, if anything was recorded after it.
func TestAGapIsNotSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, signing(t), func(c *service.Config) { c.Store = gap{c.Store} })
		w.record(t, w.config.Keyring.Attest(unattested("removed", w.clock.now())), w.config.Keyring.Attest(unattested("next", w.clock.now())))
		w.runFor(t, time.Minute)
		if ids := w.sealedIDs(t); len(ids) != 0 {
			t.Errorf("sealed are %q, want no entry", ids)
		}
		w.wantReport(t, "", "", "operation/next follows on operation/removed")
	})
}

// gap is a store from which somebody has removed the first entry.
type gap struct{ ports.Store }

func (g gap) SealEvidence(ctx context.Context, limit int, seal func(evidence.Head, []evidence.Entry) (evidence.Sealing, error)) error {
	return g.Store.SealEvidence(ctx, limit, func(h evidence.Head, entries []evidence.Entry) (evidence.Sealing, error) {
		entries[1].Orphan = true
		return seal(h, entries[1:])
	})
}

// outrun is a store whose log has grown whenever an agreement is to be recorded.
type outrun struct {
	ports.Store
	tries *int
}

func (o outrun) UpdateCheckout(ctx context.Context, id string, entry checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	return o.Store.UpdateCheckout(ctx, id, entry, func(c checkout.Checkout) (checkout.Change, error) {
		change, err := decide(c)
		if err == nil && change.Evidence != nil {
			*o.tries++
			err = evidence.ErrOutdated
		}
		return change, err
	})
}

// Where the chains were set ahead of the log, no record has seen enough. A confirm gives up soon, and that is reported.
func TestAConfirmGivesUpOnALogThatOutrunsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		w := newWorld(t, func(c *service.Config) { c.Store = outrun{c.Store, &tries} })
		cmd := w.ready(t, "ORDER-1")
		_, err := w.confirm(t, cmd)
		expect(t, err, checkout.CodeBusy)
		if tries != 10 {
			t.Errorf("it is tried %d times, want 10", tries)
		}
		w.wantReport(t, service.OperationServe, service.Warning, evidence.ErrOutdated.Error())
	})
}
