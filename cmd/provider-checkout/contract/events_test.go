package contract_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// The signing secrets of the sandbox's providers.
const (
	kowhaiSecret = "whsec_kowhai_0123456789abcdef"
	tuiSecret    = "whsec_tui_0123456789abcdefgh"
)

// names returns the names of the events in deliveries, in order.
func names(all []delivery) (names []string) {
	for _, h := range all {
		names = append(names, h.JSON.Text("event"))
	}
	return names
}

// signedBy reports whether a delivery is signed with a secret, by the contract's formula.
func signedBy(secret string, h delivery) bool {
	return h.Header.Get("X-Service-Signature") == signature(secret, h.Header.Get("X-Service-Timestamp"), string(h.Body))
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
			if e.EventStatus() != events.Delivered {
				all = append(all, fmt.Sprintf("%s of %s: %s", e.Event().Name, d.Checkout.OrderID, e.EventStatus()))
			}
		}
	}
	return all
}
