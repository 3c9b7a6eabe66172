package full_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// For every order, 64 clients of each process send the create at the same time, and then the confirm: one
// checkout is opened and confirmed once, and all clients get the same values.
func (b suite) createsNothingTwice(t *testing.T) {
	const clients = 64
	orders := testlevel.Runs(t, 10)
	c := newCluster(t, b, postgrestest.URL(t))
	c.Verdicts.AcceptAll = true
	var sides [clusterSize]*backend
	for i := range sides {
		sides[i] = c.newBackend(c.only(i))
		sides[i].strict = true
	}
	for range orders {
		e := c.Enrolments.Begin()
		fromAllSides(t, sides[:], clients, e.NoteCreate, func(b *backend) (sandbox.Response, error) { return e.SendCreate(t.Context(), b.Client) })
		if e.Opened != 1 {
			t.Fatalf("%s was answered as the first %d times, want once", e.Order, e.Opened)
		}
		if err := e.SetUp(t.Context(), sides[c.Rand.IntN(clusterSize)].Client); err != nil {
			t.Fatal(err)
		}
		path, body := e.Created.CheckoutPath()+"/confirm", e.Created.ConfirmBody()
		fromAllSides(t, sides[:], clients, e.NoteConfirm, func(b *backend) (sandbox.Response, error) {
			return b.Call(t.Context(), e.Provider, http.MethodPost, path, body)
		})
		if e.Confirmed != 1 {
			t.Fatalf("%s was confirmed for the first time %d times, want once", e.Order, e.Confirmed)
		}
	}
	if lost := c.completes(t, sides[0]); lost != 0 {
		t.Errorf("%d commits had an answer that was lost, want none", lost)
	}
}

// fromAllSides sends a request from many clients of each backend at once, and records every answer.
func fromAllSides(t *testing.T, all []*backend, clients int, note func(sandbox.Response) error, send func(*backend) (sandbox.Response, error)) {
	t.Helper()
	var noting sync.Mutex
	var sending sync.WaitGroup
	gate := make(chan struct{})
	for range clients {
		for _, b := range all {
			sending.Go(func() {
				<-gate
				r, err := send(b)
				noting.Lock()
				defer noting.Unlock()
				if err == nil {
					err = note(r)
				}
				if err != nil {
					t.Error(fmt.Errorf("of many at once, %w", err))
				}
			})
		}
	}
	close(gate)
	sending.Wait()
}
