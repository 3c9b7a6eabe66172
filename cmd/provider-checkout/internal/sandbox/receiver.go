package sandbox

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/apidoc"
)

// Receiver is the providers' receiver of events. It answers 204 unless AnswerWith says otherwise.
type Receiver struct {
	URL string

	t testing.TB

	mu     sync.Mutex
	status func(Delivery) int
	got    []Delivery
}

// Delivery is an event as it arrived.
type Delivery struct {
	Provider string // the last part of the path
	At       time.Time
	Header   http.Header
	Body     []byte
	JSON     apiclient.Object
}

// NewReceiver runs a receiver until the test ends. Its requests pass through the handlers that each of between makes, the
// last one first.
func NewReceiver(t testing.TB, between ...func(http.Handler) http.Handler) *Receiver {
	t.Helper()
	h := &Receiver{t: t, status: func(Delivery) int { return http.StatusNoContent }}
	handler := http.Handler(h)
	for _, wrap := range between {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	h.URL = server.URL
	return h
}

func (h *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	got := Delivery{Provider: strings.TrimPrefix(r.URL.Path, "/"), At: time.Now(), Header: r.Header, Body: raw}
	if err == nil {
		got.JSON, err = apiclient.ParseObject(raw)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if err := apidoc.Document().CheckEvent(got.Header, raw); err != nil {
		h.t.Errorf("the event %s is not in the document: %v", raw, err)
	}
	h.mu.Lock()
	h.got = append(h.got, got)
	status := h.status
	h.mu.Unlock()
	w.WriteHeader(status(got))
}

// AnswerWith makes f choose the status of every answer.
func (h *Receiver) AnswerWith(f func(Delivery) int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status = f
}

// Deliveries returns what has arrived so far, in order.
func (h *Receiver) Deliveries() []Delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Delivery(nil), h.got...)
}

// Forget drops what has arrived so far.
func (h *Receiver) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = nil
}
