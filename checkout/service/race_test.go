package service_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// A confirm renders its agreement outside of any transaction. The final decision takes into account what happened
// meanwhile: these are the cases.

// meanwhile calls f once while an agreement is rendered.
func (w *world) meanwhile(f func()) {
	var done atomic.Bool
	w.printer.during = func(agreement.Agreement) {
		if done.CompareAndSwap(false, true) {
			f()
		}
	}
}

// change changes what is on record of an order, as another process does.
func (w *world) change(t *testing.T, order string, change func(*checkout.Checkout)) {
	t.Helper()
	id := w.records(t)[order].Checkout.ID
	err := w.store.UpdateCheckout(t.Context(), id, checkout.JobEntry{}, func(c checkout.Checkout) (checkout.Change, error) {
		change(&c)
		return checkout.Change{Next: c}, nil
	})
	must(t, err)
}

func TestAnotherProcessConfirmsMeanwhile(t *testing.T) {
	w := newWorld(t)
	cmd := w.ready(t, "ORDER-1")
	other := w.again(t)
	var first service.Confirmed
	w.meanwhile(func() {
		var err error
		if first, err = other.confirm(t, cmd); err != nil || first.Already {
			t.Errorf("the other process: already %v, %v", first.Already, err)
		}
	})
	second, err := w.confirm(t, cmd)
	if err != nil || !second.Already || second.Checkout.Confirmation != first.Checkout.Confirmation {
		t.Errorf("already %v, %v with %+v; want the other's %+v", second.Already, err, second.Checkout.Confirmation, first.Checkout.Confirmation)
	}
	want := []events.Name{events.CheckoutCreated, events.CheckoutConfirmed, events.AgreementGenerated}
	if got := w.receiver.names(); !slices.Equal(got, want) {
		t.Errorf("delivered %q, want %q", got, want)
	}
}

func TestThePayerSetsUpAnotherAccountMeanwhile(t *testing.T) {
	w := newWorld(t)
	cmd := w.ready(t, "ORDER-1")
	w.meanwhile(func() {
		w.change(t, "ORDER-1", func(c *checkout.Checkout) {
			c.Setup.AccountHolder, c.Setup.AccountMask = "M NGATA", "12-3140-•••••23-50"
		})
	})
	done, err := w.confirm(t, cmd)
	agreed := w.records(t)["ORDER-1"].Agreement
	if err != nil || done.Already || agreed.DirectDebit.AccountHolder != "M NGATA" || agreed.DirectDebit.AccountMask != "12-3140-•••••23-50" || w.printer.printed != 2 {
		t.Errorf("%v; agreed on %+v after %d renderings; want the new account, and two", err, agreed.DirectDebit, w.printer.printed)
	}
}

func TestWhatChangesMeanwhileRefusesAConfirm(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*checkout.Checkout)
		code   checkout.Code
	}{
		{"the mandate dies", func(c *checkout.Checkout) { c.Setup.Mandate = checkout.MandateCancelled }, checkout.CodeSetupIncomplete},
		{"the mandate is paused", func(c *checkout.Checkout) { c.Setup.Mandate = "paused" }, checkout.CodeSetupIncomplete},
		{"the setup pair is renewed", func(c *checkout.Checkout) {
			next := c.Latest()
			next.Epoch++
			c.Tokens = append(c.Tokens, next)
		}, checkout.CodeConflict},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			cmd := w.ready(t, "ORDER-1")
			w.meanwhile(func() { w.change(t, "ORDER-1", tt.change) })
			_, err := w.confirm(t, cmd)
			expect(t, err, tt.code)
			if r := w.records(t)["ORDER-1"]; r.Agreement != nil || r.Document != nil || len(r.Events()) != 1 || r.Checkout.Status != checkout.SetupRequired {
				t.Errorf("on record %s with %d events and agreement %v", r.Checkout.Status, len(r.Events()), r.Agreement)
			}
		})
	}
}

// If an agreement number is taken, another is generated.
func TestATakenNumberIsGeneratedAgain(t *testing.T) {
	same := &repeating{}
	w := newWorld(t, func(c *service.Config) { same.Reader = c.Rand; c.Rand = same })
	numbers := make(map[string]bool)
	for _, order := range []string{"ORDER-1", "ORDER-2"} {
		cmd := w.ready(t, order)
		same.repeat(2, 8) // the second confirm generates the number of the first, and then another
		done, err := w.confirm(t, cmd)
		must(t, err)
		numbers[done.Checkout.Confirmation.AgreementNumber] = true
	}
	if len(numbers) != 2 || w.printer.printed != 3 {
		t.Errorf("numbers %v after %d renderings; want two numbers, and three", numbers, w.printer.printed)
	}
}

