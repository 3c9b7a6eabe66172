package service_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// A completion whose agreement the store cannot read again and again says nothing about the CRM, which opens others.
func TestAStoreThatFailsDoesNotHaveTheCRMLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, change := withCRM()
		w := newWorld(t, change, disturbing(func(ctx context.Context, method, _ string, call func(context.Context) error) error {
			if method == "Agreement" {
				return errBroken
			}
			return call(ctx)
		}))
		cmd := w.ready(t, "ORDER-1")
		c.disturb(nth(2, fails), nil) // after the look for an agreement; every further attempt reads the agreement first
		if _, err := w.confirm(t, cmd); !errors.Is(err, errBroken) {
			t.Errorf("confirm: %v, want %v", err, errBroken)
		}
		w.runFor(t, 2*time.Minute)
		failed := 0 // after five failures of a CRM it is left alone for a second
		for _, f := range w.reports.take() {
			if f.Operation == service.OperationComplete && errors.Is(f.Err, errBroken) {
				failed++
			}
		}
		if failed < 6 {
			t.Errorf("%d attempts failed", failed)
		}
		if _, err := w.Create(t.Context(), caller, create("ORDER-2")); err != nil {
			t.Errorf("create: %v", err)
		}
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
