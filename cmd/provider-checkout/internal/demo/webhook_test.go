package demo

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
)

func TestReceiverConsumesAnEventOnce(t *testing.T) {
	const secret = "whsec_0123456789abcdef01"
	body := `{"event_id": "evt_1", "event": "checkout.created", "data": {"provider_order_id": "ENROL-1"}}`
	signed := events.Sign(secret, time.Now(), []byte(body))
	r := newReceiver()
	r.secrets["KOWHAI"] = secret
	for _, tt := range []struct {
		name, provider, signature string
		status, received          int
	}{
		{"a verified event", "KOWHAI", signed, http.StatusOK, 1},
		{"the same event again", "KOWHAI", signed, http.StatusOK, 0},
		{"a forged event", "KOWHAI", events.Sign("whsec_another_secret_0123", time.Now(), []byte(body)), http.StatusUnauthorized, 1},
		{"an event of a stranger", "MOA", signed, http.StatusNotFound, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := httptest.NewRequest("POST", "/"+tt.provider, strings.NewReader(body))
			req.SetPathValue("provider", tt.provider)
			req.Header.Set(events.HeaderSignature, tt.signature)
			w := httptest.NewRecorder()
			r.ServeHTTP(w, req)
			if w.Code != tt.status || len(r.got) != tt.received {
				t.Errorf("status %d, %d received; want %d, %d", w.Code, len(r.got), tt.status, tt.received)
			}
			for range len(r.got) {
				if got := <-r.got; (got.err == nil) != (tt.status == http.StatusOK) {
					t.Errorf("received %v", got)
				}
			}
		})
	}
}

// sending is a sender without a network, which returns the status of an answer.
type sending func(to catalogue.Destination, d events.Delivery, attempt int) (status int)

func (f sending) Send(_ context.Context, to catalogue.Destination, d events.Delivery, attempt int) error {
	if status := f(to, d, attempt); status/100 != 2 {
		return fmt.Errorf("answered %d", status)
	}
	return nil
}

// The developer's receiver decides, at every attempt, and the demonstration's own receiver gets what that has taken.
func TestTheDevelopersReceiverAnswersTheService(t *testing.T) {
	r := newReceiver()
	r.onward, r.secrets[providerCode], r.secrets["TUI"] = "http://localhost:3000/events", "secret", "secret"
	status, got, created := 0, 0, time.Now()
	r.sender = sending(func(to catalogue.Destination, d events.Delivery, attempt int) int {
		if to.URL == r.onward {
			got++
			return status
		}
		req := httptest.NewRequest("POST", to.URL, strings.NewReader(string(d.Event.Body)))
		req.SetPathValue("provider", d.Event.ProviderCode)
		for name, value := range d.Header(attempt) {
			req.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		return w.Code
	})
	for attempt, tt := range []struct {
		provider     string
		answered     int
		taken        bool
		got, printed int // since the first attempt
	}{
		{providerCode, http.StatusInternalServerError, false, 1, 1},
		{providerCode, http.StatusFound, false, 2, 2},
		{providerCode, http.StatusNoContent, true, 3, 3},
		{providerCode, http.StatusNoContent, true, 4, 3}, // the same event
		{"TUI", 0, true, 4, 4},
	} {
		status = tt.answered
		e := events.Created(events.Origin{RequestID: "req_1", Environment: "sandbox", CreatedAt: created},
			events.Subject{ProviderCode: tt.provider, OrderID: "ENROL-1", CheckoutID: tt.provider}, "", "")
		to := catalogue.Destination{URL: "http://localhost:8081" + eventsPath + tt.provider}
		err := r.Send(t.Context(), to, events.NewDelivery(e, "secret", time.Now()), attempt+1)
		if (err == nil) != tt.taken || got != tt.got || len(r.got) != tt.printed {
			t.Errorf("after a %d to %s: %v; %d went on, and %d are printed, want %+v", tt.answered, tt.provider, err, got, len(r.got), tt)
		}
	}
}
