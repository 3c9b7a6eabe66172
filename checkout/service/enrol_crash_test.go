package service_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// dies calls f as a process that ends within it, if a call of the CRM ends its goroutine.
func dies(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// nth has the n-th call from now on end as f says, and all others undisturbed.
func nth(n int, f func(context.Context) error) func(context.Context) error {
	calls := 0
	return func(ctx context.Context) error {
		if calls++; calls == n {
			return f(ctx)
		}
		return nil
	}
}

// after has all calls but the first n from now on end as f says.
func after(n int, f func(context.Context) error) func(context.Context) error {
	calls := 0
	return func(ctx context.Context) error {
		if calls++; calls > n {
			return f(ctx)
		}
		return nil
	}
}

func ends(context.Context) error { runtime.Goexit(); return nil }

func TestWhatACrashCutOffIsDoneWithinFifteenSecondsOfTheLease(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after func(context.Context) error // of the calls of a create, or of a confirm
		confirm       bool
		retries       bool // the client does, and does not leave it to the scheduler
	}{
		{"reserved", nth(1, ends), nil, false, false},
		{"opened in the CRM", nil, nth(1, ends), false, false},
		{"opened in the CRM, and the client comes back", nil, nth(1, ends), false, true},
		{"concluded", nth(2, ends), nil, true, false},            // the first is the look for an agreement
		{"completed in the CRM", nil, nth(1, ends), true, false}, // the look finds no agreement, which is an error
		{"completed in the CRM, and the client comes back", nil, nth(1, ends), true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
				var cmd checkout.Confirm
				if tt.confirm {
					cmd = w.ready(t, "ORDER-1")
				}
				c.disturb(tt.before, tt.after)
				dies(func() {
					if tt.confirm {
						w.confirm(t, cmd)
					} else {
						w.Create(t.Context(), caller, create("ORDER-1"))
					}
					t.Error("the process did not die")
				})
				c.disturb(nil, nil)
				before, _ := w.records(t)["ORDER-1"], c.Enrolments()
				if before.Checkout.Enrolled() {
					t.Fatalf("on record is %+v after the crash", before.Checkout)
				}
				w = w.again(t)
				switch {
				case tt.retries && tt.confirm:
					w.sent(t, cmd, true)
				case tt.retries:
					for {
						o, err := w.Create(t.Context(), caller, create("ORDER-1"))
						if err == nil {
							if !o.Replay {
								t.Error("the retry is answered that it is new, which the first may have been")
							}
							break
						}
						expect(t, err, checkout.CodeBusy)
					}
				default:
					w.runFor(t, 15*time.Second+15*time.Second) // the lease, and then
				}
				stored, enrolled := c.lone(t, w)
				want, completions := checkout.SetupRequired, 0
				if tt.confirm {
					want, completions = checkout.Confirmed, 1
				}
				if got := stored.Checkout; got.Status != want || !got.Enrolled() || got.Records != enrolled.Records ||
					enrolled.Completions != completions {
					t.Errorf("on record is %+v; the CRM has %+v", got, enrolled)
				}
				if n := len(w.receiver.names()); n != 1+2*completions {
					t.Errorf("%d events were sent", n)
				}
			})
		})
	}
}

// A process that was stopped while its call was under way finds its job leased to another, and stores nothing.
func TestALateOwnerStoresNothing(t *testing.T) {
	for _, confirms := range []bool{false, true} {
		t.Run(fmt.Sprint("confirm ", confirms), func(t *testing.T) {
			inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
				var cmd checkout.Confirm
				if confirms {
					cmd = w.ready(t, "ORDER-1")
				}
				stopped := func(context.Context) error { time.Sleep(60 * time.Second); return nil } // whatever its context says
				c.disturb(nil, nth(1, stopped))
				late := make(chan error)
				go func() {
					var err error
					if confirms {
						_, err = w.confirm(t, cmd)
					} else {
						_, err = w.Create(t.Context(), caller, create("ORDER-1"))
					}
					late <- err
				}()
				time.Sleep(time.Second)
				c.disturb(nil, nil)
				other := w.again(t)
				other.runFor(t, 40*time.Second)
				before := w.records(t)["ORDER-1"]
				if !before.Checkout.Enrolled() {
					t.Fatalf("no process has taken it over: %+v", before.Checkout)
				}
				expect(t, <-late, checkout.CodeBusy)
				if after := w.records(t)["ORDER-1"]; !reflect.DeepEqual(after, before) {
					t.Errorf("the late owner has changed\n%+v to\n%+v", before, after)
				}
				c.lone(t, w)
			})
		})
	}
}
