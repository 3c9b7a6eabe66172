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
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Beyond the contract: a provider lists its events and its enrolments.

const eventsPath, enrolmentsPath = "/v1/events", "/v1/enrolments"

// entries returns the entries of a page of a list.
func entries(t *testing.T, r response, name string) (all []map[string]any) {
	t.Helper()
	list, ok := r.At(name).([]any)
	if r.Status != http.StatusOK || !ok {
		t.Fatalf("a list answers %d %s", r.Status, r.Body)
	}
	for _, e := range list {
		all = append(all, e.(map[string]any))
	}
	return all
}

// walk returns the entries of a list from a cursor to its end, and the cursor to go on from.
func (s *suite) walk(t *testing.T, provider, path, after string, limit int) (all []map[string]any, next string) {
	t.Helper()
	for {
		r := s.Get(t, provider, fmt.Sprintf("%s?limit=%d&after=%s", path, limit, after))
		page := entries(t, r, strings.TrimPrefix(path, "/v1/"))
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
		if r := s.Get(t, "KOWHAI", eventsPath); strings.TrimSpace(r.Body) != `{"success":true,"events":[],"next":"0"}` {
			t.Errorf("an empty list answers %d %s", r.Status, r.Body)
		}
		s.enrolled(t, "ORDER-1")
		s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusInternalServerError })
		s.Create(t, "ORDER-2")
		deliveries := s.Receiver.Deliveries()
		r := s.Get(t, "KOWHAI", eventsPath)
		page := entries(t, r, "events")
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
		if r := s.Get(t, "KOWHAI", eventsPath+"?after="+next); len(entries(t, r, "events")) > 0 || r.String("next") != next {
			t.Errorf("behind the last event the list is %s", r.Body)
		}
		if all, end := s.walk(t, "KOWHAI", eventsPath, "", 1); len(all) != 4 || end != next {
			t.Errorf("event by event the list is %v, and ends at %s", all, end)
		}
		of := entries(t, s.Get(t, "KOWHAI", eventsPath+"?provider_order_id=ORDER-2&limit=&unknown=x"), "events")
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
		for i := range orders {
			creating.Go(func() { both[i%2].Create(t, fmt.Sprint("ORDER-", i)) })
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
			page, cursor = both[len(seen)%2].walk(t, "KOWHAI", eventsPath, cursor, 3)
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
				page := entries(t, s.Get(t, code, eventsPath+query), "events")
				if len(page) != 1 || !strings.Contains(page[0]["body"].(string), created.String("checkout.checkout_id")) {
					t.Errorf("the list of %s is %v", code, page)
				}
			}
		}
	})
}

func TestAnEventThatTheProviderDoesNotListIsInNoList(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.Configure(t, listing("KOWHAI", `"checkout.confirmed"`))
		s.enrolled(t, "ORDER-1")
		page := entries(t, s.Get(t, "KOWHAI", eventsPath), "events")
		if len(page) != 1 || page[0]["event"] != "checkout.confirmed" {
			t.Errorf("the list is %v", page)
		}
	})
}

func TestTheListOfEventsHasAnEventFor400Days(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.Create(t, "ORDER-1")
		s.Clock.Forward(400*day - time.Second)
		if n := len(entries(t, s.Get(t, "KOWHAI", eventsPath), "events")); n != 1 {
			t.Errorf("before the end of 400 days the list has %d events", n)
		}
		s.Clock.Forward(time.Minute)
		if r := s.Get(t, "KOWHAI", eventsPath); len(entries(t, r, "events")) != 0 || r.String("next") != "0" {
			t.Errorf("after 400 days the list is %s", r.Body)
		}
	})
}

func TestAListNamesTheParameterThatItCannotRead(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for field, values := range map[string][]string{
			"after":             {"x", "-1", "01", "1.0", "%201", "+1", "9223372036854775808", "evt_1", "1&after=2"},
			"limit":             {"0", "-1", "101", "x", "1.5", "1&limit=1"},
			"provider_order_id": {"%00", "%ff", "a%0Ab", strings.Repeat("a", 256), "a&provider_order_id=b"},
		} {
			for _, value := range values {
				refused(t, s.Get(t, "KOWHAI", eventsPath+"?"+field+"="+value), http.StatusBadRequest, "VALIDATION_ERROR", field)
			}
			refused(t, s.Get(t, "KOWHAI", eventsPath+"?"+strings.ToUpper(field)+"=1"), http.StatusBadRequest, "VALIDATION_ERROR", field)
		}
		refused(t, s.Get(t, "KOWHAI", eventsPath+"?after=%zz"), http.StatusBadRequest, "VALIDATION_ERROR")
		refused(t, s.Get(t, "KOWHAI", eventsPath+"?after=x&limit=0"), http.StatusBadRequest, "VALIDATION_ERROR", "after", "limit")
		all := url.Values{"after": {"9223372036854775807"}, "limit": {"100"}, "provider_order_id": {"ō/ &?"}}
		if r := s.Get(t, "KOWHAI", eventsPath+"?"+all.Encode()); len(entries(t, r, "events")) != 0 || r.String("next") != all.Get("after") {
			t.Errorf("the latest cursor that there can be is answered %d %s", r.Status, r.Body)
		}
	})
}

