package gocardless_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// A reconciliation that takes long keeps its lease, and one whose process was killed loses it soon enough for another to
// make lost notifications good within a minute.
func TestReconcileRenewsAShortLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		const took = 90 * time.Second
		looking := make(chan struct{})
		look := func(context.Context, string) (checkout.Checkout, error) {
			close(looking)
			time.Sleep(took)
			return checkout.Checkout{}, nil
		}
		r, err := gocardless.NewReceiver(gocardless.ReceiverOptions{Processor: newAnswered(t, answering{200, []byte(fulfilled("EV1"))}),
			Secrets: [][]byte{[]byte(secret)}, Records: store, RefreshBillingRequest: look, RefreshMandate: look,
			Report: func(_ context.Context, err error) { t.Error(err) }, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- r.Reconcile(t.Context()) }()
		<-looking
		lease := func() error {
			_, err := store.LeaseTask(t.Context(), "gocardless events", time.Now(), time.Now().Add(time.Second))
			return err
		}
		for range 8 {
			time.Sleep(10 * time.Second)
			if err := lease(); !errors.Is(err, ports.ErrBusy) {
				t.Errorf("another process leases a reconciliation that goes on: %v", err)
			}
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Millisecond)
		if err := lease(); err != nil {
			t.Errorf("the lease of a reconciliation that has ended: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		taken := func() bool {
			_, err := store.LeaseTask(t.Context(), "gocardless events", time.Now(), time.Now().Add(time.Second))
			return err == nil
		}
		looking := make(chan struct{})
		look := func(ctx context.Context, _ string) (checkout.Checkout, error) {
			close(looking)
			<-ctx.Done()
			return checkout.Checkout{}, ctx.Err()
		}
		r, err := gocardless.NewReceiver(gocardless.ReceiverOptions{Processor: newAnswered(t, answering{200, []byte(fulfilled("EV1"))}),
			Secrets: [][]byte{[]byte(secret)}, Records: killed{store}, RefreshBillingRequest: look, RefreshMandate: look,
			Report: func(context.Context, error) {}, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		ctx, kill := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Reconcile(ctx) }()
		<-looking
		kill()
		<-ended
		time.Sleep(30*time.Second + time.Millisecond)
		if !taken() {
			t.Error("the lease of a process that was killed has not ended after 30 s")
		}
	})
}

// killed are the records of a process that was killed: nothing is saved any more.
type killed struct{ ports.Notifications }

func (killed) SaveTask(context.Context, string, ports.Task, time.Time) error {
	return errors.New("the process was killed")
}
