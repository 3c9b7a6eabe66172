package demo

import (
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

// The service gets the answers of the developer's receiver, at every attempt, and the demonstration's own receiver what that has taken.
func TestTheDevelopersReceiverAnswersTheService(t *testing.T) {
	answer := http.StatusNoContent
	var got []http.Header
	developer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		got = append(got, req.Header)
		w.WriteHeader(answer)
	}))
	r := newReceiver()
	r.onward, r.secrets[providerCode], r.secrets["TUI"] = developer.URL, "secret", "secret"
	mux := http.NewServeMux()
	mux.Handle("POST "+eventsPath+"{provider}", r)
	own := httptest.NewServer(mux)
	defer own.Close()
	send := func(provider string, attempt int) checkout.Answer {
		e := events.Created(events.Origin{RequestID: "req_1", Environment: "sandbox", CreatedAt: time.Now()},
			events.Subject{ProviderCode: provider, OrderID: "ENROL-1"}, "", "")
		a, err := r.Send(t.Context(), catalogue.Destination{URL: own.URL + eventsPath + provider}, events.NewDelivery(e, "secret", time.Now()), attempt)
		if taken := a.Status/100 == 2; taken != (err == nil) {
			t.Errorf("attempt %d is answered %d, %v", attempt, a.Status, err)
		}
		return a
	}
	for i, status := range []int{http.StatusInternalServerError, http.StatusFound, http.StatusNoContent, http.StatusNoContent} {
		answer = status
		if a := send(providerCode, i+1); a.Status != status || a.Body != "" {
			t.Errorf("after a %d the service gets %+v", status, a)
		}
	}
	if len(got) != 4 || got[3].Get(events.HeaderAttempt) != "4" || len(r.got) != 3 { // two refusals, and the event once
		t.Fatalf("%d deliveries go on, and %d are printed", len(got), len(r.got))
	}
	developer.Close()
	if a := send(providerCode, 1); a.Status != 0 {
		t.Errorf("without a receiver the service gets %+v", a)
	}
	if a := send("TUI", 1); a.Status != http.StatusOK || a.Body != scenario.OwnAnswer {
		t.Errorf("an event of another provider is answered %+v", a)
	}
}
