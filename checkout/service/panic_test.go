package service_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
)

const panicked = "the adapter is broken"

// summary is the part of a report that is the same in every run.
type summary struct {
	operation service.Operation
	severity  service.Severity
	attempt   int
	event     bool // it names an event
}

func (w *world) summaries(t *testing.T, why string) (all []summary) {
	t.Helper()
	for _, f := range w.reports.take() {
		all = append(all, summary{f.Operation, f.Severity, f.Attempt, f.EventID != ""})
		if !strings.Contains(f.Err.Error(), why) && f.Operation != service.OperationGiveUp {
			t.Errorf("reported %+v, want %q", f, why)
		}
	}
	return all
}

// Panics of a store are among the faults of TestAFailureOfTheStoreIsReportedAndRetried.
func TestAPanicInAPortIsAFailure(t *testing.T) {
	const warning, severe = service.Warning, service.Error
	observe := summary{service.OperationObserve, warning, 0, false}
	send := func(attempt int) summary { return summary{service.OperationSend, warning, attempt, true} }
	givenUp := summary{service.OperationGiveUp, severe, 0, true}
	sent := []summary{send(1), send(2), send(3), givenUp}
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, w *world) error
		code checkout.Code // "" if it succeeds
		fail bool          // with an error that is no refusal
		want []summary
	}{
		{"the processor, when a setup is begun", func(t *testing.T, w *world) error {
			o := w.opened(t, "ORDER-1")
			w.processor.panics = panicked
			_, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{})
			return err
		}, "", true, nil},
		{"the processor, in a poll", func(t *testing.T, w *world) error {
			cmd := w.ready(t, "ORDER-1")
			w.processor.panics = panicked
			c, err := w.Checkout(t.Context(), caller, cmd.CheckoutID.Value)
			if !c.SetupComplete() {
				t.Error("the poll is not answered from the record")
			}
			return err
		}, "", false, []summary{observe}},
		{"the processor, for the setup page", func(t *testing.T, w *world) error {
			o := w.opened(t, "ORDER-1")
			w.setUp(t, o.Token)
			w.processor.panics = panicked
			page, err := w.ReturnPage(t.Context(), o.Token)
			if page.State != checkout.PageDone {
				t.Errorf("page %q, want the record's", page.State)
			}
			return err
		}, "", false, []summary{observe}},
		{"the processor, in a confirm", func(t *testing.T, w *world) error {
			cmd := w.ready(t, "ORDER-1")
			w.processor.panics = panicked
			_, err := w.confirm(t, cmd)
			return err
		}, checkout.CodeBusy, false, []summary{{service.OperationObserve, severe, 0, false}}},
		{"the processor, in the sweep", func(t *testing.T, w *world) error {
			o := w.opened(t, "ORDER-1")
			if _, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{}); err != nil {
				return err
			}
			w.processor.panics = panicked
			w.runFor(t, 100*time.Second)
			return nil
		}, "", false, []summary{observe}},
		{"the processor, when its readiness is asked", func(t *testing.T, w *world) error {
			w.processor.panics = panicked
			if h := w.Health(t.Context()); h.Processor == nil || h.Store != nil {
				t.Errorf("health %+v, want the processor alone not to be ready", h)
			}
			return nil
		}, "", false, []summary{{service.OperationReady, severe, 0, false}}},
		{"the printer", func(t *testing.T, w *world) error {
			cmd := w.ready(t, "ORDER-1")
			w.printer.panics = panicked
			done, err := w.confirm(t, cmd)
			if done.Checkout.Confirmation.PDFGenerated() {
				t.Error("a PDF is on record")
			}
			return err
		}, "", false, []summary{{service.OperationPrint, severe, 1, false}, {service.OperationPrint, severe, 2, false}}},
		{"the sender, in a request", func(t *testing.T, w *world) error {
			w.receiver.answer = func(events.Delivery, int) error { panic(panicked) }
			_, err := w.Create(t.Context(), caller, create("ORDER-1"))
			return err
		}, "", false, sent},
		{"the sender, in recovery", func(t *testing.T, w *world) error {
			w.crashed(t, "ORDER-1")
			w.receiver.answer = func(events.Delivery, int) error { panic(panicked) }
			w.runFor(t, 30*time.Second)
			return nil
		}, "", false, sent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				err := tt.do(t, w)
				code, refused := codeOf(err)
				if code != tt.code || (err != nil && !refused) != tt.fail || tt.fail && !strings.Contains(err.Error(), panicked) {
					t.Errorf("%v; want code %q, or a failure: %v", err, tt.code, tt.fail)
				}
				if got := w.summaries(t, panicked); !slices.Equal(got, tt.want) {
					t.Errorf("reported %+v, want %+v", got, tt.want)
				}
			})
		})
	}
}

// aboutOf returns how every failure names a checkout.
func aboutOf(c checkout.Checkout) checkout.About {
	return checkout.About{CheckoutID: c.ID, OrderID: c.OrderID, ProviderCode: c.ProviderCode}
}

// A failed attempt is reported as a warning with its number and event; a failed event is reported once, as an error.
func TestFailedDeliveriesAreReported(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.receiver.answer = func(_ events.Delivery, attempt int) error {
			if attempt < 3 {
				return errRefused
			}
			return nil
		}
		o := w.opened(t, "ORDER-1")
		id := w.receiver.latest().Event.ID
		var got []service.Failure
		for _, f := range w.reports.take() {
			f.Err = nil
			got = append(got, f)
		}
		warning := func(attempt int) service.Failure {
			return service.Failure{Operation: service.OperationSend, Severity: service.Warning, About: aboutOf(o.Checkout), EventID: id, Attempt: attempt}
		}
		if want := []service.Failure{warning(1), warning(2)}; !slices.Equal(got, want) {
			t.Errorf("an event that is delivered at last: reported %+v, want %+v", got, want)
		}

		w.receiver.answer = func(events.Delivery, int) error { return errRefused }
		second := w.opened(t, "ORDER-2")
		reported := w.reports.take()
		if len(reported) != 4 {
			t.Fatalf("%d reports, want three attempts and that the event is given up", len(reported))
		}
		last := reported[3]
		if want := "event checkout.created failed 3 times"; last.Operation != service.OperationGiveUp || last.Severity != service.Error ||
			last.EventID != w.receiver.latest().Event.ID || last.About != aboutOf(second.Checkout) || last.Err.Error() != want {
			t.Errorf("reported %+v, want an error that says %q", last, want)
		}
		w.runFor(t, time.Minute)
		w.wantNoReports(t)
	})
}

// The service may go on after its caller has gone: the context that reports and hooks get keeps the request's values.
func TestReportsCarryTheContextOfTheirRequest(t *testing.T) {
	type key struct{}
	var got any
	w := newWorld(t, func(c *service.Config) {
		c.Report = func(ctx context.Context, _ service.Failure) { got = ctx.Value(key{}) }
	})
	w.printer.fail = 1
	cmd := w.ready(t, "ORDER-1")
	ctx := context.WithValue(t.Context(), key{}, "req_7")
	if _, err := w.Confirm(ctx, caller, cmd.CheckoutID.Value, cmd); err != nil || got != "req_7" {
		t.Errorf("the report of a request has the value %v, %v; want req_7", got, err)
	}
}
