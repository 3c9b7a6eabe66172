package service_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
)

// redelivering has the provider's failed events sent again for a time.
func (w *world) redelivering(t *testing.T, within time.Duration) {
	t.Helper()
	c := kowhai()
	c.Provider.Destination.RedeliverFor = within
	w.configure(t, c)
}

func TestAFailedEventIsSentAgainForAsLongAsTheProviderIsConfigured(t *testing.T) {
	for within, want := range map[time.Duration][]time.Duration{
		0:              {0},
		time.Hour:      {0, time.Minute, 10 * time.Minute, time.Hour},
		72 * time.Hour: {0, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 48 * time.Hour},
	} {
		t.Run(within.String(), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.redelivering(t, within)
				defer w.background(t)()
				w.receiver.answers(func(events.Delivery, int) error { return errRefused })
				start := time.Now()
				w.opened(t, "ORDER-1")
				time.Sleep(want[len(want)-1] + 2*time.Minute)
				synctest.Wait()
				var runs []time.Duration
				for i, d := range w.receiver.got {
					if d.attempt == 1 {
						runs = append(runs, d.at.Sub(start))
					} else if gap := d.at.Sub(w.receiver.got[i-1].at); gap != events.Delay(d.attempt) {
						t.Errorf("attempt %d came %v after the one before it", d.attempt, gap)
					}
				}
				late := func(got, want time.Duration) bool { return got >= want && got <= want+time.Minute+2*time.Second } // a probe a minute
				if !slices.EqualFunc(runs, want, late) {
					t.Errorf("runs after %v, want them after %v", runs, want)
				}
				w.wantEvent(t, "ORDER-1", events.Failed, 3*len(want))
				if log, err := w.store.Attempts(t.Context(), w.receiver.got[0].Event); err != nil || len(log) != 3*len(want) {
					t.Errorf("%d attempts are logged, %v; want all %d", len(log), err, 3*len(want))
				}
				if n := w.backlog(t, checkout.JobRedeliver).Waiting; n != 0 {
					t.Errorf("%d events wait to be sent again after the last run", n)
				}
			})
		})
	}
}

func TestAnEventThatIsSentAgainHoldsUpNoOtherAndEndsWhenItIsTaken(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.redelivering(t, 72*time.Hour)
		defer w.background(t)()
		w.receiver.answers(func(events.Delivery, int) error { return errRefused })
		cmd := w.ready(t, "ORDER-1")
		first := w.receiver.latest()
		w.receiver.answers(nil)
		w.confirms(t, cmd)
		if got := w.receiver.names()[3:]; !slices.Equal(got, []events.Name{events.CheckoutConfirmed, events.AgreementGenerated}) {
			t.Errorf("the confirm delivers %q, want its two events at once", got)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		last := w.receiver.latest()
		if len(w.receiver.got) != 6 || last.Event.ID != first.Event.ID || string(last.Event.Body) != string(first.Event.Body) ||
			last.Signature == first.Signature {
			t.Errorf("%d attempts, the last at %+v; want the first event once more, signed anew", len(w.receiver.got), last)
		}
		w.wantDelivered(t, "ORDER-1")
		journal := w.records(t)["ORDER-1"].Moments
		if last := journal[len(journal)-1]; last.Kind != checkout.MomentEventDelivered {
			t.Errorf("the journal ends with %+v, want %s", last, checkout.MomentEventDelivered)
		}
	})
}

// What waited in vain for a receiver that never came back is not sent to the next one.
func TestNothingIsSentAgainAfterThreeDays(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.redelivering(t, 72*time.Hour)
		w.receiver.answers(func(events.Delivery, int) error { return errRefused })
		w.opened(t, "ORDER-1")
		w.AwaitSent()
		time.Sleep(73 * time.Hour)
		w.receiver.answers(nil)
		w.runFor(t, time.Minute)
		w.wantEvent(t, "ORDER-1", events.Failed, 3)
	})
}

// errDown is another answer of a receiver than errRefused.
var errDown = errors.New("receiver answered 503")

// asked has an operator's redelivery of each event enqueued.
func (w *world) asked(t *testing.T, all ...events.Event) {
	t.Helper()
	var jobs []checkout.Job
	for _, e := range all {
		jobs = append(jobs, checkout.SendNow(e, checkout.OperatorActor("Aroha"), "0", "", time.Now()))
	}
	_, err := w.store.Enqueue(t.Context(), jobs, nil)
	must(t, err)
}

