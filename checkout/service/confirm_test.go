package service_test

import (
	"context"
	"io"
	"reflect"
	"slices"
	"strings"
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

// An agreement is rendered twice at most, and then goes without a PDF: its repeat says so too.
func TestAnAgreementIsRenderedTwiceAtMost(t *testing.T) {
	for fails := range 3 {
		inWorld(t, func(t *testing.T, w *world) {
			cmd := w.ready(t, "ORDER-1")
			w.printer.fail = fails
			done := w.confirms(t, cmd)
			if done.Checkout.Status != checkout.Confirmed || done.Checkout.Confirmation.PDFGenerated() != (fails < 2) || w.printer.printed != min(fails+1, 2) {
				t.Errorf("after %d failures: %+v after %d renderings", fails, done.Checkout.Confirmation, w.printer.printed)
			}
			if got := slices.Contains(w.receiver.names(), events.AgreementGenerated); got != (fails < 2) {
				t.Errorf("after %d failures agreement.generated is sent: %t", fails, got)
			}
			if reported := w.reports.take(); len(reported) != fails || fails > 0 && (reported[fails-1].Operation != service.OperationPrint ||
				reported[fails-1].Severity != service.Error || reported[fails-1].Attempt != fails) {
				t.Errorf("after %d failures: reported %+v", fails, reported)
			}
			if again := w.confirms(t, cmd); !again.Already || again.Checkout.Confirmation != done.Checkout.Confirmation {
				t.Errorf("a repeat: %+v, want %+v", again.Checkout.Confirmation, done.Checkout.Confirmation)
			}
		})
	}
}

func TestABusyPrinterIsAskedAgainByTheSameConfirm(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		cmd := w.ready(t, "ORDER-1")
		w.printer.busy = true
		_, err := w.confirm(t, cmd)
		expect(t, err, checkout.CodeBusy)
		w.printer.busy = false
		if done := w.confirms(t, cmd); done.Already || !done.Checkout.Confirmation.PDFGenerated() {
			t.Errorf("sent again: %+v; want it confirmed with its PDF", done.Checkout.Confirmation)
		}
	})
}

func TestAConfirmNumbersTheAgreementByTheNewZealandYear(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) { // the bubble's clock starts at midnight UTC, 2000-01-01
		time.Sleep(time.Until(time.Date(2026, 12, 31, 11, 0, 0, 0, time.UTC))) // midnight in Auckland
		number := w.confirmed(t, "ORDER-1").Confirmation.AgreementNumber
		if !strings.HasPrefix(number, "PPA-2027-") || len(number) != len("PPA-2027-0000000000C") || agreement.Mistyped(number) {
			t.Errorf("number %q; want PPA-2027- and eleven characters, the last of them right", number)
		}
	})
}

func TestAnAgreementKeepsTheTermsAndTheColourOfItsMoment(t *testing.T) {
	terms := agreement.Terms{
		Lender: agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay, Wellington"},
		Blocks: []agreement.Block{{Title: "Hardship", Text: "Ask the lender."}},
	}
	w := newWorld(t, func(c *service.Config) { c.Terms = terms })
	branded := kowhai()
	branded.Provider.Branding.PrimaryColour = "#1f6f54"
	w.configure(t, branded)
	w.confirmed(t, "ORDER-1")
	w.config.Terms = agreement.Terms{}
	w.configure(t, kowhai())
	w.again(t).confirmed(t, "ORDER-2")
	on := w.records(t)
	if a := on["ORDER-1"].Agreement; !reflect.DeepEqual(a.Terms, terms) || a.Provider.Colour != "#1f6f54" {
		t.Errorf("the first agreement has terms %+v and colour %q, want those of its confirm", a.Terms, a.Provider.Colour)
	}
	if a := on["ORDER-2"].Agreement; !a.Terms.IsZero() || a.Provider.Colour != "" {
		t.Errorf("the second agreement has terms %+v and colour %q, want none", a.Terms, a.Provider.Colour)
	}
}

// A confirm renders its agreement outside of any transaction. The final decision takes into account what happened
// meanwhile: these are the cases.

// meanwhile calls f once while an agreement is rendered.
func (w *world) meanwhile(f func()) {
	var began atomic.Bool
	w.printer.during = func(agreement.Agreement) {
		if !began.Swap(true) {
			f()
		}
	}
}