// repeating is a source of randomness that returns the same bytes for every read of a given size.
type repeating struct {
	io.Reader
	mu    sync.Mutex
	times int
	size  int
	bytes []byte
}

func (r *repeating) repeat(times, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times, r.size = times, size
}

func (r *repeating) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(p) != r.size || r.times == 0 {
		return r.Reader.Read(p)
	}
	if r.times--; r.bytes == nil {
		r.bytes = bytes.Repeat([]byte{7}, len(p))
	} else if r.times == 0 {
		return r.Reader.Read(p)
	}
	return copy(p, r.bytes), nil
}

// A confirm ends even if no generated agreement number can ever be stored.
func TestAConfirmEndsThoughTheRecordNeverTakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *service.Config) { c.Store = duplicating{c.Store} })
		cmd := w.ready(t, "ORDER-1")
		start := time.Now()
		_, err := w.confirm(t, cmd)
		expect(t, err, checkout.CodeBusy)
		if took := time.Since(start); took != 20*time.Second || w.printer.printed > 100 {
			t.Errorf("it took %s and %d renderings, want 20 s and a pause between them", took, w.printer.printed)
		}
	})
}

// duplicating is a store in which every agreement number is taken.
type duplicating struct{ ports.Store }

func (s duplicating) UpdateCheckout(ctx context.Context, id string, q checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	return s.Store.UpdateCheckout(ctx, id, q, func(c checkout.Checkout) (checkout.Change, error) {
		change, err := decide(c)
		if err == nil && change.Agreement != nil {
			return change, ports.ErrDuplicate
		}
		return change, err
	})
}

// A create ends even if its order is always a duplicate and never found.
func TestACreateEndsThoughItNeverSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times := 0
		w := newWorld(t, disturbing(func(ctx context.Context, method, _ string, call func(context.Context) error) error {
			if method != "InsertCheckout" {
				return call(ctx)
			}
			times++
			return ports.ErrDuplicate // and it is never found
		}))
		start := time.Now()
		_, err := w.Create(t.Context(), caller, create("ORDER-1"))
		expect(t, err, checkout.CodeBusy)
		// The pauses before the attempts are 0, 0, 10, 20, 30 … ms.
		if took := time.Since(start); took != 10*time.Second || times != 46 {
			t.Errorf("it took %s and %d attempts, want 10 s and 46 with ever longer pauses", took, times)
		}
		w.wantNoReports(t)
	})
}

// Confirms of a checkout render one at a time: the others wait, for at most ten seconds.
func TestAConfirmWaitsForAnother(t *testing.T) {
	for _, tt := range []struct {
		rendering time.Duration
		code      checkout.Code
		waited    time.Duration
	}{
		{4 * time.Second, "", 4 * time.Second},
		{12 * time.Second, checkout.CodeBusy, 10 * time.Second},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			cmd := w.ready(t, "ORDER-1")
			w.meanwhile(func() { time.Sleep(tt.rendering) })
			var all sync.WaitGroup
			all.Go(func() {
				if done, err := w.confirm(t, cmd); err != nil || done.Already {
					t.Errorf("the first confirm: already %v, %v", done.Already, err)
				}
			})
			synctest.Wait()
			start := time.Now()
			second, err := w.confirm(t, cmd)
			code, _ := codeOf(err)
			if waited := time.Since(start); code != tt.code || err == nil && !second.Already || waited != tt.waited {
				t.Errorf("the second confirm: already %v, %v after %s; want code %q after %s", second.Already, err, waited, tt.code, tt.waited)
			}
			all.Wait()
		})
	}
}

// A repeat needs no processor and does not wait for another confirm.
func TestARepeatDoesNotWait(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		cmd := w.ready(t, "ORDER-1")
		w.confirms(t, cmd)
		w.processor.takes = time.Hour
		asked, start := w.processor.asked, time.Now()
		again, err := w.confirm(t, cmd)
		if took := time.Since(start); err != nil || !again.Already || took != 0 || w.processor.asked != asked {
			t.Errorf("already %v, %v after %s and %d questions; want at once", again.Already, err, took, w.processor.asked-asked)
		}
	})
}

