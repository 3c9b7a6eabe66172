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

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// faulty disturbs a store: one call fails.
type faulty struct {
	mu    sync.Mutex
	calls []string       // every call since arm, as method and number: "Lease 2"
	count map[string]int // by method
	at    string         // the call that fails; "" if every call succeeds
	fail  func() error
}

// newFaulty returns a disturbance that fails nothing yet, and a change that has the service's store disturbed by it.
func newFaulty() (*faulty, func(*service.Config)) {
	f := &faulty{}
	return f, disturbing(f.through)
}

// arm makes the named call fail, and counts calls from now on.
func (f *faulty) arm(at string, fail func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.count, f.at, f.fail = nil, make(map[string]int), at, fail
}

// called returns the calls since arm.
func (f *faulty) called() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

func (f *faulty) through(ctx context.Context, method, _ string, call func(context.Context) error) error {
	f.mu.Lock()
	if f.count == nil {
		f.count = make(map[string]int)
	}
	f.count[method]++
	name := fmt.Sprint(method, " ", f.count[method])
	f.calls = append(f.calls, name)
	fail := f.fail
	if f.at != name {
		fail = nil
	}
	f.mu.Unlock()
	if fail != nil {
		if err := fail(); err != nil {
			return err
		}
	}
	return call(ctx)
}

var errBroken = errors.New("the disk is broken")

// The ways in which a call of a store can fail.
var faults = map[string]func() error{
	"busy":   func() error { return fmt.Errorf("wait for the lock: %w", ports.ErrBusy) },
	"broken": func() error { return fmt.Errorf("write: %w", errBroken) },
	"panics": func() error { panic(errBroken.Error()) },
}

// operation is something that the service does with its store.
type operation struct {
	name string
	// prepare brings the world to the state before the operation, and returns the operation. It can be run again.
	prepare func(t *testing.T, w *world) (run func() error)
	// background: failures are only reported, since there is no caller.
	background bool
	// events are the events on record at the end, all of them delivered.
	events []events.Name
}

func operations() []operation {
	created := []events.Name{events.CheckoutCreated}
	confirmed := []events.Name{events.CheckoutCreated, events.CheckoutConfirmed, events.AgreementGenerated}
	// begun opens a checkout whose payer has gone on to the bank, and finished there.
	begun := func(t *testing.T, w *world) service.Opened {
		o := w.opened(t, "ORDER-1")
		w.presses(t, o)
		w.processor.set(fulfilled)
		return o
	}
	return []operation{
		{name: "create", events: created, prepare: func(t *testing.T, w *world) func() error {
			return func() error { _, err := w.Create(t.Context(), caller, create("ORDER-1")); return err }
		}},
		{name: "create of an order that was seen", events: created, prepare: func(t *testing.T, w *world) func() error {
			faulty := create("ORDER-1")
			faulty.CourseCode = checkout.Some("NOTHING")
			_, err := w.Create(t.Context(), caller, faulty)
			expect(t, err, checkout.CodeValidation)
			return func() error { _, err := w.Create(t.Context(), caller, create("ORDER-1")); return err }
		}},
		{name: "create in a process that never saw the order", events: created, prepare: func(t *testing.T, w *world) func() error {
			w.opened(t, "ORDER-1")
			next := w.again(t)
			return func() error { _, err := next.Create(t.Context(), caller, create("ORDER-1")); return err }
		}},
		{name: "create under another key", events: created, prepare: func(t *testing.T, w *world) func() error {
			w.opened(t, "ORDER-1")
			cmd := create("ORDER-1")
			cmd.IdempotencyKey = checkout.Some("key-1")
			return func() error { _, err := w.Create(t.Context(), caller, cmd); return err }
		}},
		{name: "create that renews the setup pair", events: created, prepare: func(t *testing.T, w *world) func() error {
			w.opened(t, "ORDER-1")
			w.clock.forward(6*24*time.Hour + time.Hour)
			return func() error { _, err := w.Create(t.Context(), caller, create("ORDER-1")); return err }
		}},
		{name: "poll", events: created, prepare: func(t *testing.T, w *world) func() error {
			o := begun(t, w)
			return func() error { _, err := w.Checkout(t.Context(), caller, o.Checkout.ID); return err }
		}},
		{name: "setup page", events: created, prepare: func(t *testing.T, w *world) func() error {
			o := begun(t, w)
			return func() error { _, err := w.SetupPage(t.Context(), o.Token); return err }
		}},
		{name: "begin of a setup", events: created, prepare: func(t *testing.T, w *world) func() error {
			o := w.opened(t, "ORDER-1")
			return func() error { _, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{}); return err }
		}},
		{name: "begin of a setup that the payer has finished", events: created, prepare: func(t *testing.T, w *world) func() error {
			o := begun(t, w)
			return func() error { _, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{}); return err }
		}},
		{name: "confirm", events: confirmed, prepare: func(t *testing.T, w *world) func() error {
			o := begun(t, w)
			return func() error { _, err := w.confirm(t, confirm(o)); return err }
		}},
		{name: "repeated confirm", events: confirmed, prepare: func(t *testing.T, w *world) func() error {
			cmd := w.ready(t, "ORDER-1")
			w.confirms(t, cmd)
			return func() error { _, err := w.confirm(t, cmd); return err }
		}},
		{name: "cancel", events: created, prepare: func(t *testing.T, w *world) func() error {
			o := begun(t, w)
			return func() error {
				_, err := w.Cancel(t.Context(), caller, o.Checkout.ID, checkout.Cancel{RequestID: "req_3", Reason: checkout.Some("wrong course")})
				return err
			}
		}},
		{name: "authenticate", prepare: func(t *testing.T, w *world) func() error {
			text, key := catalogue.NewKey("KOWHAI", catalogue.Sandbox, time.Now(), [32]byte{1})
			must(t, w.store.AddKey(t.Context(), key, nil))
			return func() error { _, err := w.Authenticate(t.Context(), text); return err }
		}},
		{name: "recovery", background: true, events: created, prepare: func(t *testing.T, w *world) func() error {
			w.crashed(t, "ORDER-1")
			w.clock.forward(time.Minute)
			return func() error { w.runFor(t, 500*time.Millisecond); return nil }
		}},
		{name: "end of a setup", background: true, events: created, prepare: func(t *testing.T, w *world) func() error {
			w.cancels(t, begun(t, w))
			return func() error { w.runFor(t, 500*time.Millisecond); return nil }
		}},
		{name: "look", background: true, events: created, prepare: func(t *testing.T, w *world) func() error {
			begun(t, w)
			w.clock.forward(2 * time.Minute)
			return func() error { w.runFor(t, 500*time.Millisecond); return nil }
		}},
	}
}

