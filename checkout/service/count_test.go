package service_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
)

// counts holds the count of each outcome.
type counts struct {
	mu  sync.Mutex
	all map[service.Count]int
}

func counted() (*counts, func(*service.Config)) {
	n := &counts{all: make(map[service.Count]int)}
	return n, func(c *service.Config) { c.Count = n.count }
}

func (n *counts) count(o service.Count, provider string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all[o]++
	if provider != "KOWHAI" {
		n.all[o+" of "+service.Count(provider)]++
	}
}

func TestWhatHappensIsCounted(t *testing.T) {
	nowhere := func(t *testing.T, w *world) {
		silent := kowhai()
		silent.Provider.Destination = catalogue.Destination{}
		w.configure(t, silent)
	}
	seen := make(map[service.Count]bool)
	for _, tt := range []struct {
		name   string
		happen func(t *testing.T, w *world)
		want   map[service.Count]int
	}{
		{"a create and its replays", func(t *testing.T, w *world) {
			w.opened(t, "ORDER-1")
			w.opened(t, "ORDER-1")
			w.opened(t, "ORDER-1")
		}, map[service.Count]int{
			service.CountCreate: 1, service.CountDelivered: 1, service.CountReplay: 2}},
		{"a create with another intent", func(t *testing.T, w *world) {
			w.opened(t, "ORDER-1")
			other := create("ORDER-1")
			other.Frequency = checkout.Some("Monthly")
			_, err := w.Create(t.Context(), caller, other)
			expect(t, err, checkout.CodeIntentConflict)
		}, map[service.Count]int{
			service.CountCreate: 1, service.CountDelivered: 1}},
		{"a create that is faulty", func(t *testing.T, w *world) {
			_, err := w.Create(t.Context(), caller, checkout.Create{ProviderCode: checkout.Some("KOWHAI")})
			expect(t, err, checkout.CodeValidation)
		}, nil},
		{"a confirm and its repeats", func(t *testing.T, w *world) {
			cmd := w.ready(t, "ORDER-1")
			for range 3 {
				w.confirms(t, cmd)
			}
		}, map[service.Count]int{service.CountCreate: 1, service.CountDelivered: 3,
			service.CountConfirm: 1, service.CountRepeatedConfirm: 2}},
		{"a confirm with other identifiers, and one too early", func(t *testing.T, w *world) {
			cmd := confirm(w.opened(t, "ORDER-1"))
			_, err := w.confirm(t, cmd)
			expect(t, err, checkout.CodeSetupIncomplete)
			cmd.DDAID = checkout.Some("another")
			_, err = w.confirm(t, cmd)
			expect(t, err, checkout.CodeConflict)
		}, map[service.Count]int{
			service.CountCreate: 1, service.CountDelivered: 1}},
		{"a receiver that takes nothing", func(t *testing.T, w *world) {
			w.receiver.answer = func(events.Delivery, int) error { return errRefused }
			w.opened(t, "ORDER-1")
		}, map[service.Count]int{service.CountCreate: 1, service.CountFailed: 1}},
		{"events that have no destination", func(t *testing.T, w *world) {
			nowhere(t, w)
			w.confirms(t, w.ready(t, "ORDER-1"))
		}, map[service.Count]int{service.CountCreate: 1, service.CountConfirm: 1,
			service.CountNotConfigured: 3}},
		{"an agreement that cannot be rendered has no event", func(t *testing.T, w *world) {
			nowhere(t, w)
			cmd := w.ready(t, "ORDER-1")
			w.printer.fail = 2
			w.confirms(t, cmd)
		}, map[service.Count]int{service.CountCreate: 1, service.CountConfirm: 1,
			service.CountNotConfigured: 2}},
		{"an event that a crash cut off", func(t *testing.T, w *world) {
			w.crashed(t, "ORDER-1")
			w.runFor(t, 15*time.Second)
		}, map[service.Count]int{service.CountDelivered: 1, service.CountRecovery: 1}},
		{"notices that are sent, put off, refused, and not needed any more", func(t *testing.T, w *world) {
			nowhere(t, w)
			mail := &postbox{answer: mailIsDown}
			w.config.Notifier = mail
			w = w.again(t)
			cmd := w.ready(t, "ORDER-1")
			w.runFor(t, time.Second/2) // it is put off
			mail.set(nil)
			w.runFor(t, 2*time.Minute)
			w.confirms(t, cmd)
			w.runFor(t, time.Second/2)
			mail.set(func(context.Context, checkout.PayerNotice) error { return &checkout.NoticeRefusal{Answer: "550"} })
			w.ready(t, "ORDER-2")
			w.runFor(t, time.Second/2)
			w.ready(t, "ORDER-3")
			w.change(t, "ORDER-3", func(c *checkout.Checkout) { c.Setup.Mandate = checkout.MandateCancelled })
			w.runFor(t, time.Second/2)
		}, map[service.Count]int{service.CountCreate: 3, service.CountConfirm: 1, service.CountNotConfigured: 5,
			service.CountNoticePutOff: 1, service.CountNoticeSent: 2, service.CountNoticeFailed: 1, service.CountNoticeDropped: 1}},
		{"mandates that end after the confirm, and before it", func(t *testing.T, w *world) {
			nowhere(t, w)
			w.confirmed(t, "ORDER-1")
			for i, m := range []checkout.MandateStatus{checkout.MandateFailed, checkout.MandateCancelled, checkout.MandateExpired,
				checkout.MandateBlocked, checkout.MandateActive} {
				w.clock.forward(time.Second)
				w.becomes(t, fmt.Sprint("EV", i), m, "")
			}
			w.ready(t, "ORDER-2")
			w.change(t, "ORDER-1", func(c *checkout.Checkout) { c.Setup.MandateID = "MD-0" })
			w.becomes(t, "EV9", checkout.MandateFailed, "")
		}, map[service.Count]int{service.CountCreate: 2, service.CountConfirm: 1, service.CountNotConfigured: 4, service.CountMandateFailed: 1,
			service.CountMandateCancelled: 1, service.CountMandateExpired: 1, service.CountMandateBlocked: 1}},
		{"steps in a CRM that answers, fails and refuses", func(t *testing.T, w *world) {
			nowhere(t, w)
			w.opened(t, "ORDER-1")
			w.crm.disturb(nil, once(fails))
			w.opened(t, "ORDER-2")
			w.crm.disturb(once(refuses()), nil)
			if _, err := w.Create(t.Context(), caller, create("ORDER-3")); err == nil {
				t.Error("a create that the CRM refuses succeeds")
			}
			w.crm.disturb(nil, nth(1, ends))
			dies(func() { w.Create(t.Context(), caller, create("ORDER-4")) })
			w.runFor(t, 30*time.Second)
		}, map[service.Count]int{service.CountCreate: 3, service.CountNotConfigured: 3, service.CountStepDone: 3,
			service.CountStepUnknown: 1, service.CountStepRefused: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, count := counted()
				var outside []func(*service.Config)
				c, change := withCRM()
				if strings.Contains(tt.name, "CRM") {
					outside = append(outside, change)
				}
				w := newWorld(t, append(outside, count)...)
				w.crm = c
				tt.happen(t, w)
				if !maps.Equal(n.all, tt.want) {
					t.Errorf("counted %v, want %v", n.all, tt.want)
				}
				for o := range n.all {
					seen[o] = true
				}
			})
		})
	}
	for _, o := range service.Counts() {
		if !seen[o] {
			t.Errorf("nothing counts %q", o)
		}
		delete(seen, o)
	}
	if len(seen) > 0 {
		t.Errorf("Outcomes lacks %v", seen)
	}
}
