package service_test

import (
	"errors"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// notify has the service notified about billing requests and mandates: "BR-1" or "MD-1", each by an event of its own.
func (w *world) notify(t *testing.T, settles bool, events ...string) {
	t.Helper()
	var all []checkout.Notification
	for i := 0; i < len(events); i += 2 {
		n := checkout.Notification{ID: events[i], Received: w.clock.now().UTC(), Settles: settles}
		if id := events[i+1]; id[:2] == "MD" {
			n.MandateID = id
		} else {
			n.BillingRequestID = id
		}
		all = append(all, n)
	}
	must(t, w.Notified(t.Context(), all))
}

// notified returns the states of the notifications on record, by event.
func (w *world) notified(t *testing.T) map[string]checkout.JobState {
	t.Helper()
	list, err := w.store.Jobs(t.Context(), jobsOf(checkout.JobNotified), 1000)
	must(t, err)
	all := make(map[string]checkout.JobState)
	for _, j := range list {
		all[j.Job.Notification().ID] = j.State
	}
	return all
}

// An answer from before an event does not serve it, also where the clock steps back between the two, or the clock of the machine that was
// notified is behind.
func TestAnEventAfterALookLeadsToAnother(t *testing.T) {
	for _, step := range []time.Duration{0, time.Second, -time.Hour} {
		inWorld(t, func(t *testing.T, w *world) {
			w.begun(t, "ORDER-1")
			id := w.setup(t, "ORDER-1").BillingRequestID
			at := w.asks(fulfilled)
			w.processor.takes = time.Second
			stop := w.background(t)
			w.notify(t, true, "EV1", id)
			time.Sleep(time.Second / 2) // the question is under way
			w.clock.forward(step)
			w.notify(t, true, "EV2", id)
			time.Sleep(5 * time.Second)
			stop()
			if len(*at) != 2 {
				t.Errorf("after a step by %s, looks at %v, want one for each event", step, *at)
			}
		})
	}
}

// Many events about one setup lead to one look, and an event that comes again leads to no further one.
func TestManyNotificationsAboutOneSetupLeadToOneLook(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begun(t, "ORDER-1")
		id := w.setup(t, "ORDER-1").BillingRequestID
		at := w.asks(fulfilled)
		w.processor.takes = time.Second
		for range 3 {
			w.notify(t, true, "EV1", id, "EV2", id, "EV3", id, "EV4", id, "EV5", id, "EV5", id)
		}
		stop := w.background(t)
		time.Sleep(3 * time.Second)
		for range 3 {
			w.notify(t, true, "EV1", id, "EV5", id)
		}
		time.Sleep(10 * time.Second)
		if len(*at) != 1 || w.setup(t, "ORDER-1").Mandate != checkout.MandatePendingSubmission {
			t.Errorf("%d looks, and on record is %+v", len(*at), w.setup(t, "ORDER-1"))
		}
		w.notify(t, false, "EV6", "MD-1") // which is news
		time.Sleep(3 * time.Second)
		stop()
		if len(*at) != 2 {
			t.Errorf("%d looks after another event, want 2", len(*at))
		}
		for event, state := range w.notified(t) {
			if state != checkout.JobDone {
				t.Errorf("%s is %s", event, state)
			}
		}
	})
}

// A look that fails leaves the notification pending, and it is handled again.
func TestALookThatFailsIsRepeated(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begun(t, "ORDER-1")
		w.processor.err = errors.New("connection refused")
		w.notify(t, true, "EV1", w.setup(t, "ORDER-1").BillingRequestID)
		w.runFor(t, 5*time.Second)
		if got := w.notified(t)["EV1"]; got != checkout.JobPending {
			t.Errorf("after a failure it is %s", got)
		}
		if got := w.reports.take(); len(got) != 1 || got[0].Operation != service.OperationObserve || got[0].Severity != service.Warning ||
			got[0].OrderID != "ORDER-1" {
			t.Errorf("reported %+v, want one warning about the order", got)
		}
		w.processor.err = nil
		w.processor.set(fulfilled)
		w.runFor(t, 12*time.Second)
		if got := w.notified(t)["EV1"]; got != checkout.JobDone || !w.records(t)["ORDER-1"].Checkout.SetupComplete() {
			t.Errorf("later it is %s, and on record is %+v", got, w.setup(t, "ORDER-1"))
		}
	})
}

// A billing request that was fulfilled before it has a mandate is looked at until it has one, but not for ever.
func TestASettlingSetupIsLookedAtAgain(t *testing.T) {
	settling := checkout.Observation{BillingRequest: checkout.BillingFulfilling}
	for _, tt := range []struct {
		name    string
		settles bool
		known   time.Duration // when the mandate is; 0: never
		until   time.Duration
		looks   [2]int // at least and at most
		state   checkout.JobState
	}{
		{"soon after", true, 0, time.Minute, [2]int{3, 4}, checkout.JobPending},
		{"when it has its mandate", true, 30 * time.Second, 50 * time.Second, [2]int{2, 3}, checkout.JobDone},
		{"hours after", true, 0, 2 * time.Hour, [2]int{100, 200}, checkout.JobDone},
		{"an event that settles nothing", false, 0, time.Minute, [2]int{1, 1}, checkout.JobDone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.begun(t, "ORDER-1")
				id := w.setup(t, "ORDER-1").BillingRequestID
				w.done(t, "ORDER-1", checkout.JobLook) // which would look too
				at := w.asks(settling)
				w.notify(t, tt.settles, "EV1", id)
				stop := w.background(t)
				time.Sleep(tt.known)
				if tt.known > 0 {
					w.processor.mu.Lock()
					w.processor.observes = nil
					w.processor.mu.Unlock()
					w.processor.set(fulfilled)
				}
				time.Sleep(tt.until - tt.known)
				stop()
				if got := w.notified(t)["EV1"]; got != tt.state || len(*at) < tt.looks[0] || len(*at) > tt.looks[1] {
					t.Errorf("it is %s after %d looks, want %s after %v", got, len(*at), tt.state, tt.looks)
				}
			})
		})
	}
}

// The account may have other users, and a payer may begin again: such a notification needs no look again.
func TestANotificationAboutWhatIsNotOursIsSettled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begun(t, "ORDER-1")
		at := w.asks(checkout.Observation{BillingRequest: checkout.BillingFulfilling})
		w.notify(t, true, "EV1", "BR-of-another", "EV2", "MD-of-another")
		w.runFor(t, 5*time.Second)
		if got := w.notified(t); got["EV1"] != checkout.JobDone || got["EV2"] != checkout.JobDone || len(*at) != 0 {
			t.Errorf("on record is %v after %d looks", got, len(*at))
		}
		w.wantNoReports(t)
		if err := w.Notified(t.Context(), nil); err != nil {
			t.Error(err)
		}
	})
}

// What cannot be stored must not be acknowledged.
func TestANotificationThatCannotBeStoredIsAFailure(t *testing.T) {
	for way, want := range map[string]checkout.Code{"busy": checkout.CodeBusy, "broken": "", "panics": ""} {
		store, change := newFaulty()
		w := newWorld(t, change)
		store.arm("Enqueue 1", faults[way])
		err := w.Notified(t.Context(), []checkout.Notification{{ID: "EV1", MandateID: "MD-1", Received: time.Now()}})
		if code, _ := codeOf(err); err == nil || code != want {
			t.Errorf("%s: %v, want code %q", way, err, want)
		}
	}
}
