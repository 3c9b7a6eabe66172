package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprovider"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// receiver is a provider's receiver of events: it accepts events with a valid signature, and
// processes each event id once. It is the service's sender too, so that a developer's receiver gets events first.
type receiver struct {
	secrets map[string]string // by provider code, which ends the path
	got     chan delivery
	seen    func(fakeprovider.Event) // called with each verified event once, before it is answered
	onward  string                   // URL of a developer's receiver, which gets the events of providerCode; "" for no such receiver
	sender  ports.Sender

	mu        sync.Mutex
	processed map[string]bool
}

// delivery is an event that arrived, or the reason for refusing it.
type delivery struct {
	fakeprovider.Event
	err error
}

func (d delivery) String() string {
	if d.err != nil {
		return fmt.Sprintf("event refused: %v", d.err)
	}
	return fmt.Sprintf("event %-20s %s order %s, attempt %s, signature verified", d.Name, d.ID, d.Order, d.Attempt)
}

// eventsPath is the path under which the receiver is, before a provider's code.
const eventsPath = "/events/"

func newReceiver() *receiver {
	return &receiver{secrets: map[string]string{}, got: make(chan delivery, 16), seen: func(fakeprovider.Event) {},
		processed: map[string]bool{}, sender: webhook.New(webhook.Options{AllowPrivate: true})}
}

// Send implements ports.Sender. An event is the receiver's once the developer's receiver has taken it.
func (r *receiver) Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) error {
	if r.onward == "" || d.Event.ProviderCode != providerCode {
		return r.sender.Send(ctx, to, d, attempt)
	}
	err := r.sender.Send(ctx, catalogue.Destination{URL: r.onward}, d, attempt)
	if err == nil {
		return r.sender.Send(ctx, to, d, attempt)
	}
	r.show(ctx, delivery{err: fmt.Errorf("%s of checkout %s, attempt %d: %w", d.Event.Name, d.Event.CheckoutID, attempt, err)})
	return err
}

// show has a delivery printed.
func (r *receiver) show(ctx context.Context, d delivery) {
	select {
	case r.got <- d:
	case <-ctx.Done():
	}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	got, status := r.receive(req)
	if got.err != nil || !r.known(got.ID) { // a repeated delivery is accepted and not processed again
		if got.err == nil {
			r.seen(got.Event)
		}
		r.show(req.Context(), got)
	}
	w.WriteHeader(status)
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
	if err := events.Verify(secret, req.Header.Get(events.HeaderSignature), body, time.Now(), 5*time.Minute); err != nil {
		return delivery{err: err}, http.StatusUnauthorized
	}
	envelope, err := apiclient.ParseObject(body)
	if err != nil {
		return delivery{err: err}, http.StatusBadRequest
	}
	return delivery{Event: fakeprovider.Event{
		Name:    envelope.Text("event"),
		ID:      envelope.Text("event_id"),
		Order:   envelope.Text("data.provider_order_id"),
		Attempt: req.Header.Get(events.HeaderAttempt),
	}}, http.StatusOK
}

// known records an event id, and reports whether it was recorded before.
func (r *receiver) known(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.processed[id]
	r.processed[id] = true
	return was
}
