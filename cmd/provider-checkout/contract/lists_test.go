package contract_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Beyond the contract: a provider lists its events.

const eventsPath = "/v1/events"

// entries returns the entries of a page of the list.
func entries(t *testing.T, r response) (all []map[string]any) {
	t.Helper()
	list, ok := r.At("events").([]any)
	if r.Status != http.StatusOK || !ok {
		t.Fatalf("a list answers %d %s", r.Status, r.Body)
	}
	for _, e := range list {
		all = append(all, e.(map[string]any))
	}
	return all
}

// walk returns the entries of a list from a cursor to its end, and the cursor to go on from.
func (s *suite) walk(t *testing.T, provider, after string, limit int) (all []map[string]any, next string) {
	t.Helper()
	for {
		r := s.Get(t, provider, fmt.Sprintf("%s?limit=%d&after=%s", eventsPath, limit, after))
		page := entries(t, r)
		if len(page) > limit {
			t.Fatalf("a page of %d has %d entries", limit, len(page))
		}
		all, after = append(all, page...), r.String("next")
		if len(page) == 0 {
			return all, after
		}
	}
}

func TestTheListOfEventsHasTheTextsThatAreSentOldestFirst(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		if r := s.Get(t, "KOWHAI", eventsPath); strings.TrimSpace(r.Body) != `{"success":true,"events":[],"next":""}` {
			t.Errorf("an empty list answers %d %s", r.Status, r.Body)
		}
		s.enrolled(t, "ORDER-1")
		s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusInternalServerError })
		s.Create(t, "ORDER-2")
		deliveries := s.Receiver.Deliveries()
		r := s.Get(t, "KOWHAI", eventsPath)
		page := entries(t, r)
		if len(page) != 4 {
			t.Fatalf("the list is %s", r.Body)
		}
		for i, e := range page {
			sent, status, attempts := deliveries[i], "delivered", 1
			if i == 3 {
				status, attempts = "failed", 3
			}
			want := map[string]any{"cursor": e["cursor"], "event_id": sent.JSON.Text("event_id"), "event": sent.JSON.Text("event"),
				"created_at": sent.JSON.Text("created_at"), "status": status, "attempts": fmt.Sprint(attempts), "body": string(sent.Body)}
			e["attempts"] = fmt.Sprint(e["attempts"])
			if fmt.Sprint(e) != fmt.Sprint(want) {
				t.Errorf("entry %d is\n%v\nwant\n%v", i, e, want)
			}
		}
		next := r.String("next")
		if next != page[3]["cursor"] {
			t.Errorf("next is %s, want the last cursor %s", next, page[3]["cursor"])
		}
		if r := s.Get(t, "KOWHAI", eventsPath+"?after="+next); len(entries(t, r)) > 0 || r.String("next") != next {
			t.Errorf("behind the last event the list is %s", r.Body)
		}
		if all, end := s.walk(t, "KOWHAI", "", 1); len(all) != 4 || end != next {
			t.Errorf("event by event the list is %v, and ends at %s", all, end)
		}
		of := entries(t, s.Get(t, "KOWHAI", eventsPath+"?provider_order_id=ORDER-2&limit=&unknown=x"))
		if len(of) != 1 || of[0]["event_id"] != page[3]["event_id"] {
			t.Errorf("of ORDER-2 the list is %v", of)
		}
	})
}

// A receiver that reads the list while events are added gets each of them once.
func TestTheListOfEventsLeavesNothingOutWhileEventsArrive(t *testing.T) {
	orders := testlevel.Of(20, 200)
	contract(t, func(t *testing.T, s *suite) {
		both := [2]*suite{s, s.beside(t)}
		var creating sync.WaitGroup
		const clients = 8
		for first := range clients {
			creating.Go(func() {
				for i := first; i < orders; i += clients {
					both[i%2].Create(t, fmt.Sprint("ORDER-", i))
				}
			})
		}
		created := make(chan struct{})
		go func() { creating.Wait(); close(created) }()
		seen, cursor := map[any]int{}, ""
		for done := false; !done; {
			select {
			case <-created:
				done = true
			default:
			}
			var page []map[string]any
			page, cursor = both[len(seen)%2].walk(t, "KOWHAI", cursor, 3)
			for _, e := range page {
				seen[e["event_id"]]++
			}
		}
		if len(seen) != orders {
			t.Errorf("the reader got %d events, want %d", len(seen), orders)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("the reader got %s %d times", id, n)
			}
		}
	})
}