// Every call of the store fails once, in every way. Then either the caller gets the failure or a retryable refusal, or
// the failure is reported; and a retry leads to the same state as without the failure. Nothing is stored twice.
func TestAFailureOfTheStoreIsReportedAndRetried(t *testing.T) {
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			for _, at := range callsOf(t, op) {
				for way := range faults {
					t.Run(at+" "+way, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { op.withFault(t, at, way) })
					})
				}
			}
		})
	}
}

// callsOf returns the calls that an operation makes if no call fails.
func callsOf(t *testing.T, op operation) (calls []string) {
	synctest.Test(t, func(t *testing.T) {
		store, change := newFaulty()
		w := newWorld(t, change)
		run := op.prepare(t, w)
		store.arm("", nil)
		if err := run(); err != nil {
			t.Fatalf("without a fault: %v", err)
		}
		calls = store.called()
	})
	if len(calls) == 0 {
		t.Fatal("it does not call the store")
	}
	return calls
}

// reported returns how a failure that no caller gets is reported.
func (op operation) reported(method, way string) (service.Operation, service.Severity) {
	switch {
	case op.background && method == "Lease":
		return service.OperationSchedule, service.Error
	case op.name == "recovery":
		return service.OperationRecover, service.Error
	case op.name == "end of a setup" && (method != "UpdateCheckout" || way != "busy"):
		return service.OperationCancel, service.Warning
	case op.name == "look" && (method != "UpdateCheckout" || way != "busy"):
		return service.OperationObserve, service.Warning
	case method == "Jobs", method == "Lease", method == "Extend", method == "Settle":
		return service.OperationDeliver, service.Error // the change is committed, and its events are delivered later
	case way == "busy":
		return service.OperationServe, service.Warning
	case op.name == "confirm" && method == "UpdateCheckout":
		return service.OperationObserve, service.Error
	case method == "UpdateCheckout":
		return service.OperationObserve, service.Warning
	}
	return service.OperationServe, service.Warning // another attempt followed
}

func (op operation) withFault(t *testing.T, at, way string) {
	store, change := newFaulty()
	w := newWorld(t, change)
	run := op.prepare(t, w)
	w.reports.take()
	failed := false
	store.arm(at, func() error { failed = true; return faults[way]() })
	err := run()
	if !failed {
		t.Fatalf("the call was not made; the calls were %q", store.called())
	}
	var failures []string
	code, refused := codeOf(err)
	if err != nil && !refused {
		failures = append(failures, err.Error())
	}
	method, _, _ := strings.Cut(at, " ")
	operation, severity := op.reported(method, way)
	for _, f := range w.reports.take() {
		failures = append(failures, f.Err.Error())
		if f.Operation != operation || f.Severity != severity {
			t.Errorf("reported %q as %s, want %q as %s", f.Operation, f.Severity, operation, severity)
		}
	}
	if operation == service.OperationDeliver && err != nil {
		t.Errorf("%v, though the change is committed", err)
	}
	for _, text := range failures { // an error names the operation
		if text == "wait for the lock: busy" || text == "write: "+errBroken.Error() {
			t.Errorf("got %q, which does not name the operation", text)
		}
	}
	if len(failures) != 1 || !strings.Contains(failures[0], errBroken.Error()) && !strings.Contains(failures[0], ports.ErrBusy.Error()) {
		t.Errorf("got %d failures, want one: %q", len(failures), failures)
	}
	switch {
	case op.background && err != nil:
		t.Errorf("background work returns %v", err)
	case refused && code != checkout.CodeBusy:
		t.Errorf("refused with %s; want BUSY, or a failure", code)
	}

	// Without the fault a retry leads to the same state.
	w.clock.forward(3 * time.Second) // what was remembered is over
	if op.background {
		w.clock.forward(2 * time.Minute)
	}
	if err := run(); err != nil {
		t.Errorf("retry: %v", err)
	}
	w.clock.forward(time.Minute)
	w.runFor(t, 30*time.Second)
	var got []events.Name
	for order, r := range w.records(t) {
		for _, e := range r.Events() {
			if e.Status != events.Delivered {
				t.Errorf("order %s: event %s is %s", order, e.Event.Name, e.Status)
			}
			got = append(got, e.Event.Name)
		}
	}
	if !slices.Equal(got, op.events) {
		t.Errorf("events on record %q, want %q", got, op.events)
	}
}

func codeOf(err error) (checkout.Code, bool) {
	refusal, ok := errors.AsType[*checkout.Error](err)
	if !ok {
		return "", false
	}
	return refusal.Code, true
}