// A store that hangs delays a caller by ten seconds, and a processor that hangs a confirm by five.
func TestAStoreThatHangsIsBusy(t *testing.T) {
	for name, call := range map[string]func(t *testing.T, w *world, cmd checkout.Confirm) error{
		"create": func(t *testing.T, w *world, _ checkout.Confirm) error {
			_, err := w.Create(t.Context(), caller, create("ORDER-1"))
			return err
		},
		"poll": func(t *testing.T, w *world, cmd checkout.Confirm) error {
			_, err := w.Checkout(t.Context(), caller, cmd.CheckoutID.Value)
			return err
		},
		"setup page": func(t *testing.T, w *world, cmd checkout.Confirm) error {
			_, err := w.SetupPage(t.Context(), cmd.Token.Value)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hangs := false
				w := newWorld(t, disturbing(func(ctx context.Context, method, _ string, call func(context.Context) error) error {
					if hangs && (method == "Checkout" || method == "FindCheckout") {
						<-ctx.Done()
						return ctx.Err()
					}
					return call(ctx)
				}))
				cmd := w.ready(t, "ORDER-1")
				hangs = true
				start := time.Now()
				err := call(t, w, cmd)
				expect(t, err, checkout.CodeBusy)
				if took := time.Since(start); took != 10*time.Second {
					t.Errorf("answered after %s, want 10 s", took)
				}
				reported := w.reports.take()
				if len(reported) != 1 || reported[0].Operation != service.OperationServe || reported[0].Severity != service.Warning ||
					!errors.Is(reported[0].Err, context.DeadlineExceeded) {
					t.Errorf("reported %+v, want one warning", reported)
				}
			})
		})
	}
}

// A source of randomness that fails is a failure, and nothing is stored.
func TestWithoutRandomnessNothingIsMade(t *testing.T) {
	source := &failing{}
	w := newWorld(t, func(c *service.Config) { source.Reader = c.Rand; c.Rand = source })
	cmd := w.ready(t, "ORDER-1")
	source.fail = true
	noID := create("ORDER-2")
	noID.RequestID = ""
	noIDConfirm := cmd
	noIDConfirm.RequestID = ""
	for name, call := range map[string]func() error{
		"a create":                         func() error { _, err := w.Create(t.Context(), caller, create("ORDER-2")); return err },
		"a create without a request id":    func() error { _, err := w.Create(t.Context(), caller, noID); return err },
		"a confirm, for its number":        func() error { _, err := w.confirm(t, cmd); return err },
		"a confirm that has no request id": func() error { _, err := w.confirm(t, noIDConfirm); return err },
	} {
		if err := call(); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v, want %v", name, err, errBroken)
		}
	}
	if r := w.records(t); len(r) != 1 || r["ORDER-1"].Agreement != nil {
		t.Errorf("%d checkouts on record, the first with agreement %v", len(r), r["ORDER-1"].Agreement)
	}
}

type failing struct {
	io.Reader
	fail bool
}

func (f *failing) Read(p []byte) (int, error) {
	if f.fail {
		return 0, errBroken
	}
	return f.Reader.Read(p)
}

// An operation goes on to its end when its caller hangs up.
func TestAnOperationGoesOnWhenItsCallerHangsUp(t *testing.T) {
	for _, tt := range []struct {
		name   string
		during string // the call of the store before which the caller hangs up; "" while an agreement is rendered
		call   func(ctx context.Context, w *world, cmd checkout.Confirm) error
		order  string
		status checkout.Status
		events int
	}{
		{"a create", "InsertCheckout", func(ctx context.Context, w *world, _ checkout.Confirm) error {
			_, err := w.Create(ctx, caller, create("ORDER-2"))
			return err
		}, "ORDER-2", checkout.SetupRequired, 1},
		{"a confirm", "", func(ctx context.Context, w *world, cmd checkout.Confirm) error {
			_, err := w.Confirm(ctx, caller, cmd.CheckoutID.Value, cmd)
			return err
		}, "ORDER-1", checkout.Confirmed, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			begun := false
			w := newWorld(t, disturbing(func(ctx context.Context, method, _ string, call func(context.Context) error) error {
				if begun && method == tt.during {
					hangUp()
				}
				return call(ctx)
			}))
			cmd := w.ready(t, "ORDER-1")
			begun = true
			w.meanwhile(hangUp)
			if err := tt.call(ctx, w, cmd); err != nil || ctx.Err() == nil {
				t.Errorf("%v, hung up: %v; want the operation done, and its caller gone", err, ctx.Err() != nil)
			}
			if r := w.records(t)[tt.order]; r.Checkout.Status != tt.status || len(r.Events()) != tt.events {
				t.Errorf("on record %s with %d events, want %s with %d", r.Checkout.Status, len(r.Events()), tt.status, tt.events)
			}
			w.wantDelivered(t, tt.order)
		})
	}
}