func TestAnEventThatAnOperatorAsksForIsSentAsItIsAndSignedAnew(t *testing.T) {
	for _, tt := range []struct {
		name     string
		first    error // of the event's own attempts
		again    error
		status   events.Status
		attempts int
		moment   checkout.MomentKind
		said     string // by the moment, after the event
	}{
		{"a failed event", errRefused, nil, events.Delivered, 3 + 1, checkout.MomentEventDelivered, ""},
		{"a failed event, in vain", errRefused, errDown, events.Failed, 3 + 3, checkout.MomentEventFailed, ": " + errDown.Error()},
		{"a delivered event", nil, nil, events.Delivered, 1 + 1, checkout.MomentEventDelivered, ""},
		{"a delivered event, in vain", nil, errDown, events.Delivered, 1 + 3, checkout.MomentEventFailed, ": " + errDown.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.receiver.answers(func(events.Delivery, int) error { return tt.first })
				ctx, subject := service.WithSubject(t.Context())
				subject.Trace = callersTrace
				_, err := w.Create(ctx, caller, create("ORDER-1"))
				must(t, err)
				w.AwaitSent()
				time.Sleep(24 * time.Hour)
				first := w.receiver.got[0]
				w.receiver.answers(func(events.Delivery, int) error { return tt.again })
				w.asked(t, first.Event)
				w.runFor(t, time.Minute)
				w.wantEvent(t, "ORDER-1", tt.status, tt.attempts, tt.attempts)
				got := w.receiver.latest()
				if got.Event.ID != first.Event.ID || string(got.Event.Body) != string(first.Event.Body) {
					t.Errorf("sent %+v, want %+v as it is", got.Event, first.Event)
				}
				if got.Trace.ID() != callersTrace.ID() || got.Trace == first.Trace {
					t.Errorf("sent with the trace %q, want another span than %q in %q", got.Trace, first.Trace, callersTrace)
				}
				if err := events.Verify(kowhai().Provider.Destination.Secret, got.Signature, got.Event.Body, got.at, 5*time.Second); err != nil {
					t.Errorf("the signature of the day after: %v", err)
				}
				journal := w.records(t)["ORDER-1"].Moments
				if m := journal[len(journal)-1]; m.Kind != tt.moment || m.Actor != "operator:Aroha" ||
					m.Detail != "checkout.created "+got.Event.ID+tt.said {
					t.Errorf("the journal ends with %+v", m)
				}
				log, err := w.store.Attempts(t.Context(), got.Event)
				must(t, err)
				for i, a := range log {
					want, own := checkout.Actor("operator:Aroha"), tt.attempts-got.attempt
					if i < own {
						want, own = "", 0
					}
					if a.AskedBy != want || a.Number != i-own+1 {
						t.Errorf("attempt %d of the log is %+v", i+1, a)
					}
				}
				if len(log) != tt.attempts {
					t.Errorf("%d attempts are logged, want %d", len(log), tt.attempts)
				}
			})
		})
	}
}

func TestEventsOfACheckoutThatOperatorsAskForAreSentInTheirOrder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.confirms(t, w.ready(t, "ORDER-1"))
		w.AwaitSent()
		var all []events.Event
		for _, e := range w.records(t)["ORDER-1"].Events() {
			all = append(all, e.Event)
		}
		sent := w.receiver.requests()
		w.asked(t, all...)
		w.receiver.answers(func(d events.Delivery, attempt int) error {
			if d.Event.Name == events.CheckoutCreated { // the next is tried though it fails
				return errRefused
			}
			time.Sleep(time.Second)
			return nil
		})
		w.runFor(t, time.Minute)
		want := append(slices.Repeat([]events.Name{events.CheckoutCreated}, 3), events.CheckoutConfirmed, events.AgreementGenerated)
		if got := w.receiver.names()[sent:]; !slices.Equal(got, want) {
			t.Errorf("sent %q, want %q", got, want)
		}
	})
}

// However many events operators ask for, a receiver that takes nothing is left alone after a few, and another provider's are sent.
func TestAReceiverThatIsDownIsNotHammeredByWhatOperatorsAskFor(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const many = 1000
		well := kowhai()
		well.Provider.Code = "RIMU"
		w.configure(t, kowhai(), well)
		var all []events.Event
		for i := range many {
			for _, provider := range []string{"KOWHAI", "RIMU"} {
				all = append(all, w.failedOf(t, provider, fmt.Sprint("ORDER-", i)))
			}
		}
		w.asked(t, all...)
		w.receiver.answers(func(d events.Delivery, _ int) error {
			if d.Event.ProviderCode == "KOWHAI" {
				return errDown
			}
			return nil
		})
		w.runFor(t, time.Minute)
		of := map[string]int{}
		for _, d := range w.receiver.got {
			of[d.Event.ProviderCode]++
		}
		if of["RIMU"] != many || of["KOWHAI"] == 0 || of["KOWHAI"] > 3*(32+10) {
			t.Errorf("attempts by provider: %v; want the %d of RIMU, and of KOWHAI one batch and a few probes", of, many)
		}
		if n := w.backlog(t, checkout.JobRedeliver).Waiting; n < many-32-10 {
			t.Errorf("%d events wait, want most of KOWHAI's", n)
		}
	})
}

// failedOf stores a checkout of a provider whose event has failed, and returns the event.
func (w *world) failedOf(t *testing.T, provider, order string) events.Event {
	t.Helper()
	c := checkout.Checkout{ID: provider + "-" + order, ProviderCode: provider, OrderID: order, IdempotencyKey: provider + ":" + order}
	e := events.Created(events.Origin{RequestID: "req_1", Environment: string(catalogue.Sandbox), CreatedAt: time.Now()},
		events.Subject{ProviderCode: provider, OrderID: order, CheckoutID: c.ID}, "dda", "contact")
	entry := checkout.JobEntry{Now: time.Now(), Hold: time.Second}
	must(t, w.store.InsertCheckout(t.Context(), checkout.Change{Next: c, Events: []events.Event{e}}, entry))
	held := checkout.Lease{Job: checkout.DeliveryOf(e), Token: 1}
	must(t, w.store.Settle(t.Context(), held, checkout.Outcome{State: checkout.JobDead}, entry, nil))
	return e
}

// What a stop cuts off is on record, and the next process makes the attempts that are left.
func TestARedeliveryThatAStopCutsOffIsOnRecordAndGoesOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.receiver.answers(func(events.Delivery, int) error { return errRefused })
		w.opened(t, "ORDER-1")
		w.AwaitSent()
		w.asked(t, w.receiver.got[0].Event)
		stop, sent := w.background(t), make(chan struct{})
		w.receiver.answers(func(_ events.Delivery, attempt int) error {
			if attempt == 1 {
				close(sent)
				time.Sleep(time.Second)
			}
			return errDown
		})
		<-sent
		stop()
		w.wantEvent(t, "ORDER-1", events.Failed, 3+1, 3+1)
		w.again(t).runFor(t, time.Minute)
		w.wantEvent(t, "ORDER-1", events.Failed, 3+3, 3+3)
	})
}