func TestWhatChangesMeanwhileRefusesAConfirm(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*checkout.Checkout)
		code   checkout.Code
	}{
		"the mandate dies":      {func(c *checkout.Checkout) { c.Setup.Mandate = checkout.MandateCancelled }, checkout.CodeSetupIncomplete},
		"the mandate is paused": {func(c *checkout.Checkout) { c.Setup.Mandate = "paused" }, checkout.CodeSetupIncomplete},
		"the checkout is cancelled": {func(c *checkout.Checkout) { c.Status, c.End.At = checkout.Cancelled, time.Now() },
			checkout.CodeCancelled},
		"the setup pair is renewed": {func(c *checkout.Checkout) {
			next := c.Latest()
			next.Epoch++
			c.Tokens = append(c.Tokens, next)
		}, checkout.CodeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			cmd := w.ready(t, "ORDER-1")
			w.meanwhile(func() { w.change(t, "ORDER-1", tt.change) })
			_, err := w.confirm(t, cmd)
			expect(t, err, tt.code)
			if r := w.records(t)["ORDER-1"]; r.Agreement != nil || r.Document > 0 || len(r.Events()) != 1 || r.Checkout.Status == checkout.Confirmed {
				t.Errorf("on record %s with %d events and agreement %v", r.Checkout.Status, len(r.Events()), r.Agreement)
			}
		})
	}
}

// An agreement number that is taken within the provider is drawn again, and a confirm ends even if every number is.
func TestATakenNumberIsDrawnAgain(t *testing.T) {
	same := &repeating{}
	inWorld(t, func(t *testing.T, w *world) {
		same.repeats(8)
		first := w.confirmed(t, "ORDER-1")
		cmd := w.ready(t, "ORDER-2")
		w.meanwhile(func() { same.repeats(0) }) // the first number of the second confirm is that of the first
		second := w.confirms(t, cmd).Checkout
		if a, b := first.Confirmation.AgreementNumber, second.Confirmation.AgreementNumber; a == b || w.printer.printed != 3 {
			t.Errorf("numbers %s and %s after %d renderings; want two, and three renderings", a, b, w.printer.printed)
		}
		same.repeats(8)
		cmd = w.ready(t, "ORDER-3")
		start := time.Now()
		_, err := w.confirm(t, cmd)
		expect(t, err, checkout.CodeBusy)
		if took := time.Since(start); took != 20*time.Second || w.printer.printed > 100 {
			t.Errorf("it took %s and %d renderings, want 20 s and a pause between them", took, w.printer.printed)
		}
	}, func(c *service.Config) { same.Reader = c.Rand; c.Rand = same })
}

// repeating is a source of randomness in which reads of one size are always the same.
type repeating struct {
	io.Reader
	mu   sync.Mutex
	size int // 0: no read is
}

func (r *repeating) repeats(size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size = size
}

func (r *repeating) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(p) == r.size {
		clear(p)
		return len(p), nil
	}
	return r.Reader.Read(p)
}

// Confirms of a checkout render one at a time: the others wait, for at most ten seconds.
func TestAConfirmWaitsForAnother(t *testing.T) {
	for rendering, code := range map[time.Duration]checkout.Code{4 * time.Second: "", 12 * time.Second: checkout.CodeBusy} {
		inWorld(t, func(t *testing.T, w *world) {
			cmd := w.ready(t, "ORDER-1")
			w.meanwhile(func() { time.Sleep(rendering) })
			var all sync.WaitGroup
			all.Go(func() {
				if done := w.confirms(t, cmd); done.Already {
					t.Error("the first confirm is a repeat")
				}
			})
			synctest.Wait()
			start := time.Now()
			second, err := w.confirm(t, cmd)
			if waited := time.Since(start); checkout.Refused(err, code) != (code != "") || err == nil && !second.Already || waited != min(rendering, 10*time.Second) {
				t.Errorf("the second confirm: already %v, %v after %s; want code %q", second.Already, err, waited, code)
			}
			all.Wait()
		})
	}
}

