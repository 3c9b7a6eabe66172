package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// The signing secrets of the sandbox's providers.
const (
	kowhaiSecret = "whsec_kowhai_0123456789abcdef"
	tuiSecret    = "whsec_tui_0123456789abcdefgh"
)

// enrolled takes an order of KOWHAI from create to confirm.
func (s *suite) enrolled(t *testing.T, id string) (created, confirmed response) {
	t.Helper()
	created = s.Create(t, id)
	s.SetUp(t, created)
	confirmed = s.Confirm(t, created)
	if confirmed.Status != http.StatusOK {
		t.Fatalf("confirm: %d %s", confirmed.Status, confirmed.Body)
	}
	return created, confirmed
}

// names returns the names of the events in deliveries, in order.
func names(all []delivery) (names []string) {
	for _, h := range all {
		names = append(names, h.JSON.Text("event"))
	}
	return names
}

// outcomes returns the events on record of an order with status and attempts: "checkout.created delivered 1".
func (s *suite) outcomes(t *testing.T, id string) (all []string) {
	t.Helper()
	for _, d := range s.Records(t) {
		if d.Checkout.OrderID != id {
			continue
		}
		for _, e := range d.Events() {
			all = append(all, fmt.Sprintf("%s %s %d", e.Event.Name, e.Status, e.Attempts))
		}
	}
	return all
}

