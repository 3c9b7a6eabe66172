package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
)

// calls are the calls of the hooks, in their order.
type calls struct {
	mu  sync.Mutex
	all []string
}

func (c *calls) add(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, fmt.Sprintf(format, args...))
}

func (c *calls) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

func TestHooksAreCalledOnceForWhatWasCommitted(t *testing.T) {
	called := &calls{}
	var w *world
	onRecord := func(ctx context.Context, c checkout.Checkout) checkout.Checkout {
		stored, err := w.store.Checkout(ctx, c.ID)
		if err != nil {
			t.Errorf("checkout %s is not on record when its hook is called: %v", c.ID, err)
		}
		return stored
	}
	w = newWorld(t, func(c *service.Config) {
		c.Hooks = service.Hooks{
			Created: func(ctx context.Context, c checkout.Checkout) {
				called.add("created %s, on record %s", c.OrderID, onRecord(ctx, c).Status)
			},
			SetupChanged: func(ctx context.Context, c checkout.Checkout) {
				called.add("setup %s, on record %s", c.Setup.BillingRequest, onRecord(ctx, c).Setup.BillingRequest)
			},
			Confirmed: func(ctx context.Context, c checkout.Checkout, a agreement.Agreement) {
				called.add("confirmed with %v, on record %s", a.Number == c.Confirmation.AgreementNumber, onRecord(ctx, c).Status)
			},
		}
	})
	var o service.Opened
	var err error
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"a create", func() { o = w.opened(t, "ORDER-1") }, []string{"created ORDER-1, on record direct_debit_setup_required"}},
		{"its replay", func() { w.opened(t, "ORDER-1") }, nil},
		{"a create that conflicts", func() {
			other := create("ORDER-1")
			other.Frequency = checkout.Some("Monthly")
			_, err = w.Create(t.Context(), caller, other)
			expect(t, err, checkout.CodeIntentConflict)
		}, nil},
		{"a setup page", func() { _, err = w.SetupPage(t.Context(), o.Token) }, nil},
		{"a setup that is begun", func() { _, err = w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{}) },
			[]string{"setup pending, on record pending"}},
		{"a poll that learns nothing", func() { _, err = w.Checkout(t.Context(), caller, o.Checkout.ID) }, nil},
		{"a refresh that learns something", func() {
			w.processor.set(fulfilled)
			_, err = w.Refresh(t.Context(), o.Checkout.ID)
		}, []string{"setup fulfilled, on record fulfilled"}},
		{"a refresh that learns nothing more", func() { _, err = w.Refresh(t.Context(), o.Checkout.ID) }, nil},
		{"a confirm", func() { _, err = w.confirm(t, confirm(o)) }, []string{"confirmed with true, on record confirmed"}},
		{"its repeat", func() { _, err = w.confirm(t, confirm(o)) }, nil},
		{"a mandate that is cancelled", func() {
			w.processor.set(checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandateCancelled})
			_, err = w.Refresh(t.Context(), o.Checkout.ID)
		}, []string{"setup fulfilled, on record fulfilled"}},
	} {
		step.do()
		if _, refused := codeOf(err); err != nil && !refused {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := called.take(); !slices.Equal(got, step.want) {
			t.Errorf("%s: hooks called %q, want %q", step.name, got, step.want)
		}
	}
}

// A hook is called before the caller gets its answer, and before the events are sent.
func TestAHookIsCalledBeforeTheEventIsSent(t *testing.T) {
	var order []string
	w := newWorld(t, func(c *service.Config) {
		c.Hooks.Created = func(context.Context, checkout.Checkout) { order = append(order, "hook") }
		send := c.Sender.(*receiver)
		send.answer = accept(func() { order = append(order, "event") })
	})
	w.opened(t, "ORDER-1")
	if want := []string{"hook", "event"}; !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
}

// A hook that is slow does not have an event sent after its lease.
func TestAHookThatIsSlowSendsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *service.Config) {
			c.Hooks.Created = func(context.Context, checkout.Checkout) { time.Sleep(9500 * time.Millisecond) }
		})
		w.receiver.answers(func(events.Delivery, int) error { time.Sleep(1500 * time.Millisecond); return nil })
		stop := w.again(t).background(t)
		w.opened(t, "ORDER-1")
		time.Sleep(20 * time.Second)
		stop()
		if n := w.receiver.requests(); n != 1 || w.statuses(t)[events.Delivered] != 1 {
			t.Errorf("sent %d times, and on record are %v", n, w.statuses(t))
		}
	})
}

// A hook that panics does not stop the operation that called it.
func TestAHookThatPanicsIsReported(t *testing.T) {
	panics := errors.New("the host's hook is broken")
	w := newWorld(t, func(c *service.Config) {
		c.Hooks = service.Hooks{
			Created:      func(context.Context, checkout.Checkout) { panic(panics) },
			SetupChanged: func(context.Context, checkout.Checkout) { panic(panics) },
			Confirmed:    func(context.Context, checkout.Checkout, agreement.Agreement) { panic(panics) },
		}
	})
	cmd := w.ready(t, "ORDER-1")
	if done, err := w.confirm(t, cmd); err != nil || done.Checkout.Status != checkout.Confirmed {
		t.Errorf("confirm: %s, %v", done.Checkout.Status, err)
	}
	if names := w.receiver.names(); len(names) != 3 {
		t.Errorf("delivered %q, want all three events", names)
	}
	reported := w.reports.take()
	if len(reported) != 4 { // created, begun, completed, confirmed
		t.Errorf("%d reports, want 4", len(reported))
	}
	for _, f := range reported {
		if f.Operation != service.OperationHook || f.Severity != service.Error || f.CheckoutID != cmd.CheckoutID.Value ||
			!strings.Contains(f.Err.Error(), panics.Error()) {
			t.Errorf("reported %+v, want an error of the hook, of checkout %s", f, cmd.CheckoutID.Value)
		}
	}
}
