package demo

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
)

// receiver is a provider's receiver of events: it accepts events with a valid signature, and
// processes each event id once.
type receiver struct {
	secrets map[string]string // by provider code, which ends the path
	got     chan delivery
	seen    func(delivery) // called with each verified event once, before it is answered

	past      atomic.Bool // nothing shows the events that arrive, and the receiver of failingCode is out of order
	mu        sync.Mutex
	processed map[string]bool
}

// delivery is an event that arrived, or the reason for refusing it.
type delivery struct {
	name, id, order, attempt string
	err                      error
}

func (d delivery) String() string {
	if d.err != nil {
		return fmt.Sprintf("event refused: %v", d.err)
	}
	return fmt.Sprintf("event %-20s %s order %s, attempt %s, signature verified", d.name, d.id, d.order, d.attempt)
}

// eventsPath is the path under which the receiver is, before a provider's code.
const eventsPath = "/events/"

// newReceiver returns the receiver of the providers' events, and sets their destinations to its
// address under base.
func newReceiver(base string, configurations []catalogue.Configuration) *receiver {
	r := &receiver{secrets: map[string]string{}, got: make(chan delivery, 16), seen: func(delivery) {}, processed: map[string]bool{}}
	for i := range configurations {
		p := &configurations[i].Provider
		p.Destination.URL = base + eventsPath + p.Code
		r.secrets[p.Code] = p.Destination.Secret
	}
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case r.past.Load() && req.PathValue("provider") == failingCode:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case r.past.Load():
		return
	}
	got, status := r.receive(req)
	if status == http.StatusNoContent && r.known(got.id) {
		w.WriteHeader(status) // a repeated delivery is accepted and not processed again
		return
	}
	if got.err == nil {
		r.seen(got)
	}
	select {
	case r.got <- got:
		w.WriteHeader(status)
	case <-req.Context().Done():
	}
}

// receive reads and verifies one delivery, and returns the status to answer it with.
func (r *receiver) receive(req *http.Request) (delivery, int) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, req.Body, 64<<10))
	if err != nil {
		return delivery{err: err}, http.StatusBadRequest
	}
	secret, ok := r.secrets[req.PathValue("provider")]
	if !ok {
		return delivery{err: errors.New("it is for no provider here")}, http.StatusNotFound
	}
	signature := req.Header.Get(events.HeaderSignature)
	if err := events.Verify(secret, signature, body, time.Now(), 5*time.Minute); err != nil {
		return delivery{err: err}, http.StatusUnauthorized
	}
	envelope, err := apiclient.ParseObject(body)
	if err != nil {
		return delivery{err: err}, http.StatusBadRequest
	}
	return delivery{
		name:    envelope.Text("event"),
		id:      envelope.Text("event_id"),
		order:   envelope.Text("data.provider_order_id"),
		attempt: req.Header.Get(events.HeaderAttempt),
	}, http.StatusNoContent
}

// known records an event id, and reports whether it was recorded before.
func (r *receiver) known(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.processed[id]
	r.processed[id] = true
	return was
}