func TestAProviderListsNoEventOfAnother(t *testing.T) {
	among(t, func(t *testing.T, s *suite, ready map[string]response) {
		for code, created := range ready {
			for _, query := range []string{"", "?provider_order_id=SAME"} {
				page := entries(t, s.Get(t, code, eventsPath+query))
				if len(page) != 1 || !strings.Contains(page[0]["body"].(string), created.String("checkout.checkout_id")) {
					t.Errorf("the list of %s is %v", code, page)
				}
			}
		}
	})
}

func TestTheListOfEventsHasAnEventFor400Days(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.Create(t, "ORDER-1")
		s.Clock.Forward(400*day - time.Hour)
		if n := len(entries(t, s.Get(t, "KOWHAI", eventsPath))); n != 1 {
			t.Errorf("before the end of 400 days the list has %d events", n)
		}
		s.Clock.Forward(2 * time.Hour)
		if r := s.Get(t, "KOWHAI", eventsPath); len(entries(t, r)) != 0 || r.String("next") != "" {
			t.Errorf("after 400 days the list is %s", r.Body)
		}
	})
}

func TestAListNamesTheParameterThatItCannotRead(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for field, values := range map[string][]string{
			"after":             {"x", "-1", "1.", ".1", "1.-1", "1.1.1", "%201", "+1", "9223372036854775808", "evt_1", strings.Repeat("1", 201), "1&after=2"},
			"limit":             {"0", "-1", "101", "x", "1.5", "1&limit=1"},
			"provider_order_id": {"%00", "%ff", "a%0Ab", strings.Repeat("a", 256), "a&provider_order_id=b"},
		} {
			for _, value := range values {
				refused(t, s.Get(t, "KOWHAI", eventsPath+"?"+field+"="+value), http.StatusBadRequest, "VALIDATION_ERROR", field)
			}
		}
		refused(t, s.Get(t, "KOWHAI", eventsPath+"?after=%zz"), http.StatusBadRequest, "VALIDATION_ERROR")
		refused(t, s.Get(t, "KOWHAI", eventsPath+"?after=1&after=2&limit=0"), http.StatusBadRequest, "VALIDATION_ERROR", "after", "limit")
		s.Create(t, "ORDER-1")
		_, cursor := s.walk(t, "KOWHAI", "", 100)
		last := url.Values{"after": {cursor}, "limit": {"100"}, "provider_order_id": {"ō/ &?"}}
		if r := s.Get(t, "KOWHAI", eventsPath+"?"+last.Encode()); len(entries(t, r)) != 0 || r.String("next") != cursor {
			t.Errorf("the list behind the last event answers %d %s", r.Status, r.Body)
		}
	})
}

// A list is refused as a poll is.
func TestAListIsRefusedAsAPollIs(t *testing.T) {
	limited := func(c *service.Config, o *httpapi.Options) *faulty { o.RateLimit = 15; return withFaultyStore(c, o) }
	contractWith(t, limited, func(t *testing.T, s *suite, store *faulty) {
		list := func() response { return s.Get(t, "KOWHAI", eventsPath) }
		refused(t, s.Send(t, http.MethodGet, eventsPath, ""), http.StatusUnauthorized, "MISSING_API_KEY")
		refused(t, s.Send(t, http.MethodGet, eventsPath, "", "Authorization", "Bearer unknown"), http.StatusForbidden, "INVALID_API_KEY")
		refused(t, s.Post(t, "KOWHAI", eventsPath, "{}"), http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
		for failure, status := range map[error]int{errors.New(inside): http.StatusInternalServerError, ports.ErrBusy: http.StatusServiceUnavailable} {
			store.fail(func(call string) error {
				if call == "Jobs" {
					return failure
				}
				return nil
			})
			refused(t, list(), status, "INTERNAL_ERROR")
		}
		store.fail(nil)
		s.Configure(t, strings.Replace(sandbox.Providers, `"active": true`, `"active": false`, 1))
		refused(t, list(), http.StatusForbidden, "PROVIDER_NOT_ENABLED")
		s.Configure(t, `{"providers": []}`)
		refused(t, list(), http.StatusNotFound, "PROVIDER_NOT_FOUND")
		s.Configure(t, sandbox.Providers)
		if r := s.Send(t, http.MethodHead, eventsPath, "", "Authorization", "Bearer "+s.Keys["KOWHAI"]); r.Status != http.StatusOK || r.Body != "" {
			t.Errorf("HEAD answers %d %s", r.Status, r.Body)
		}
		limitReached := false
		for range 200 {
			if r := list(); r.Status == http.StatusTooManyRequests {
				refused(t, r, http.StatusTooManyRequests, "RATE_LIMITED")
				limitReached = true
				break
			}
		}
		if !limitReached {
			t.Error("200 calls in a row are admitted")
		}
	})
}
