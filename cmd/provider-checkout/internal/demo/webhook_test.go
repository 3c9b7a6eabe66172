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
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
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

// sending is a sender without a network.
type sending func(to catalogue.Destination, d events.Delivery, attempt int) checkout.Answer

func (f sending) Send(_ context.Context, to catalogue.Destination, d events.Delivery, attempt int) (checkout.Answer, error) {
	answer := f(to, d, attempt)
	if answer.Status/100 != 2 {
		return answer, fmt.Errorf("answered %d", answer.Status)
	}
	return answer, nil
}

// The service gets the answers of the developer's receiver, at every attempt, and the demonstration's own receiver what that has taken.
func TestTheDevelopersReceiverAnswersTheService(t *testing.T) {
	r := newReceiver()
	r.onward, r.secrets[providerCode], r.secrets["TUI"] = "http://localhost:3000/events", "secret", "secret"
	status, got, created := 0, 0, time.Now()
	r.sender = sending(func(to catalogue.Destination, d events.Delivery, attempt int) checkout.Answer {
		if to.URL == r.onward {
			got++
			return checkout.Answer{Status: status}
		}
		req := httptest.NewRequest("POST", to.URL, strings.NewReader(string(d.Event.Body)))
		req.SetPathValue("provider", d.Event.ProviderCode)
		for name, value := range d.Header(attempt) {
			req.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		return checkout.Answer{Status: w.Code, Body: w.Body.String()}
	})
	for attempt, tt := range []struct {
		provider         string
		answered, status int
		body             string
		got, printed     int // since the first attempt
	}{
		{providerCode, http.StatusInternalServerError, http.StatusInternalServerError, "", 1, 1},
		{providerCode, http.StatusFound, http.StatusFound, "", 2, 2},
		{providerCode, http.StatusNoContent, http.StatusNoContent, "", 3, 3},
		{providerCode, http.StatusNoContent, http.StatusNoContent, "", 4, 3}, // the same event
		{"TUI", 0, http.StatusOK, scenario.OwnAnswer, 4, 4},
	} {
		status = tt.answered
		e := events.Created(events.Origin{RequestID: "req_1", Environment: "sandbox", CreatedAt: created},
			events.Subject{ProviderCode: tt.provider, OrderID: "ENROL-1", CheckoutID: tt.provider}, "", "")
		to := catalogue.Destination{URL: "http://localhost:8081" + eventsPath + tt.provider}
		answer, err := r.Send(t.Context(), to, events.NewDelivery(e, "secret", time.Now()), attempt+1)
		if answer.Status != tt.status || answer.Body != tt.body || (err == nil) != (tt.status/100 == 2) || got != tt.got || len(r.got) != tt.printed {
			t.Errorf("after a %d to %s the service gets %+v, %v; %d went on, and %d are printed", tt.answered, tt.provider, answer, err, got, len(r.got))
		}
	}
}
