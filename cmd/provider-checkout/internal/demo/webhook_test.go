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