// A store that hangs delays a caller by ten seconds, and a confirm, which also renders, by twenty.
func TestAStoreThatHangsIsBusy(t *testing.T) {
	hanging := false
	inWorld(t, func(t *testing.T, w *world) {
		cmd := w.ready(t, "ORDER-1")
		hanging = true
		defer func() { hanging = false }()
		for name, call := range map[string]func() error{
			"create":     func() error { _, err := w.Create(t.Context(), caller, create("ORDER-1")); return err },
			"poll":       func() error { _, err := w.Checkout(t.Context(), caller, cmd.CheckoutID.Value); return err },
			"confirm":    func() error { _, err := w.confirm(t, cmd); return err },
			"setup page": func() error { _, err := w.SetupPage(t.Context(), cmd.Token.Value); return err },
			"list":       func() error { _, err := w.Events(t.Context(), caller, checkout.List{}); return err },
		} {
			for _, cached := range []bool{true, false} { // the configuration
				if !cached {
					w.clock.forward(time.Minute)
				} else {
					hanging = false
					w.polls(t, cmd.CheckoutID.Value)
					hanging = true
				}
				start, limit := time.Now(), 10*time.Second
				if name == "confirm" && cached {
					limit = 20 * time.Second
				}
				expect(t, call(), checkout.CodeBusy)
				if took := time.Since(start); took != limit {
					t.Errorf("%s, configuration cached %v: answered after %s, want %s", name, cached, took, limit)
				}
				w.wantReport(t, service.OperationServe, service.Warning, context.DeadlineExceeded.Error())
			}
		}
	}, disturbing(func(ctx context.Context, _ string, call func(context.Context) error) error {
		if hanging {
			return hangs(ctx)
		}
		return call(ctx)
	}))
}

// The answer to a commit is lost: the call is 503, and the same call again is a replay, or a repeat.
func TestAnUnknownOutcomeIsFoundByTheSameCall(t *testing.T) {
	lost, stored := false, false
	inWorld(t, func(t *testing.T, w *world) {
		for _, order := range []string{"ORDER-2", "ORDER-1"} {
			lost, stored = true, order == "ORDER-1"
			_, err := w.Create(t.Context(), caller, create(order))
			expect(t, err, checkout.CodeBusy)
			w.wantReport(t, service.OperationServe, service.Warning, ports.ErrUnknown.Error())
		}
		if o := w.opened(t, "ORDER-1"); !o.Replay {
			t.Error("a create that was stored is made again")
		}
		if o := w.opened(t, "ORDER-2"); o.Replay {
			t.Error("a create that was not stored is a replay")
		}
		cmd := w.ready(t, "ORDER-1")
		lost = true
		_, err := w.confirm(t, cmd)
		expect(t, err, checkout.CodeBusy)
		if done := w.confirms(t, cmd); !done.Already || len(w.records(t)["ORDER-1"].Events()) != 3 {
			t.Errorf("a confirm that was stored: %+v", done)
		}
		w.clock.forward(time.Minute)
		w.runFor(t, 15*time.Second)
		w.wantDelivered(t, "ORDER-1")
	}, disturbing(func(ctx context.Context, method string, call func(context.Context) error) error {
		if !lost || method != "InsertCheckout" && method != "UpdateCheckout" {
			return call(ctx)
		}
		if lost = false; !stored {
			return ports.ErrUnknown
		}
		if err := call(ctx); err != nil {
			return err
		}
		return ports.ErrUnknown
	}))
}

// An operation goes on to its end when its caller hangs up.
func TestAnOperationGoesOnWhenItsCallerHangsUp(t *testing.T) {
	store, change := newFaulty()
	inWorld(t, func(t *testing.T, w *world) {
		cmd := w.ready(t, "ORDER-1")
		for _, tt := range []struct {
			call   func(ctx context.Context) error
			order  string
			status checkout.Status
			events int
		}{
			{func(ctx context.Context) error { _, err := w.Create(ctx, caller, create("ORDER-2")); return err },
				"ORDER-2", checkout.SetupRequired, 1},
			{func(ctx context.Context) error {
				_, err := w.Confirm(ctx, caller, cmd.CheckoutID.Value, cmd)
				return err
			},
				"ORDER-1", checkout.Confirmed, 3},
			{func(ctx context.Context) error {
				_, err := w.Cancel(ctx, caller, w.records(t)["ORDER-2"].Checkout.ID, checkout.Cancel{Reason: checkout.Some("x")})
				return err
			}, "ORDER-2", checkout.Cancelled, 1},
		} {
			ctx, hangUp := context.WithCancel(t.Context())
			store.arm(func(method string, _ int) error {
				if method == "InsertCheckout" || method == "UpdateCheckout" {
					hangUp()
				}
				return nil
			})
			if err := tt.call(ctx); err != nil || ctx.Err() == nil {
				t.Errorf("%s: %v, hung up: %v; want the operation done, and its caller gone", tt.order, err, ctx.Err() != nil)
			}
			if r := w.records(t)[tt.order]; r.Checkout.Status != tt.status || len(r.Events()) != tt.events {
				t.Errorf("on record %s with %d events, want %s with %d", r.Checkout.Status, len(r.Events()), tt.status, tt.events)
			}
			w.wantDelivered(t, tt.order)
		}
	}, change)
}
