package demo

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

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

// The service gets the answers of the developer's receiver, at every attempt, and every attempt goes on as it came.
func TestReceiverPassesOnTheAnswerOfTheDevelopersReceiver(t *testing.T) {
	answer := http.StatusNoContent
	var got []http.Header
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		got = append(got, req.Header)
		w.WriteHeader(answer)
	}))
	r := newReceiver()
	r.onward, r.secrets[providerCode], r.secrets["TUI"] = own.URL, "secret", "secret"
	e := events.Created(events.Origin{RequestID: "req_1", Environment: "sandbox", CreatedAt: time.Now()}, events.Subject{OrderID: "ENROL-1"}, "", "")
	run := events.NewDelivery(e, "secret", time.Now())
	run.Trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	send := func(provider string, attempt int) int {
		req := httptest.NewRequest("POST", "/"+provider, strings.NewReader(string(e.Body)))
		req.SetPathValue("provider", provider)
		for name, value := range run.Header(attempt) {
			req.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		return w.Code
	}
	for i, status := range []int{http.StatusInternalServerError, http.StatusFound, http.StatusNoContent, http.StatusNoContent} {
		answer = status
		want := status
		if status == http.StatusFound {
			want = http.StatusBadGateway
		}
		if code := send(providerCode, i+1); code != want {
			t.Errorf("after a %d the service gets %d", status, code)
		}
	}
	if len(got) != 4 || len(r.got) != 3 { // two refusals, and the event once
		t.Fatalf("%d deliveries go on, and %d are printed", len(got), len(r.got))
	}
	for i, header := range got {
		for name, value := range run.Header(i + 1) {
			if header.Get(name) != value {
				t.Errorf("delivery %d has %s %q, want %q", i+1, name, header.Get(name), value)
			}
		}
	}
	own.Close()
	if code := send(providerCode, 1); code != http.StatusBadGateway {
		t.Errorf("without a receiver the service gets %d", code)
	}
	if code := send("TUI", 1); code != http.StatusOK {
		t.Errorf("an event of another provider is answered %d", code)
	}
}
