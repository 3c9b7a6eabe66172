package contract_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

var errCrashed = errors.New("the process has died")

// beforeSend and afterSend are the faults of the store of a process that dies after the commit of an event: before the event is
// sent, or before it is recorded as sent.
func beforeSend(call string) error {
	if slices.Contains([]string{"Extend", "Send"}, call) {
		return errCrashed
	}
	return afterSend(call)
}

func afterSend(call string) error {
	if call == "Settle" {
		return errCrashed
	}
	return nil
}

// silent is a sender that sends nothing once its process has died.
type silent struct {
	ports.Sender
	store *faulty
}

func (s silent) Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) error {
	if s.store.fault("Send") != nil {
		return ports.ErrBusy
	}
	return s.Sender.Send(ctx, to, d, attempt)
}

// crashes makes the sandbox use a store of a process that can die.
func crashes(c *service.Config, o *httpapi.Options) *faulty {
	store := withFaultyStore(c, o)
	c.Sender = silent{c.Sender, store}
	return store
}

// watched is a store that reports what a recovery does with it.
type watched struct {
	ports.Store
	found   chan []checkout.Lease // events that a request left behind, after each poll
	settled chan string           // event ids
}

func (w watched) Lease(ctx context.Context, q checkout.JobQuery) ([]checkout.Lease, error) {
	q.Limits = map[checkout.JobKind]int{checkout.JobDeliver: q.Limits[checkout.JobDeliver]}
	found, err := w.Store.Lease(ctx, q)
	w.found <- found
	return found, err
}

func (w watched) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome) error {
	err := w.Store.Settle(ctx, l, o)
	w.settled <- l.Job.ID
	return err
}