func sameList(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// signedBy reports whether a delivery is signed with a secret, by the contract's formula.
func signedBy(secret string, h delivery) bool {
	return h.Header.Get("X-Service-Signature") == signature(secret, h.Header.Get("X-Service-Timestamp"), string(h.Body))
}

func TestContract6TheEnvelopeAndTheDataHoldExactlyTheirFields(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		began := time.Now().Truncate(time.Millisecond)
		created, confirmed := s.enrolled(t, "ORDER-1")
		got, record := s.Receiver.Deliveries(), s.Records(t)[0]
		sameList(t, "events", names(got), "checkout.created", "checkout.confirmed", "agreement.generated")
		data := func(more members) members {
			all := members{"provider_code": "KOWHAI", "provider_order_id": "ORDER-1",
				"checkout_id":    created.At("checkout.checkout_id"),
				"opportunity_id": created.At("records.opportunity_id")}
			maps.Copy(all, more)
			return all
		}
		for i, want := range []struct {
			request response
			data    members
		}{
			{created, data(members{"dda_id": created.At("records.dda_id"), "contact_id": created.At("records.contact_id")})},
			{confirmed, data(members{"dda_id": created.At("records.dda_id"), "status": "Confirmed",
				"payment_plan_agreement_id": confirmed.At("agreement.id")})},
			{confirmed, data(members{"payment_plan_agreement_id": confirmed.At("agreement.id"),
				"payment_plan_agreement_number": confirmed.At("agreement.number"),
				"pdf_content_document_id":       record.Checkout.DocumentID(catalogue.Sandbox, record.Agreement.Number), "agreement_version": record.Agreement.Version})},
		} {
			body := members(got[i].JSON)
			if wants := (members{"event_id": body["event_id"], "event": body["event"], "created_at": body["created_at"],
				"request_id":  want.request.Header.Get("X-Request-Id"),
				"environment": "sandbox", "data": want.data}); !reflect.DeepEqual(body, wants) {
				t.Errorf("event %d is %s\nwant %v", i, got[i].Body, wants)
			}
			id, at := got[i].JSON.Text("event_id"), got[i].JSON.Text("created_at")
			if !regexp.MustCompile(`^evt_[!-~]+$`).MatchString(id) || id != record.Events()[i].Event.ID {
				t.Errorf("event_id %q, on record %q", id, record.Events()[i].Event.ID)
			}
			when, err := time.Parse(time.RFC3339Nano, at)
			if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`).MatchString(at) || err != nil ||
				when.Before(began) || when.After(got[i].At) {
				t.Errorf("created_at %q, want milliseconds in UTC between %v and %v", at, began, got[i].At)
			}
			if !regexp.MustCompile(`^req_[!-~]+$`).MatchString(got[i].JSON.Text("request_id")) {
				t.Errorf("request_id %q", got[i].JSON.At("request_id"))
			}
		}
		if !regexp.MustCompile(`^\d{4}-\d\d-\d\d$`).MatchString(record.Agreement.Version) {
			t.Errorf("agreement_version %q is not date-shaped", record.Agreement.Version)
		}
		if got[0].JSON.At("event_id") == got[1].JSON.At("event_id") || got[1].JSON.At("event_id") == got[2].JSON.At("event_id") {
			t.Error("two events share an id")
		}
	})
}

func TestContract6ADeliveryHasTheseHeadersAndNoOthers(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.enrolled(t, "ORDER-1")
		for _, h := range s.Receiver.Deliveries() {
			timestamp := h.Header.Get("X-Service-Timestamp")
			seconds, err := strconv.ParseInt(timestamp, 10, 64)
			if age := h.At.Sub(time.Unix(seconds, 0)); err != nil || age < 0 || age > 30*time.Second {
				t.Errorf("timestamp %q is %v old", timestamp, age)
			}
			got := h.Header.Clone()
			maps.DeleteFunc(got, func(name string, _ []string) bool { return !strings.HasPrefix(name, "X-") })
			if want := (http.Header{
				"X-Service-Event":                 {h.JSON.Text("event")},
				"X-Service-Event-Id":              {h.JSON.Text("event_id")},
				"X-Service-Timestamp":             {timestamp},
				"X-Service-Signature":             {h.Header.Get("X-Service-Signature")},
				"X-Service-Delivery-Attempt":      {"1"},
				"X-Service-Delivery-Max-Attempts": {"3"},
				"X-Request-Id":                    {h.JSON.Text("request_id")},
			}); !reflect.DeepEqual(got, want) {
				t.Errorf("headers of %s: %v\nwant %v", h.JSON.Text("event"), got, want)
			}
			if h.Header.Get("Content-Type") != "application/json" {
				t.Errorf("Content-Type %q", h.Header.Get("Content-Type"))
			}
			if h.Header.Get("Authorization") != "" || h.Header.Get("Cookie") != "" {
				t.Error("a delivery carries credentials")
			}
		}
	})
}

func TestContract6ASignatureIsTheHMACOfTimestampAndBodyUnderTheProvidersOwnSecret(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.enrolled(t, "ORDER-1")
		if r := s.Post(t, "TUI", "/v1/provider-checkouts", order(legacyCreate, "ORDER-1")); r.Status != http.StatusCreated {
			t.Fatalf("create: %d %s", r.Status, r.Body)
		}
		got := s.Receiver.Deliveries()
		if len(got) != 4 {
			t.Fatalf("%d deliveries, want 4: %q", len(got), names(got))
		}
		for i, h := range got {
			own, other := kowhaiSecret, tuiSecret
			if i == 3 {
				own, other = tuiSecret, kowhaiSecret
			}
			if !signedBy(own, h) || signedBy(other, h) || h.Provider != h.JSON.Text("data.provider_code") {
				t.Errorf("%s went to %s with %q, which is not the signature of its secret",
					h.Body, h.Provider, h.Header.Get("X-Service-Signature"))
			}
			h.Body = append(slices.Clone(h.Body), ' ')
			if signedBy(own, h) {
				t.Error("the signature fits another body too")
			}
		}
	})
}

func TestContract6ThreeAttemptsAfter0Then250Then750Milliseconds(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.Receiver.AnswerWith(func(delivery) int { return http.StatusServiceUnavailable })
		times := []time.Time{time.Now()}
		s.Create(t, "ORDER-1")
		end := time.Now()
		for len(s.Receiver.Deliveries()) < 3 && time.Since(end) < patience {
			time.Sleep(5 * time.Millisecond) // on a slow machine, whose create waits no longer
		}
		got := s.Receiver.Deliveries()
		if len(got) != 3 {
			t.Fatalf("%d attempts, want 3", len(got))
		}
		for _, h := range got {
			times = append(times, h.At)
		}
		const late = 1500 * time.Millisecond // what a busy machine may add to each
		const waited = 2500 * time.Millisecond
		for i, delay := range []time.Duration{0, 250 * time.Millisecond, 750 * time.Millisecond} {
			if took := times[i+1].Sub(times[i]); took < delay || testlevel.Between(times[i], times[i+1]) > delay+late {
				t.Errorf("attempt %d came %v after the one before it, want %v", i+1, took, delay)
			}
		}
		if times[3].After(end) && end.Sub(times[0]) < waited {
			t.Error("the create was answered before its last attempt: it retries within the request")
		}
		for i, h := range got {
			if h.Header.Get("X-Service-Delivery-Attempt") != strconv.Itoa(i+1) || !signedBy(kowhaiSecret, h) {
				t.Errorf("attempt %d has the headers %v", i+1, h.Header)
			}
			h.Header.Del("X-Service-Delivery-Attempt")
			if string(h.Body) != string(got[0].Body) || !reflect.DeepEqual(h.Header, got[0].Header) {
				t.Errorf("attempt %d differs from the first:\n%v %s\n%v %s", i+1, h.Header, h.Body, got[0].Header, got[0].Body)
			}
		}
	})
}

func TestContract6OnlyA2xxAcceptsAnEventAndNoAttemptFollowsIt(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.Receiver.AnswerWith(func(h delivery) int {
			first, second, _ := strings.Cut(h.JSON.Text("data.provider_order_id"), ",")
			if h.Header.Get("X-Service-Delivery-Attempt") == "1" || second == "" {
				second = first
			}
			status, _ := strconv.Atoi(second)
			return status
		})
		want := map[string]string{"500,202": "delivered 2", "302,200": "delivered 2"}
		for _, status := range []int{200, 201, 202, 204, 206, 299} {
			want[strconv.Itoa(status)] = "delivered 1"
		}
		for _, status := range []int{300, 301, 304, 400, 401, 404, 409, 410, 429, 500, 503} {
			want[strconv.Itoa(status)] = "failed 3"
		}
		var all sync.WaitGroup
		for id := range want {
			all.Go(func() {
				if r := s.Post(t, "KOWHAI", "/v1/provider-checkouts", order(catalogueCreate, id)); r.Status != http.StatusCreated {
					t.Errorf("create while the receiver answers %s: %d %s", id, r.Status, r.Body)
				}
			})
		}
		all.Wait()
		sent := map[string]int{}
		for _, h := range s.Receiver.Deliveries() {
			sent[h.JSON.Text("data.provider_order_id")]++
		}
		for id, outcome := range want {
			sameList(t, "receiver that answers "+id, s.outcomes(t, id), "checkout.created "+outcome)
			if !strings.HasSuffix(outcome, strconv.Itoa(sent[id])) {
				t.Errorf("receiver that answers %s got %d attempts, want %s", id, sent[id], outcome)
			}
		}
	})
}

func TestContract6ARedirectIsAFailedAttemptAndNotFollowed(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		redirects := map[string]int{"1": 302, "2": 307, "3": 308}
		from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", s.Receiver.URL+"/ELSEWHERE")
			w.WriteHeader(redirects[r.Header.Get("X-Service-Delivery-Attempt")])
		}))
		defer from.Close()
		s.Configure(t, strings.ReplaceAll(providers, "HOOKS/KOWHAI", from.URL))
		s.Create(t, "ORDER-1")
		sameList(t, "on record", s.outcomes(t, "ORDER-1"), "checkout.created failed 3")
		sameList(t, "where the redirects led", names(s.Receiver.Deliveries()))
	})
}

func TestContract6AReceiverThatFailsChangesNoAnswer(t *testing.T) {
	testlevel.Full(t) // it waits for the second and the third attempt
	contract(t, func(t *testing.T, s *suite) {
		s.Receiver.AnswerWith(func(delivery) int { return http.StatusInternalServerError })
		created, confirmed := s.enrolled(t, "ORDER-1")
		if created.At("success") != true || confirmed.At("success") != true ||
			confirmed.At("already_confirmed") != false || confirmed.At("agreement.pdf_generated") != true {
			t.Errorf("answers %s\n%s", created.Body, confirmed.Body)
		}
		want := []string{"checkout.created failed 3", "checkout.confirmed failed 3", "agreement.generated failed 3"}
		for began := time.Now(); !slices.Equal(s.outcomes(t, "ORDER-1"), want) && time.Since(began) < patience; {
			time.Sleep(100 * time.Millisecond) // on a slow machine the call goes back before its events have been tried
		}
		sameList(t, "on record", s.outcomes(t, "ORDER-1"), want...)
		sameList(t, "each is tried though the former failed", slices.Compact(names(s.Receiver.Deliveries())),
			"checkout.created", "checkout.confirmed", "agreement.generated")
	})
}

func TestContract6ReplaysAndRepeatsAndRefusalsEmitNothing(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		s.Confirm(t, created) // too early
		s.Replay(t, "ORDER-1")
		s.Post(t, "KOWHAI", "/v1/provider-checkouts", set(t, order(catalogueCreate, "ORDER-1"), "plan.payment_frequency", `"Fortnightly"`))
		s.Clock.Forward(7 * 24 * time.Hour) // the next replay makes a new token
		replay := s.Replay(t, "ORDER-1")
		sameList(t, "before the setup", names(s.Receiver.Deliveries()), "checkout.created")
		s.SetUp(t, replay)
		s.Get(t, "KOWHAI", created.CheckoutPath())
		for range 3 {
			if r := s.Confirm(t, replay); r.Status != http.StatusOK {
				t.Errorf("confirm: %d %s", r.Status, r.Body)
			}
		}
		s.Replay(t, "ORDER-1")
		s.Clock.Forward(time.Hour) // the mandate becomes active and authorised
		s.Get(t, "KOWHAI", created.CheckoutPath())
		sameList(t, "in the end", names(s.Receiver.Deliveries()), "checkout.created", "checkout.confirmed", "agreement.generated")
		sameList(t, "on record", s.outcomes(t, "ORDER-1"),
			"checkout.created delivered 1", "checkout.confirmed delivered 1", "agreement.generated delivered 1")
	})
}

// fewWorkers wraps a receiver and the pages of a site: a few workers serve both, first come, first served.
type fewWorkers chan struct{}

func (f fewWorkers) page(call func() response) (r response, took time.Duration) {
	f <- struct{}{}
	defer func() { <-f }()
	began := time.Now()
	r = call()
	return r, testlevel.Elapsed(began)
}

// A site whose workers all wait for answers has no worker for the events. It gets its answers all the same, and no event is lost.
func TestContract6ASiteWithFewWorkersGetsItsAnswersAndItsEvents(t *testing.T) {
	testlevel.Full(t)
	for workers, enrolments := range map[int]int{1: 1, 8: 16} {
		t.Run(strconv.Itoa(workers), func(t *testing.T) {
			contract(t, func(t *testing.T, s *suite) {
				site := make(fewWorkers, workers)
				s.Receiver.AnswerWith(func(delivery) int {
					site <- struct{}{}
					defer func() { <-site }()
					return http.StatusNoContent
				})
				for round := range testlevel.Runs(t, 1) {
					s.enrolAtOnce(t, site, enrolments, round)
				}
			})
		})
	}
}

// enrolAtOnce has the pages of a site create and confirm checkouts at once. Then the events that have failed are sent again, and every
// event is delivered.
func (s *suite) enrolAtOnce(t *testing.T, site fewWorkers, enrolments, round int) {
	var all sync.WaitGroup
	for i := range enrolments {
		id := fmt.Sprintf("ORDER-%d-%d", round, i)
		all.Go(func() {
			created, took := site.page(func() response { return s.Create(t, id) })
			s.SetUp(t, created)
			confirmed, longer := site.page(func() response { return s.Confirm(t, created) })
			if took = max(took, longer); took > 3*time.Second || confirmed.Status != http.StatusOK {
				t.Errorf("%s: a call took %v; the confirm was answered %d", id, took, confirmed.Status)
			}
		})
	}
	all.Wait()
	s.works(t) // until each event is delivered or has failed
	s.retryEvents(t)
	if lost := s.lost(t); len(lost) > 0 {
		t.Errorf("events that were not delivered: %q", lost)
	}
}

// retryEvents has an operator send the events again that have failed.
func (s *suite) retryEvents(t *testing.T) {
	t.Helper()
	failed, err := s.Store.Jobs(t.Context(), checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}, State: checkout.JobFailed}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.operator("").Retry(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
	s.works(t)
}

// lost returns the events that are not delivered.
func (s *suite) lost(t *testing.T) (all []string) {
	for _, d := range s.Records(t) {
		for _, e := range d.Events() {
			if e.Status != events.Delivered {
				all = append(all, fmt.Sprintf("%s of %s: %s", e.Event.Name, d.Checkout.OrderID, e.Status))
			}
		}
	}
	return all
}
