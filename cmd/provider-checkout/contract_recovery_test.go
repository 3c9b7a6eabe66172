package main

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/httpapi"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// crashing is the store of a process that dies between the commit of an event and what
// comes next: its sending, or the record that it was sent.
type crashing struct {
	ports.Store
	beforeSend, afterSend atomic.Bool
}

var errCrashed = errors.New("the process has died")

func (c *crashing) PendingEvents(ctx context.Context, id string) ([]ports.QueuedEvent, error) {
	if c.beforeSend.Load() {
		return nil, errCrashed
	}
	return c.Store.PendingEvents(ctx, id)
}

func (c *crashing) SettleEvent(ctx context.Context, id string, epoch int64, status events.Status, attempts int) error {
	if c.afterSend.Load() {
		return errCrashed
	}
	return c.Store.SettleEvent(ctx, id, epoch, status, attempts)
}

// crashes has the sandbox run over a crashing store.
func crashes(c *service.Config, _ *httpapi.Options) { c.Store = &crashing{Store: c.Store} }

// watched tells what a recovery does to its store.
type watched struct {
	ports.Store
	found   chan []ports.Abandoned // checkouts with abandoned events, after each look
	settled chan string            // event ids
}

func (w watched) AbandonedCheckouts(ctx context.Context, now time.Time, perProvider int) ([]ports.Abandoned, error) {
	found, err := w.Store.AbandonedCheckouts(ctx, now, perProvider)
	w.found <- found
	return found, err
}

func (w watched) SettleEvent(ctx context.Context, id string, epoch int64, status events.Status, attempts int) error {
	err := w.Store.SettleEvent(ctx, id, epoch, status, attempts)
	w.settled <- id
	return err
}

// restart runs a new process's recovery over the store: one look for abandoned events, and what it
// takes to settle n of them. No checkout must be found where n is 0.
func (s *sandbox) restart(t *testing.T, n int) {
	t.Helper()
	store := watched{s.store, make(chan []ports.Abandoned, 100), make(chan string, 100)}
	c := s.config
	c.Store = store
	svc, err := service.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var run sync.WaitGroup
	run.Go(func() { svc.Run(ctx) })
	if found := <-store.found; n == 0 && len(found) > 0 {
		t.Errorf("recovery found the events of %q, want none", found)
	}
	for i := range n {
		select {
		case <-store.settled:
		case <-ctx.Done():
			t.Fatalf("recovery settled %d events, want %d", i, n)
		}
	}
	cancel()
	run.Wait()
}

func TestContract6WhatACrashCutOffIsDeliveredAfterTheRestart(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		store := s.config.Store.(*crashing)
		store.beforeSend.Store(true)
		created, confirmed := s.enrolled(t, "ORDER-1")
		sameList(t, "sent before the restart", names(s.hooks.all()))
		s.restart(t, 0) // too early: the requests might still be at it
		s.clock.forward(10 * time.Second)
		s.restart(t, 3)

		got := s.hooks.all()
		sameList(t, "sent after the restart, in order", names(got), "checkout.created", "checkout.confirmed", "agreement.generated")
		for i, request := range []response{created, confirmed, confirmed} {
			if !signedBy(kowhaiSecret, got[i]) || got[i].header.Get("X-Request-Id") != request.header.Get("X-Request-Id") ||
				got[i].header.Get("X-Service-Delivery-Attempt") != "1" {
				t.Errorf("recovered %s with the headers %v", got[i].raw, got[i].header)
			}
		}
		sameList(t, "on record", s.outcomes(t, "ORDER-1"),
			"checkout.created delivered 1", "checkout.confirmed delivered 1", "agreement.generated delivered 1")
		s.clock.forward(time.Hour)
		s.restart(t, 0)
	}, crashes)
}

func TestContract6AnEventWhoseDeliveryWasNotRecordedComesAgainUnderTheSameID(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		store := s.config.Store.(*crashing)
		store.afterSend.Store(true)
		s.create(t, "ORDER-1")
		s.clock.forward(time.Minute)
		s.restart(t, 1)
		got := s.hooks.all()
		if len(got) != 2 {
			t.Fatalf("%d deliveries, want 2", len(got))
		}
		if string(got[0].raw) != string(got[1].raw) || got[0].header.Get("X-Service-Event-Id") != got[1].header.Get("X-Service-Event-Id") {
			t.Errorf("delivered %s and then %s", got[0].raw, got[1].raw)
		}
		if !signedBy(kowhaiSecret, got[0]) || !signedBy(kowhaiSecret, got[1]) ||
			got[0].header.Get("X-Service-Timestamp") == got[1].header.Get("X-Service-Timestamp") {
			t.Error("the second run is not signed anew")
		}
		sameList(t, "on record", s.outcomes(t, "ORDER-1"), "checkout.created delivered 1")
	}, crashes)
}

func TestContract6ARecoveryTriesThreeTimesAndThenGivesUpForGood(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		store := s.config.Store.(*crashing)
		store.beforeSend.Store(true)
		s.hooks.answer(func(hook) int { return http.StatusBadGateway })
		s.create(t, "ORDER-1")
		s.clock.forward(time.Minute)
		s.restart(t, 1)
		if n := len(s.hooks.all()); n != 3 {
			t.Errorf("%d attempts, want 3", n)
		}
		sameList(t, "on record", s.outcomes(t, "ORDER-1"), "checkout.created failed 3")
		s.hooks.answer(func(hook) int { return http.StatusOK })
		s.clock.forward(24 * time.Hour)
		s.restart(t, 0)
	}, crashes)
}

