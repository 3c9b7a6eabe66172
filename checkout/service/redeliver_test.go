package service_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
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
