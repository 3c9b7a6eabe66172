package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/events"
)

// received returns the names of the events that arrived, with the numbers of their attempts.
func (w *world) received() (all []string) {
	for _, d := range w.Receiver.Deliveries() {
		all = append(all, d.Header.Get("X-Service-Event")+" "+d.Header.Get("X-Service-Delivery-Attempt"))
	}
	return all
}

func TestEvents(t *testing.T) { everywhere(t, testEvents) }

func testEvents(t *testing.T, w *world) {
	for _, tt := range []struct {
		scenario, status string
		attempts         string
		received         []string
	}{
		{"event_slow", "delivered", "1", []string{"checkout.cancelled 1"}},
		{"event_fails", "failed", "3", nil},
		{"event_twice", "delivered", "1", []string{"checkout.cancelled 1", "checkout.cancelled 1"}},
		{"event_lost", "delivered", "1", nil},
		{"event_not_configured", "not_configured", "0", nil},
	} {
		created := w.Create(t, tt.scenario)
		w.play(t, created, tt.scenario)
		w.Receiver.Forget()
		if r := w.Post(t, "KOWHAI", created.CheckoutPath()+"/cancel", `{"reason": "test"}`); r.Status != http.StatusOK {
			t.Fatalf("cancel: %d %s", r.Status, r.Body)
		}
		if got := w.received(); !slices.Equal(got, tt.received) {
			t.Errorf("%s: received %q, want %q", tt.scenario, got, tt.received)
		}
		list := w.Get(t, "KOWHAI", "/v1/events?provider_order_id="+tt.scenario).At("events").([]any)
		last := list[len(list)-1].(map[string]any)
		if len(list) != 2 || last["status"] != tt.status || fmt.Sprint(last["attempts"]) != tt.attempts {
			t.Errorf("%s: listed %v, want %s after %v attempts", tt.scenario, last, tt.status, tt.attempts)
		}
		answer := map[string]string{"failed": "202 ", "delivered": "202 ", "not_configured": "409 CONFLICT"}[tt.status]
		w.Receiver.Forget()
		w.Clock.Forward(2 * time.Second) // one redelivery a second is allowed
		r := w.Post(t, "KOWHAI", "/v1/events/"+last["event_id"].(string)+"/redeliver", "")
		if got := fmt.Sprint(r.Status, " ", r.String("error.code")); got != answer {
			t.Fatalf("redeliver after %s: %s, want %s", tt.scenario, r.Body, answer)
		}
		if tt.status == "not_configured" {
			continue
		}
		log := func() []checkout.Attempt {
			log, err := w.Store.Attempts(t.Context(), events.Event{ID: last["event_id"].(string),
				CheckoutID: created.String("checkout.checkout_id"), OrderID: tt.scenario, ProviderCode: "KOWHAI"})
			if err != nil {
				t.Fatal(err)
			}
			return log
		}
		made, _ := strconv.Atoi(tt.attempts)
		for began := time.Now(); len(log()) == made && time.Since(began) < 2*time.Minute; {
			time.Sleep(10 * time.Millisecond)
		}
		if got := w.received(); !slices.Equal(got, []string{"checkout.cancelled 1"}) || log()[made].Answer != "" {
			t.Errorf("after %s the event sent again is received as %q, and its answer is %+v", tt.scenario, got, log()[made])
		}
	}
}

// stopping is a store to which the outcome of a run is lost, as if the process had ended before.
type stopping struct {
	*memory.Store
	stopped atomic.Bool
}

func (s *stopping) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome, entry checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	if l.Job.Name == string(events.CheckoutCancelled) && s.stopped.CompareAndSwap(false, true) {
		return errors.New("the process has ended")
	}
	return s.Store.Settle(ctx, l, o, entry, decide)
}

func TestARunThatIsCutOffGoesOnUnderItsScenario(t *testing.T) {
	for scenario, received := range map[string]int{"event_lost": 0, "event_fails": 0, "event_twice": 4} {
		w := newWorld(t, &stopping{Store: memory.New()})
		created := w.Create(t, "order-1")
		w.play(t, created, scenario)
		w.Receiver.Forget()
		w.Post(t, "KOWHAI", created.CheckoutPath()+"/cancel", `{"reason": "test"}`)
		w.Clock.Forward(time.Hour) // the lease is over
		w.serve(t)
		w.settled(t)
		if got := w.received(); len(got) != received {
			t.Errorf("of %s, cut off and done again, is received %q", scenario, got)
		}
	}
}

func TestForgedCopyOfAnEvent(t *testing.T) { everywhere(t, testForgedCopyOfAnEvent) }