func TestContract6DestinationAndSecretAreLookedUpAtDelivery(t *testing.T) {
	const newSecret = "whsec_another_0123456789abcdef"
	moved := strings.NewReplacer("HOOKS/KOWHAI", "HOOKS/MOVED", kowhaiSecret, newSecret).Replace(providers)
	contract(t, func(t *testing.T, s *sandbox) {
		store := s.config.Store.(*crashing)
		store.beforeSend.Store(true)
		created := s.create(t, "ORDER-1")
		s.configure(t, moved)
		s.clock.forward(time.Minute)
		s.restart(t, 1)
		store.beforeSend.Store(false)
		s.setUp(t, created)
		s.confirm(t, created)
		got := s.hooks.all()
		sameList(t, "events", names(got), "checkout.created", "checkout.confirmed", "agreement.generated")
		for _, h := range got {
			if h.provider != "MOVED" || !signedBy(newSecret, h) {
				t.Errorf("%s went to %s with %v", h.raw, h.provider, h.header)
			}
		}
	}, crashes)
}

func TestContract6WithoutADestinationNothingIsSentThenOrLater(t *testing.T) {
	const kowhais, tuis = `"webhook": {"url": "HOOKS/KOWHAI", "signing_secret": "` + kowhaiSecret + `"},`,
		`, "webhook": {"url": "HOOKS/TUI", "signing_secret": "` + tuiSecret + `"}`
	contract(t, func(t *testing.T, s *sandbox) {
		without := strings.ReplaceAll(strings.Join(strings.Fields(providers), " "), kowhais, "")
		without = strings.ReplaceAll(without, tuis, "")
		if strings.Contains(without, "webhook") {
			t.Fatal("the destinations are still there")
		}
		s.configure(t, without)
		configured := func(want bool) {
			t.Helper()
			if r := s.send(t, http.MethodGet, "/v1/environment", ""); r.at("readiness.webhook_destinations_configured") != want {
				t.Errorf("environment answers %s, want destinations configured %v", r.text, want)
			}
		}
		configured(false)
		created, confirmed := s.enrolled(t, "ORDER-1")
		if r := s.get(t, "KOWHAI", checkoutPath(created)); r.at("direct_debit.setup_complete") != true ||
			confirmed.string("agreement.id") == "" {
			t.Errorf("polling and confirm answer %s\n%s", r.text, confirmed.text)
		}
		open := s.create(t, "ORDER-2")
		s.configure(t, providers)
		configured(true)
		s.clock.forward(time.Hour)
		s.restart(t, 0)
		s.replayed(t, "ORDER-1")
		s.confirm(t, created)
		sameList(t, "sent", names(s.hooks.all()))
		sameList(t, "on record", s.outcomes(t, "ORDER-1"),
			"checkout.created not_configured 0", "checkout.confirmed not_configured 0", "agreement.generated not_configured 0")

		s.setUp(t, open)
		s.confirm(t, open)
		sameList(t, "sent of what came later", names(s.hooks.all()), "checkout.confirmed", "agreement.generated")
	})
}

func TestContract6EventsOfACheckoutArriveInOrder(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		arrived, accepted := make(chan struct{}, 10), make(chan struct{})
		release := sync.OnceFunc(func() { close(accepted) })
		t.Cleanup(release)
		s.hooks.answer(func(h hook) int {
			if h.body.Text("event") == "checkout.created" {
				arrived <- struct{}{}
				<-accepted
			}
			return http.StatusOK
		})
		var requests sync.WaitGroup
		requests.Go(func() { s.post(t, "KOWHAI", "/v1/provider-checkouts", order(catalogueCreate, "ORDER-1")) })
		<-arrived // and its receiver thinks about it
		replay := s.replayed(t, "ORDER-1")
		s.setUp(t, replay)
		requests.Go(func() {
			if r := s.confirm(t, replay); r.status != http.StatusOK {
				t.Errorf("confirm: %d %s", r.status, r.text)
			}
		})
		for began := time.Now(); s.get(t, "KOWHAI", checkoutPath(replay)).string("checkout.status") != "confirmed"; {
			if time.Since(began) > 10*time.Second {
				t.Fatal("the confirm waits for the event of the create")
			}
		}
		if got := slices.Compact(names(s.hooks.all())); !reflect.DeepEqual(got, []string{"checkout.created"}) {
			t.Errorf("%q were sent before the first was accepted", got)
		}
		release()
		requests.Wait()
		sameList(t, "in the end", slices.Compact(names(s.hooks.all())),
			"checkout.created", "checkout.confirmed", "agreement.generated")
	})
}

func TestContract6NoOtherEventIsEverEmitted(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		created, _ := s.enrolled(t, "ORDER-1")
		for range 4 { // submitted, active and authorised, first payments due, last ones
			s.clock.forward(time.Minute)
			s.get(t, "KOWHAI", checkoutPath(created))
		}
		s.clock.forward(2 * 365 * 24 * time.Hour)
		s.get(t, "KOWHAI", checkoutPath(created))
		s.create(t, "ORDER-2") // and its payer never comes
		s.clock.forward(30 * 24 * time.Hour)
		s.restart(t, 0)
		r := s.post(t, "TUI", "/v1/provider-checkouts", order(legacyCreate, "ORDER-3"))
		s.setUp(t, r) // and its provider never confirms
		s.clock.forward(30 * 24 * time.Hour)
		s.get(t, "TUI", checkoutPath(r))
		s.restart(t, 0)
		sameList(t, "sent", names(s.hooks.all()), "checkout.created", "checkout.confirmed", "agreement.generated",
			"checkout.created", "checkout.created")
	})
}
