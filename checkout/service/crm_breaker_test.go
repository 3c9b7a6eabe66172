package service_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// unreadAgreements is a store whose agreements cannot be read.
type unreadAgreements struct{ ports.Store }

func (unreadAgreements) Agreement(context.Context, string) (agreement.Agreement, error) {
	return agreement.Agreement{}, errBroken
}

// A confirm whose agreement the store cannot read again and again says nothing about the CRM, which opens others.
func TestAStoreThatFailsDoesNotHaveTheCRMLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *service.Config) {
			c.CRM, c.Store = memory.NewCRM(catalogue.Sandbox), unreadAgreements{c.Store}
		})
		cmd := w.ready(t, "ORDER-1")
		confirmed := make(chan error)
		go func() {
			_, err := w.confirm(t, cmd)
			confirmed <- err
		}()
		for failed := 0; failed < 5; { // after as many failures of a CRM it is left alone for a second
			time.Sleep(10 * time.Millisecond)
			for _, f := range w.reports.take() {
				if errors.Is(f.Err, errBroken) {
					failed++
				}
			}
		}
		if _, err := w.Create(t.Context(), caller, create("ORDER-2")); err != nil {
			t.Errorf("create: %v", err)
		}
		expect(t, <-confirmed, checkout.CodeBusy)
	})
}

// out is a CRM that does not answer while it is out.
type out struct {
	*memory.CRM
	now atomic.Bool
}

func (c *out) Open(ctx context.Context, e ports.Enrolment) (checkout.Records, error) {
	if c.now.Load() {
		return checkout.Records{}, errBroken
	}
	return c.CRM.Open(ctx, e)
}

// While the CRM is left alone the background work finds out whether it answers again, whatever is asked for meanwhile.
func TestReplaysDoNotKeepTheCRMLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crm := &out{CRM: memory.NewCRM(catalogue.Sandbox)}
		w := newWorld(t, func(c *service.Config) { c.CRM = crm })
		w.opened(t, "ORDER-1")
		next := w.again(t) // which never saw the order
		defer next.background(t)()
		crm.now.Store(true)
		if _, err := next.Create(t.Context(), caller, create("ORDER-2")); err == nil {
			t.Fatal("created while the CRM is out")
		}
		crm.now.Store(false)
		time.Sleep(5 * time.Second)
		if o, err := next.Create(t.Context(), caller, create("ORDER-1")); err != nil || !o.Replay {
			t.Fatalf("replay %v, %v", o.Replay, err)
		}
		if _, err := next.Create(t.Context(), caller, create("ORDER-3")); err != nil {
			t.Errorf("create after a replay: %v", err)
		}
	})
}