// A list is refused as a poll is.
func TestAListIsRefusedAsAPollIs(t *testing.T) {
	limited := func(c *service.Config, o *httpapi.Options) *faulty { o.RateLimit = 15; return withFaultyStore(c, o) }
	contractWith(t, limited, func(t *testing.T, s *suite, store *faulty) {
		for _, path := range []string{eventsPath, enrolmentsPath} {
			list := func() response { return s.Get(t, "KOWHAI", path) }
			refused(t, s.Send(t, http.MethodGet, path, ""), http.StatusUnauthorized, "MISSING_API_KEY")
			refused(t, s.Send(t, http.MethodGet, path, "", "Authorization", "Bearer unknown"), http.StatusForbidden, "INVALID_API_KEY")
			refused(t, s.Post(t, "KOWHAI", path, "{}"), http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
			for failure, status := range map[error]int{errors.New(inside): http.StatusInternalServerError, ports.ErrBusy: http.StatusServiceUnavailable} {
				store.fail(func(call string) error {
					if call == "a list" {
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
			if r := s.Send(t, http.MethodHead, path, "", "Authorization", "Bearer "+s.Keys["KOWHAI"]); r.Status != http.StatusOK || r.Body != "" {
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
			s.Clock.Forward(time.Minute)
		}
	})
}

// resend has an event of a provider sent again.
func (s *suite) resend(t *testing.T, provider, id string) response {
	t.Helper()
	return s.Post(t, provider, eventsPath+"/"+id+"/redeliver", "")
}

func TestAProviderHasAnEventSentAgainAndTheJournalNamesItsKey(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusInternalServerError })
		s.Create(t, "ORDER-1")
		s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusNoContent })
		id := s.record(t, "ORDER-1").Events()[0].Event.ID
		for n := range 2 { // once it has failed, and once it is delivered
			r := s.resend(t, "KOWHAI", id)
			if want := `{"success":true,"event_id":"` + id + `"}`; r.Status != http.StatusAccepted || strings.TrimSpace(r.Body) != want {
				t.Fatalf("answer %d %s, want 202 %s", r.Status, r.Body, want)
			}
			s.works(t)
			all := s.Receiver.Deliveries()
			first, last := all[0], all[len(all)-1]
			if len(all) != 4+n || string(last.Body) != string(first.Body) || !signedBy(kowhaiSecret, last) {
				t.Fatalf("%d deliveries, the last %s; want the event once more", len(all), last.Body)
			}
			journal := s.record(t, "ORDER-1").Moments
			m := journal[len(journal)-1]
			if m.Kind != checkout.MomentEventDelivered || m.Actor != checkout.ProviderActor(catalogue.KeyID(s.Keys["KOWHAI"])) ||
				m.RequestID != r.Header.Get("X-Request-Id") || !strings.Contains(m.Detail, id) {
				t.Errorf("the journal ends with %+v", m)
			}
			sameList(t, "on record", s.outcomes(t, "ORDER-1"), fmt.Sprint("checkout.created delivered ", 4+n))
			s.Clock.Forward(time.Second)
		}
	})
}

func TestAProviderHasOneEventASecondSentAgain(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.Create(t, "ORDER-1")
		id := s.record(t, "ORDER-1").Events()[0].Event.ID
		for range 3 {
			if r := s.resend(t, "KOWHAI", id); r.Status != http.StatusAccepted {
				t.Errorf("answer %d %s", r.Status, r.Body)
			}
			r := s.resend(t, "KOWHAI", id)
			if refused(t, r, http.StatusTooManyRequests, "RATE_LIMITED"); r.Header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After is %q", r.Header.Get("Retry-After"))
			}
			refused(t, s.resend(t, "TUI", id), http.StatusNotFound, "EVENT_NOT_FOUND") // whose second is its own
			s.Clock.Forward(time.Second)
		}
	}, func(_ *service.Config, o *httpapi.Options) { o.RateLimit = 100 })
}

