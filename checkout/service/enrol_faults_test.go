package service_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
)

func TestWhileTheCRMIsAwayEverythingElseGoesOn(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		opened := w.opened(t, "OPEN")
		cmd := w.ready(t, "READY")
		w.sent(t, cmd, false)
		waiting := w.ready(t, "WAITING")
		stop := w.background(t)
		c.disturb(fails, nil)
		for n := range 600 { // ten minutes
			if h := w.Health(t.Context()); n > 0 && (h.CRM == nil || !h.Serving()) {
				t.Fatalf("health %+v", h)
			}
			var err error
			d := took(func() { _, err = w.Create(t.Context(), caller, create(fmt.Sprint("NEW-", n))) })
			expect(t, err, checkout.CodeBusy)
			if d > 10*time.Second || n > 10 && d > time.Second {
				t.Fatalf("create %d took %v", n, d)
			}
			if _, err := w.confirm(t, waiting); err == nil {
				t.Fatal("a confirm succeeds without the CRM")
			}
			if _, err := w.Checkout(t.Context(), caller, opened.Checkout.ID); err != nil {
				t.Fatalf("a poll: %v", err)
			}
			if page, err := w.SetupPage(t.Context(), opened.Token); err != nil || page.State != checkout.PageOpen {
				t.Fatalf("the payer's page: %+v, %v", page.State, err)
			}
			if o := w.opened(t, "OPEN"); !o.Replay {
				t.Fatal("a replay is new")
			}
			w.sent(t, cmd, true)
			time.Sleep(time.Second)
		}
		tried := c.made()
		if limit := 700 + 100; tried > limit*2 { // a probe a second, and one of readiness
			t.Errorf("the CRM was called %d times in ten minutes", tried)
		}
		if b := w.backlog(t, checkout.JobOpen); b.Waiting > 20 || b.Waiting > 0 && b.Age < 9*time.Minute {
			t.Errorf("the backlog is %+v", b)
		}
		c.disturb(nil, nil)
		time.Sleep(60 * time.Second)
		if b := w.backlog(t, checkout.JobOpen); b.Waiting != 0 {
			t.Errorf("%d enrolments wait a minute after the CRM is back", b.Waiting)
		}
		w.sent(t, waiting, false)
		stop()
	})
}

// The CRM keeps what a store has lost that was restored to an earlier moment: the agreement is the same, and has a document if it had.
func TestARestoredStoreLeadsToTheSameRecords(t *testing.T) {
	for _, printed := range []bool{true, false} {
		inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
			restored := newWorld(t, c.use)
			if w.printer.fail = 2; printed {
				w.printer.fail, restored.printer.fail = 0, 2
			}
			first, err := w.confirm(t, w.ready(t, "ORDER-1"))
			time.Sleep(time.Hour)
			again := restored.ready(t, "ORDER-1")
			if printed { // the document is not given up
				_, err := restored.confirm(t, again)
				expect(t, err, checkout.CodeBusy)
			}
			second, errAgain := restored.confirm(t, again)
			want, got, has := first.Checkout, second.Checkout, restored.records(t)["ORDER-1"].Document != nil
			want.Confirmation.RequestID = got.Confirmation.RequestID
			if err != nil || errAgain != nil || got.Records != want.Records || got.Confirmation != want.Confirmation || has != printed || got.Confirmation.PDFGenerated() != printed {
				t.Errorf("printed: %v; confirmed again as %+v, %v with a document: %v; want %+v", printed, got.Confirmation, errAgain, has, want.Confirmation)
			}
			if enrolled := c.Enrolments(); len(enrolled) != 1 || enrolled[0].Completions != 1 {
				t.Errorf("the CRM has %+v", enrolled)
			}
		})
	}
}

// A provider's receiver that hangs must not keep the enrolments of others waiting.
func TestAReceiverThatHangsDelaysNoEnrolments(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		for n := range 40 {
			c.disturb(nth(1, ends), nil)
			dies(func() { w.Create(t.Context(), caller, create(fmt.Sprint("ORDER-", n))) })
		}
		c.disturb(nil, nil)
		w.receiver.answer = func(events.Delivery, int) error { time.Sleep(2 * time.Second); return errRefused }
		time.Sleep(15 * time.Second) // the leases
		began := time.Now()
		w.runFor(t, 3*time.Second)
		if b := w.backlog(t, checkout.JobOpen); b.Waiting != 0 {
			t.Errorf("%d enrolments wait after %v", b.Waiting, time.Since(began))
		}
	})
}

// A look whose outcome is not known is no agreement on record.
func TestALookThatFailsReportsNoAgreement(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		cmd := w.ready(t, "ORDER-1")
		w.reports.take()
		c.disturb(fails, nil)
		_, err := w.confirm(t, cmd)
		expect(t, err, checkout.CodeBusy)
		for _, f := range w.reports.take() {
			if f.Severity == service.Error {
				t.Errorf("reported %v", f.Err)
			}
		}
	})
}

// An agreement that another process concludes meanwhile is on record, and was not lost.
func TestAnAgreementThatAnotherProcessConcludesIsNotReportedAsLost(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		cmd := w.ready(t, "ORDER-1")
		other := newWorld(t, c.use, func(config *service.Config) { config.Store, config.Processor = w.config.Store, w.config.Processor })
		w.reports.take()
		c.disturb(once(func(context.Context) error { other.sent(t, cmd, false); return nil }), nil)
		w.sent(t, cmd, true)
		for _, f := range w.reports.take() {
			t.Errorf("reported %v", f.Err)
		}
	})
}

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

// While creates are refused because the CRM did not answer, the service is not ready, whatever the CRM would answer by now. The call
// that finds out is the scheduler's.
func TestNotReadyUntilACallOfTheCRMSucceeds(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		ready := func(when string, want bool) {
			t.Helper()
			time.Sleep(time.Second)
			if got := w.Readiness(t.Context()).ReadyForAPICalls; got != want {
				t.Errorf("%s: ready for API calls = %v, want %v", when, got, want)
			}
		}
		ready("at first", true)
		c.disturb(fails, nil)
		ready("the CRM is away", false)
		for n := range 5 {
			_, err := w.Create(t.Context(), caller, create(fmt.Sprint("ORDER-", n)))
			expect(t, err, checkout.CodeBusy)
		}
		c.disturb(nil, nil)
		ready("the CRM is back, and has not answered a call", false)
		stop := w.background(t)
		defer stop()
		time.Sleep(time.Second)
		ready("the CRM has answered a call", true)
		w.reports.take()
	})
}

// A call of the CRM ends while its process has the lease: another process would call beside it otherwise.
func TestACallOfTheCRMEndsBeforeItsLease(t *testing.T) {
	const lease, toSettle = 10 * time.Second, 2 * time.Second
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		calls := 0
		c.disturb(func(ctx context.Context) error {
			calls++
			if end, limited := ctx.Deadline(); !limited || time.Until(end) > lease-toSettle {
				t.Errorf("call %d has %s, limited %v; want at most %s", calls, time.Until(end), limited, lease-toSettle)
			}
			return errLostAnswer // so that the scheduler calls too
		}, nil)
		_, err := w.Create(t.Context(), caller, create("ORDER-1"))
		expect(t, err, checkout.CodeBusy)
		of := calls
		w.runFor(t, time.Minute)
		if of == 0 || calls == of {
			t.Errorf("void: %d calls of the create, and %d of the scheduler", of, calls-of)
		}
	})
}