func testForgedCopyOfAnEvent(t *testing.T, w *world) {
	genuine := func(d sandbox.Delivery) bool {
		return events.Verify("whsec_kowhai_0123456789abcdef", d.Header.Get(events.HeaderSignature), d.Body, time.Now(), time.Minute) == nil
	}
	checks := func(d sandbox.Delivery) int {
		if genuine(d) {
			return http.StatusNoContent
		}
		return http.StatusUnauthorized
	}
	for _, tt := range []struct {
		receiver string
		answers  func(sandbox.Delivery) int
		status   string
		genuine  []bool // of the deliveries
		said     string
	}{
		{"that checks signatures", checks, "delivered", []bool{false, true}, ""},
		{"that takes everything", func(sandbox.Delivery) int { return http.StatusOK }, "failed", []bool{false, false, false},
			"took a copy with a wrong signature"},
		{"that answers no copy", func(d sandbox.Delivery) int {
			if !genuine(d) {
				panic(http.ErrAbortHandler)
			}
			return http.StatusOK
		}, "failed", []bool{false, false, false}, "connection was closed"},
	} {
		w.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusNoContent })
		created := w.Create(t, tt.receiver)
		w.play(t, created, "event_forged")
		deliver := func(answers func(sandbox.Delivery) int, method, path, body string, want ...bool) {
			t.Helper()
			w.Receiver.Forget()
			w.Receiver.AnswerWith(answers)
			if r := w.call(t, "KOWHAI", method, path, body); r.Status > http.StatusAccepted {
				t.Fatalf("%s: %d %s", path, r.Status, r.Body)
			}
			var got []bool
			for began := time.Now(); len(got) < len(want) && time.Since(began) < 2*time.Minute; time.Sleep(10 * time.Millisecond) {
				got = nil
				for _, d := range w.Receiver.Deliveries() {
					got = append(got, genuine(d))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("a receiver %s got deliveries that are genuine: %v, want %v", tt.receiver, got, want)
			}
		}
		deliver(tt.answers, http.MethodPost, created.CheckoutPath()+"/cancel", `{"reason": "test"}`, tt.genuine...)
		first := w.Receiver.Deliveries()[0]
		for _, d := range w.Receiver.Deliveries() {
			if string(d.Body) != string(first.Body) || d.Header.Get(events.HeaderEventID) != first.Header.Get(events.HeaderEventID) {
				t.Errorf("the copy and the event differ: %+v, %+v", first, d)
			}
		}
		w.settled(t)
		list := w.Get(t, "KOWHAI", "/v1/events?provider_order_id="+url.QueryEscape(tt.receiver))
		if got := list.String("events.1.status"); got != tt.status {
			t.Errorf("an event of a receiver %s is %s, want %s", tt.receiver, got, tt.status)
		}
		if tt.status == "delivered" {
			continue
		}
		moments, err := w.Store.Moments(t.Context(), created.String("checkout.checkout_id"))
		if err != nil || !slices.ContainsFunc(moments, func(m checkout.Moment) bool {
			return m.Kind == checkout.MomentEventFailed && strings.Contains(m.Detail, tt.said)
		}) {
			t.Errorf("the journal of a receiver %s is %+v, %v; want %q", tt.receiver, moments, err, tt.said)
		}
		w.Clock.Forward(2 * time.Second) // one redelivery a second is allowed
		deliver(checks, http.MethodPost, "/v1/events/"+list.String("events.1.event_id")+"/redeliver", "", false, true)
	}
}

// answering is a sender to a receiver that answers with a text.
type answering struct{ text string }

func (a answering) Send(context.Context, catalogue.Destination, events.Delivery, int) (checkout.Answer, error) {
	return checkout.Answer{Status: http.StatusOK, Body: a.text}, nil
}

func TestNoAnswerOfAReceiverIsTakenForAScenarios(t *testing.T) {
	for _, text := range []string{"it was sent twice. ", "a copy with a wrong signature was refused before. ", "there is no destination",
		"it was not sent"} {
		for _, begin := range []string{"a scenario of the sandbox: ", "\x00a \xffscenario of the sandbox: "} {
			store := memory.New()
			w := newWorld(t, store, func(c *site.Config) { c.Service.Sender = answering{begin + text} })
			created := w.Create(t, "order-1")
			event := w.Get(t, "KOWHAI", "/v1/events").String("events.0.event_id")
			log, err := store.Attempts(t.Context(), events.Event{ID: event, CheckoutID: created.String("checkout.checkout_id"),
				OrderID: "order-1", ProviderCode: "KOWHAI"})
			if err != nil || len(log) != 1 || scenario.Received(log[0].Answer) != 1 || scenario.RefusedForged(log[0].Answer) {
				t.Errorf("the answer %q is on record as %+v, %v", begin+text, log, err)
			}
		}
	}
}

func TestAScriptedFailureBlamesNoReceiver(t *testing.T) {
	log := &sandbox.Log{}
	w := newWorld(t, memory.New(), func(c *site.Config) { c.Log = httpserver.NewLog(log) })
	for _, order := range []string{"1+event_fails", "2+event_fails", "3+event_forged", "4+event_forged"} { // of a receiver that takes all
		w.Create(t, order)
	}
	for began := time.Now(); strings.Count(log.String(), "failed 3 times") < 4; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("events that were to fail have not: %s", log)
		}
	}
	if text := log.String(); strings.Contains(text, "takes no events") {
		t.Errorf("after events that were to fail the log has\n%s", text)
	}
}