func TestOnlyAnEventOfTheProvidersListIsSentAgain(t *testing.T) {
	contractWith(t, withFaultyStore, func(t *testing.T, s *suite, store *faulty) {
		s.Create(t, "ORDER-1")
		id := s.record(t, "ORDER-1").Events()[0].Event.ID
		again := func(provider, id string) response { s.Clock.Forward(time.Second); return s.resend(t, provider, id) }
		alike(t, "another provider's event", again("TUI", id), again("TUI", "evt_1f0f8a52-6c56-5d8f-9a55-0d2b9a3f6f10"))
		for _, unknown := range []string{"x", "%20", "%00", "%FF", strings.ToUpper(id), strings.Repeat("a", 4000)} {
			refused(t, again("KOWHAI", unknown), http.StatusNotFound, "EVENT_NOT_FOUND")
		}
		refused(t, again("KOWHAI", "a%2Fb"), http.StatusNotFound, "NOT_FOUND")
		path := eventsPath + "/" + id + "/redeliver"
		refused(t, s.Send(t, http.MethodPost, path, ""), http.StatusUnauthorized, "MISSING_API_KEY")
		refused(t, s.Send(t, http.MethodPost, path, "", "Authorization", "Bearer unknown"), http.StatusForbidden, "INVALID_API_KEY")
		refused(t, s.Get(t, "KOWHAI", path), http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
		store.fail(func(string) error { return errors.New(inside) })
		refused(t, again("KOWHAI", id), http.StatusInternalServerError, "INTERNAL_ERROR")
		store.fail(func(string) error { return ports.ErrBusy })
		refused(t, again("KOWHAI", id), http.StatusServiceUnavailable, "INTERNAL_ERROR")
		store.fail(nil)
		s.Configure(t, strings.Replace(sandbox.Providers, `"active": true`, `"active": false`, 1))
		refused(t, again("KOWHAI", id), http.StatusForbidden, "PROVIDER_NOT_ENABLED")
		s.Configure(t, `{"providers": []}`)
		refused(t, again("KOWHAI", id), http.StatusNotFound, "PROVIDER_NOT_FOUND")
		s.Configure(t, strings.Replace(sandbox.Providers, `"webhook": {"url": "HOOKS/KOWHAI", "signing_secret": "whsec_kowhai_0123456789abcdef"},`, "", 1))
		refused(t, again("KOWHAI", id), http.StatusConflict, "CONFLICT")
		s.Create(t, "ORDER-2")
		s.Configure(t, sandbox.Providers)
		refused(t, again("KOWHAI", s.record(t, "ORDER-2").Events()[0].Event.ID), http.StatusConflict, "CONFLICT")
		s.Clock.Forward(401 * day)
		refused(t, again("KOWHAI", id), http.StatusNotFound, "EVENT_NOT_FOUND")
		if n := len(s.Receiver.Deliveries()); n != 1 {
			t.Errorf("refused calls sent %d events", n-1)
		}
	})
}

func TestTheListOfEnrolmentsHasTheOldestChangeFirst(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		first := s.Create(t, "ORDER-1")
		s.Clock.Forward(time.Minute)
		s.Create(t, "ORDER-2")
		s.Post(t, "TUI", createPath, order(legacyCreate, "ORDER-3"))
		said := func(query string) (all []string) {
			for _, e := range entries(t, s.Get(t, "KOWHAI", enrolmentsPath+query), "enrolments") {
				all = append(all, fmt.Sprint(e["provider_order_id"], " ", e["status"], " ", e["setup_complete"]))
			}
			return all
		}
		const one, two = "ORDER-1 direct_debit_setup_required false", "ORDER-2 direct_debit_setup_required false"
		sameList(t, "at first", said(""), one, two)
		_, next := s.walk(t, "KOWHAI", enrolmentsPath, "", 1)
		s.Clock.Forward(time.Minute)
		before := s.Clock.Now().UTC().Format(time.RFC3339Nano)
		s.Clock.Forward(time.Minute)
		s.SetUp(t, first)
		confirmed := s.Confirm(t, first)
		sameList(t, "after the confirm", said(""), two, "ORDER-1 confirmed true")
		sameList(t, "behind the cursor", said("?after="+next), "ORDER-1 confirmed true")
		sameList(t, "updated since", said("?updated_after="+before), "ORDER-1 confirmed true")
		sameList(t, "of the other order", said("?provider_order_id=ORDER-2"), two)
		r := s.Get(t, "KOWHAI", enrolmentsPath+"?status=confirmed")
		e := entries(t, r, "enrolments")[0]
		if e["agreement_number"] != confirmed.String("agreement.number") || e["checkout_id"] != first.String("checkout.checkout_id") ||
			strings.Contains(r.Body, "Aroha") || strings.Contains(r.Body, "@") {
			t.Errorf("the entry is %v", e)
		}
		s.cancel(t, s.Create(t, "ORDER-4"), "wrong course")
		sameList(t, "of cancelled ones", said("?status=cancelled"), "ORDER-4 cancelled false")
		sameList(t, "of another provider's order", said("?provider_order_id=ORDER-3"))
		for field, values := range map[string][]string{"status": {"reserved", "Confirmed", "x"}, "updated_after": {"x", "2026-11-20", before + "%00"},
			"after": {"x"}, "limit": {"0"}, "provider_order_id": {"%00"}} {
			for _, value := range values {
				refused(t, s.Get(t, "KOWHAI", enrolmentsPath+"?"+field+"="+value), http.StatusBadRequest, "VALIDATION_ERROR", field)
			}
		}
	})
}