// restart runs a new process's recovery on the store: one poll for abandoned events, and the
// delivery of n of them. If n is 0, no checkout must be found.
func (s *suite) restart(t *testing.T, n int) {
	t.Helper()
	store := watched{s.Store, make(chan []checkout.Lease, 1000), make(chan string, 100)}
	c := s.Config
	c.Store = store
	if sender, died := c.Sender.(silent); died {
		c.Sender = sender.Sender
	}
	svc, err := service.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var run sync.WaitGroup
	run.Go(func() { svc.Run(ctx) })
	if found := <-store.found; n == 0 && len(found) > 0 {
		t.Errorf("recovery found the events %v, want none", found)
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
	contractWith(t, crashes, func(t *testing.T, s *suite, store *faulty) {
		store.fail(beforeSend)
		created, confirmed := s.enrolled(t, "ORDER-1")
		sameList(t, "sent before the restart", names(s.Receiver.Deliveries()))
		s.restart(t, 0) // too early: the requests may still be delivering
		s.Clock.Forward(10 * time.Second)
		s.restart(t, 3)

		got := s.Receiver.Deliveries()
		sameList(t, "sent after the restart, in order", names(got), "checkout.created", "checkout.confirmed", "agreement.generated")
		for i, request := range []response{created, confirmed, confirmed} {
			if !signedBy(kowhaiSecret, got[i]) || got[i].Header.Get("X-Request-Id") != request.Header.Get("X-Request-Id") ||
				got[i].Header.Get("X-Service-Delivery-Attempt") != "1" {
				t.Errorf("recovered %s with the headers %v", got[i].Body, got[i].Header)
			}
		}
		sameList(t, "on record", s.outcomes(t, "ORDER-1"),
			"checkout.created delivered 1", "checkout.confirmed delivered 1", "agreement.generated delivered 1")
		s.Clock.Forward(time.Hour)
		s.restart(t, 0)
	})
}

func TestContract6AnEventWhoseDeliveryWasNotRecordedComesAgainUnderTheSameID(t *testing.T) {
	contractWith(t, crashes, func(t *testing.T, s *suite, store *faulty) {
		store.fail(afterSend)
		s.Create(t, "ORDER-1")
		s.Clock.Forward(time.Minute)
		s.restart(t, 1)
		got := s.Receiver.Deliveries()
		if len(got) != 2 {
			t.Fatalf("%d deliveries, want 2", len(got))
		}
		if string(got[0].Body) != string(got[1].Body) || got[0].Header.Get("X-Service-Event-Id") != got[1].Header.Get("X-Service-Event-Id") {
			t.Errorf("delivered %s and then %s", got[0].Body, got[1].Body)
		}
		if !signedBy(kowhaiSecret, got[0]) || !signedBy(kowhaiSecret, got[1]) ||
			got[0].Header.Get("X-Service-Timestamp") == got[1].Header.Get("X-Service-Timestamp") {
			t.Error("the second run has no new signature")
		}
		sameList(t, "on record", s.outcomes(t, "ORDER-1"), "checkout.created delivered 1")
	})
}

func TestContract6ARecoveryTriesThreeTimesAndThenGivesUpForGood(t *testing.T) {
	contractWith(t, crashes, func(t *testing.T, s *suite, store *faulty) {
		store.fail(beforeSend)
		s.Receiver.AnswerWith(func(delivery) int { return http.StatusBadGateway })
		s.Create(t, "ORDER-1")
		s.Clock.Forward(time.Minute)
		s.restart(t, 1)
		if n := len(s.Receiver.Deliveries()); n != 3 {
			t.Errorf("%d attempts, want 3", n)
		}
		sameList(t, "on record", s.outcomes(t, "ORDER-1"), "checkout.created failed 3")
		s.Receiver.AnswerWith(func(delivery) int { return http.StatusOK })
		s.Clock.Forward(24 * time.Hour)
		s.restart(t, 0)
	})
}

func TestContract6DestinationAndSecretAreLookedUpAtDelivery(t *testing.T) {
	const newSecret = "whsec_another_0123456789abcdef"
	moved := strings.NewReplacer("HOOKS/KOWHAI", "HOOKS/MOVED", kowhaiSecret, newSecret).Replace(providers)
	contractWith(t, crashes, func(t *testing.T, s *suite, store *faulty) {
		store.fail(beforeSend)
		created := s.Create(t, "ORDER-1")
		s.Configure(t, moved)
		s.Clock.Forward(time.Minute)
		s.restart(t, 1)
		store.fail(nil)
		s.SetUp(t, created)
		s.Confirm(t, created)
		got := s.Receiver.Deliveries()
		sameList(t, "events", names(got), "checkout.created", "checkout.confirmed", "agreement.generated")
		for _, h := range got {
			if h.Provider != "MOVED" || !signedBy(newSecret, h) {
				t.Errorf("%s went to %s with %v", h.Body, h.Provider, h.Header)
			}
		}
	})
}

func TestContract6WithoutADestinationNothingIsSentThenOrLater(t *testing.T) {
	const kowhais, tuis = `"webhook": {"url": "HOOKS/KOWHAI", "signing_secret": "` + kowhaiSecret + `"},`,
		`, "webhook": {"url": "HOOKS/TUI", "signing_secret": "` + tuiSecret + `"}`
	contract(t, func(t *testing.T, s *suite) {
		without := strings.ReplaceAll(strings.Join(strings.Fields(providers), " "), kowhais, "")
		without = strings.ReplaceAll(without, tuis, "")
		if strings.Contains(without, "webhook") {
			t.Fatal("the destinations are still there")
		}
		s.Configure(t, without)
		configured := func(want bool) {
			t.Helper()
			if r := s.Send(t, http.MethodGet, "/v1/environment", ""); r.At("readiness.webhook_destinations_configured") != want {
				t.Errorf("environment answers %s, want destinations configured %v", r.Body, want)
			}
		}
		configured(false)
		created, confirmed := s.enrolled(t, "ORDER-1")
		if r := s.Get(t, "KOWHAI", created.CheckoutPath()); r.At("direct_debit.setup_complete") != true ||
			confirmed.String("agreement.id") == "" {
			t.Errorf("polling and confirm answer %s\n%s", r.Body, confirmed.Body)
		}
		open := s.Create(t, "ORDER-2")
		s.Configure(t, providers)
		configured(true)
		s.Clock.Forward(time.Hour)
		s.restart(t, 0)
		s.Replay(t, "ORDER-1")
		s.Confirm(t, created)
		sameList(t, "sent", names(s.Receiver.Deliveries()))
		sameList(t, "on record", s.outcomes(t, "ORDER-1"),
			"checkout.created not_configured 0", "checkout.confirmed not_configured 0", "agreement.generated not_configured 0")

		s.SetUp(t, open)
		s.Confirm(t, open)
		sameList(t, "sent of what came later", names(s.Receiver.Deliveries()), "checkout.confirmed", "agreement.generated")
	})
}

func TestContract6EventsOfACheckoutArriveInOrder(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		arrived, accepted := make(chan struct{}, 10), make(chan struct{})
		release := sync.OnceFunc(func() { close(accepted) })
		t.Cleanup(release)
		s.Receiver.AnswerWith(func(h delivery) int {
			if h.JSON.Text("event") == "checkout.created" {
				arrived <- struct{}{}
				<-accepted
			}
			return http.StatusOK
		})
		var requests sync.WaitGroup
		requests.Go(func() { s.Post(t, "KOWHAI", "/v1/provider-checkouts", order(catalogueCreate, "ORDER-1")) })
		<-arrived // and its receiver does not answer yet
		replay := s.Replay(t, "ORDER-1")
		s.SetUp(t, replay)
		requests.Go(func() {
			if r := s.Confirm(t, replay); r.Status != http.StatusOK {
				t.Errorf("confirm: %d %s", r.Status, r.Body)
			}
		})
		for began := time.Now(); s.Get(t, "KOWHAI", replay.CheckoutPath()).String("checkout.status") != "confirmed"; {
			if time.Since(began) > patience {
				t.Fatal("the confirm waits for the event of the create")
			}
		}
		if got := slices.Compact(names(s.Receiver.Deliveries())); !reflect.DeepEqual(got, []string{"checkout.created"}) {
			t.Errorf("%q were sent before the first was accepted", got)
		}
		release()
		requests.Wait()
		s.works(t)
		sameList(t, "in the end", slices.Compact(names(s.Receiver.Deliveries())),
			"checkout.created", "checkout.confirmed", "agreement.generated")
	})
}

func TestContract6NoOtherEventIsEverEmitted(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created, _ := s.enrolled(t, "ORDER-1")
		for range 4 { // submitted, active and authorised, first payments due, last ones
			s.Clock.Forward(time.Minute)
			s.Get(t, "KOWHAI", created.CheckoutPath())
		}
		s.Clock.Forward(2 * 365 * 24 * time.Hour)
		s.Get(t, "KOWHAI", created.CheckoutPath())
		s.Create(t, "ORDER-2") // and its payer never comes
		s.Clock.Forward(30 * 24 * time.Hour)
		s.restart(t, 0)
		r := s.Post(t, "TUI", "/v1/provider-checkouts", order(legacyCreate, "ORDER-3"))
		s.SetUp(t, r) // and its provider never confirms
		s.Clock.Forward(30 * 24 * time.Hour)
		s.Get(t, "TUI", r.CheckoutPath())
		s.restart(t, 0)
		sameList(t, "sent", names(s.Receiver.Deliveries()), "checkout.created", "checkout.confirmed", "agreement.generated",
			"checkout.created", "checkout.created")
	})
}
