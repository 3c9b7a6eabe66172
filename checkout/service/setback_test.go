package service_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// finder is a processor that knows what kept a payer from finishing.
type finder struct {
	ports.Processor
	kept  checkout.Setback
	fails func(context.Context) error // nil for an answer
	asked []checkout.SetupQuery
}

func (p *finder) Setback(ctx context.Context, q checkout.SetupQuery) (checkout.Setback, error) {
	p.asked = append(p.asked, q)
	if p.fails != nil {
		return p.kept, p.fails(ctx)
	}
	return p.kept, nil
}

// telling returns a world whose processor is a finder.
func telling(t *testing.T, kept checkout.Setback) (*world, *finder) {
	t.Helper()
	p := &finder{kept: kept}
	return newWorld(t, func(c *service.Config) { p.Processor, c.Processor = c.Processor, p }), p
}

// The payer who comes back from the bank sees what the processor reports, even without a poll in between, and what kept the payer from
// finishing.
func TestTheSetupPageShowsWhatTheProcessorSays(t *testing.T) {
	for _, tt := range []struct {
		name  string
		says  checkout.Observation
		state checkout.PageState
		want  checkout.LastTry
		asked int
	}{
		{"the payer has not finished", notBegun, checkout.PageOpen, checkout.TryNotServed, 1},
		{"it was cancelled", checkout.Observation{BillingRequest: checkout.BillingCancelled}, checkout.PageOpen, checkout.TryCancelled, 1},
		{"the processor has not finished", checkout.Observation{BillingRequest: checkout.BillingFulfilling}, checkout.PageSettling, checkout.TryNone, 0},
		{"it is set up", fulfilled, checkout.PageDone, checkout.TryNone, 0},
		{"the mandate died", mandate(checkout.MandateFailed), checkout.PageOpen, checkout.TryMandateFailed, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, p := telling(t, checkout.SetbackPlace)
			o := w.begun(t, "ORDER-1")
			before := w.records(t)
			w.processor.set(tt.says)
			for range 3 { // answers are kept for two seconds
				page := w.page(t, o.Token)
				if page.State != tt.state || page.LastTry != tt.want || page.Checkout.Setup.BillingRequest != tt.says.BillingRequest {
					t.Errorf("page %q, last try %q with %+v; want %q and %q", page.State, page.LastTry, page.Checkout.Setup.Observation, tt.state, tt.want)
				}
			}
			if after := w.records(t); !reflect.DeepEqual(before, after) {
				t.Errorf("the page stored\n%+v, it was\n%+v", after, before)
			}
			if len(p.asked) != tt.asked {
				t.Errorf("three pages asked %d times what kept the payer, want %d", len(p.asked), tt.asked)
			}
			for _, q := range p.asked {
				if q.Account.ProviderCode != "KOWHAI" || q.Setup.BillingRequestID == "" || q.Purpose != checkout.ForPayer {
					t.Errorf("asked with %+v", q)
				}
			}
			if _, err := w.Checkout(t.Context(), caller, o.Checkout.ID); err != nil || len(p.asked) != tt.asked {
				t.Errorf("a poll asked too: %d times, %v", len(p.asked), err)
			}
		})
	}
}

func TestTheSetupPageSaysLessWhereTheSetbackIsNotKnown(t *testing.T) {
	for name, fails := range map[string]func(context.Context) error{
		"it fails":  func(context.Context) error { return errors.New("connection refused") },
		"it panics": func(context.Context) error { panic("out of range") },
		"it hangs":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, p := telling(t, checkout.SetbackPlace)
				o := w.begun(t, "ORDER-1")
				p.fails = fails
				start := time.Now()
				page := w.page(t, o.Token)
				if took := time.Since(start); page.LastTry != checkout.TryUnfinished || took > time.Second {
					t.Errorf("last try %q after %s, want %q within a second", page.LastTry, took, checkout.TryUnfinished)
				}
				if reported := w.reports.take(); len(reported) != 1 || reported[0].Operation != service.OperationObserve ||
					reported[0].Severity != service.Warning {
					t.Errorf("reported %+v, want one warning", reported)
				}
			})
		})
	}
}

// The payer may have finished while the processor cannot be asked: then the page must not say that nothing is set up.
func TestTheSetupPageClaimsNothingWhileTheProcessorIsDown(t *testing.T) {
	w, _ := telling(t, checkout.SetbackPlace)
	o := w.opened(t, "ORDER-1")
	if page := w.page(t, o.Token); page.LastTry != checkout.TryNone {
		t.Errorf("before the first try the page says %q", page.LastTry)
	}
	o = w.begun(t, "ORDER-2")
	w.processor.err = errors.New("connection refused")
	if page := w.page(t, o.Token); page.LastTry != checkout.TryUnknown {
		t.Errorf("while the processor is down the last try is %q, want %q", page.LastTry, checkout.TryUnknown)
	}
	w.reports.take()
}

func TestTheLastTryIsSaidOfALinkThatExpiredAndNotOfAProviderThatIsOff(t *testing.T) {
	w, _ := telling(t, checkout.NoSetback)
	o := w.begun(t, "ORDER-1")
	w.clock.forward(8 * 24 * time.Hour)
	if page := w.page(t, o.Token); page.State != checkout.PageExpired || page.LastTry != checkout.TryUnfinished {
		t.Errorf("page %q, last try %q; want an expired link, and that the payer has not finished", page.State, page.LastTry)
	}
	w.clock.forward(2 * time.Second)
	w.processor.err = errors.New("connection refused")
	if page := w.page(t, o.Token); page.State != checkout.PageExpired || page.LastTry != checkout.TryUnknown {
		t.Errorf("while the processor is down: page %q, last try %q; want %q", page.State, page.LastTry, checkout.TryUnknown)
	}
	w.reports.take()
	off := kowhai()
	off.Provider.Active = false
	w.configure(t, off)
	if page := w.page(t, o.Token); page.State != checkout.PageNotEnabled || page.LastTry != checkout.TryNone {
		t.Errorf("of a provider that is off: page %q, last try %q; want none", page.State, page.LastTry)
	}
}
