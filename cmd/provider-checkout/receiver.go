package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
)

// receiver is a provider's side of the events: it accepts those whose signature holds, and
// consumes each event id once.
type receiver struct {
	secrets map[string]string // by the provider code, which is the path
	got     chan receipt

	mu       sync.Mutex
	consumed map[string]bool
}

// receipt is an event that arrived, or why it was refused.
type receipt struct {
	name, id, order, attempt string
	fault                    error
}

func (r receipt) String() string {
	if r.fault != nil {
		return fmt.Sprintf("event refused: %v", r.fault)
	}
	return fmt.Sprintf("event %-20s %s order %s, attempt %s, signature verified", r.name, r.id, r.order, r.attempt)
}

// newReceiver returns the receiver of the providers' events, and points their destinations at it
// under base.
func newReceiver(base string, configurations []catalogue.Configuration) *receiver {
	r := &receiver{secrets: map[string]string{}, got: make(chan receipt, 16), consumed: map[string]bool{}}
	for i := range configurations {
		p := &configurations[i].Provider
		p.Destination.URL = base + "/" + p.Code
		r.secrets[p.Code] = p.Destination.Secret
	}
	return r
}

// serve answers on ln until ctx ends.
func (r *receiver) serve(ctx context.Context, ln net.Listener, log *slog.Logger) {
	mux := http.NewServeMux()
	mux.Handle("POST /{provider}", r)
	srv := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	defer context.AfterFunc(ctx, func() { srv.Close() })()
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		log.Error("receive events", slog.Any("error", err))
	}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	got, status := r.receive(req)
	if status == http.StatusNoContent && r.known(got.id) {
		w.WriteHeader(status) // a repetition is accepted, and not consumed again
		return
	}
	select {
	case r.got <- got:
		w.WriteHeader(status)
	case <-req.Context().Done():
	}
}

// receive reads and verifies one delivery, and says how to answer it.
func (r *receiver) receive(req *http.Request) (receipt, int) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, req.Body, 64<<10))
	if err != nil {
		return receipt{fault: err}, http.StatusBadRequest
	}
	secret, ok := r.secrets[req.PathValue("provider")]
	if !ok {
		return receipt{fault: errors.New("it is for no provider here")}, http.StatusNotFound
	}
	signature := req.Header.Get(events.HeaderSignature)
	if err := events.Verify(secret, signature, body, time.Now(), 5*time.Minute); err != nil {
		return receipt{fault: err}, http.StatusUnauthorized
	}
	envelope, err := readAnswer(body)
	if err != nil {
		return receipt{fault: err}, http.StatusBadRequest
	}
	return receipt{
		name:    envelope.text("event"),
		id:      envelope.text("event_id"),
		order:   envelope.text("data.provider_order_id"),
		attempt: req.Header.Get(events.HeaderAttempt),
	}, http.StatusNoContent
}

// known notes an event id, and tells whether it was noted before.
func (r *receiver) known(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.consumed[id]
	r.consumed[id] = true
	return was
}
