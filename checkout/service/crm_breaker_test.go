package service_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout/service"
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

// While the CRM is left alone the background work finds out whether it answers again, whatever is asked for meanwhile.
func TestReplaysDoNotKeepTheCRMLeftAlone(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		w.opened(t, "ORDER-1")
		next := w.again(t) // which never saw the order
		defer next.background(t)()
		c.disturb(fails, nil)
		if _, err := next.Create(t.Context(), caller, create("ORDER-2")); err == nil {
			t.Fatal("created while the CRM is out")
		}
		c.disturb(nil, nil)
		time.Sleep(5 * time.Second)
		if o, err := next.Create(t.Context(), caller, create("ORDER-1")); err != nil || !o.Replay {
			t.Fatalf("replay %v, %v", o.Replay, err)
		}
		if _, err := next.Create(t.Context(), caller, create("ORDER-3")); err != nil {
			t.Errorf("create after a replay: %v", err)
		}
	})
}
