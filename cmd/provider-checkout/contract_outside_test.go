package main

// What stands around the service in the tests of the contract: the time, the providers' receiver of
// events, and whoever reads the log.

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
)

// clock is the service's clock: the real one, moved forward by hand.
type clock struct {
	mu    sync.Mutex
	moved time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.moved)
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved += d
}

// hooks is the providers' receiver of events. It answers 204 unless it is told otherwise.
type hooks struct {
	t   *testing.T
	url string

	mu     sync.Mutex
	status func(hook) int
	got    []hook
}

// hook is a delivery as it arrived.
type hook struct {
	provider string // the last part of the path
	at       time.Time
	header   http.Header
	raw      []byte
	body     demo.Object
}

func newHooks(t *testing.T) *hooks {
	t.Helper()
	h := &hooks{t: t, status: func(hook) int { return http.StatusNoContent }}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	got := hook{provider: strings.TrimPrefix(r.URL.Path, "/"), at: time.Now(), header: r.Header, raw: raw}
	if err == nil {
		got.body, err = demo.ParseObject(raw)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if err := documented().checkEvent(got); err != nil {
		h.t.Errorf("the event %s is not in the document: %v", raw, err)
	}
	h.mu.Lock()
	h.got = append(h.got, got)
	status := h.status
	h.mu.Unlock()
	w.WriteHeader(status(got))
}

// answer has the receiver answer as f says.
func (h *hooks) answer(f func(hook) int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status = f
}

// all returns what arrived so far, in order.
func (h *hooks) all() []hook {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]hook(nil), h.got...)
}

// logs keeps what the service logs.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
