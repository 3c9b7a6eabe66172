package demo

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprovider"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// receiver is a provider's receiver of events: it accepts events with a valid signature, and
// processes each event id once.
type receiver struct {
	secrets map[string]string // by provider code, which ends the path
	got     chan delivery
	seen    func(fakeprovider.Event) // called with each verified event once, before it is answered
	onward  string                   // URL of a developer's receiver, which the events of providerCode go on to; "" for no such receiver
	sender  ports.Sender             // as the service has it

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
	return &receiver{secrets: map[string]string{}, got: make(chan delivery, 16), seen: func(fakeprovider.Event) {}, processed: map[string]bool{},
		sender: webhook.New(webhook.Options{AllowPrivate: true})}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	got, status := r.receive(req)
	answer := func() { w.WriteHeader(status) }
	if status == http.StatusNoContent && !r.goesOn(req) {
		answer = func() { _, _ = io.WriteString(w, scenario.OwnAnswer) }
	}
	if status == http.StatusNoContent && r.known(got.ID) {
		answer() // a repeated delivery is accepted and not processed again
		return
	}
	if got.err == nil {
		r.seen(got.Event)
	}
	select {
	case r.got <- got:
		answer()
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
	if status, err := r.passOn(req, body, signature); err != nil {
		return delivery{err: err}, status
	}
	return delivery{Event: fakeprovider.Event{
		Name:    envelope.Text("event"),
		ID:      envelope.Text("event_id"),
		Order:   envelope.Text("data.provider_order_id"),
		Attempt: req.Header.Get(events.HeaderAttempt),
	}}, http.StatusNoContent
}

// goesOn reports whether an event is for the developer's receiver.
func (r *receiver) goesOn(req *http.Request) bool {
	return r.onward != "" && req.PathValue("provider") == providerCode
}

// passOn sends a verified event on to the developer's receiver, as it came, and returns why that did not take it, and its status.
func (r *receiver) passOn(req *http.Request, body []byte, signature string) (int, error) {
	if !r.goesOn(req) {
		return http.StatusNoContent, nil
	}
	event, err := events.Read(body)
	seconds, badTime := strconv.ParseInt(req.Header.Get(events.HeaderTimestamp), 10, 64)
	attempt, badAttempt := strconv.Atoi(req.Header.Get(events.HeaderAttempt))
	if err := errors.Join(err, badTime, badAttempt); err != nil {
		return http.StatusBadRequest, err
	}
	answer, err := r.sender.Send(req.Context(), catalogue.Destination{URL: r.onward}, events.Delivery{Event: event,
		Timestamp: time.Unix(seconds, 0), Signature: signature,
		Trace: events.ParseTrace(req.Header.Values(events.HeaderTrace))}, attempt)
	if err != nil {
		if answer.Status < http.StatusBadRequest { // no answer, or a redirect
			answer.Status = http.StatusBadGateway
		}
		return answer.Status, fmt.Errorf("%s of order %s, attempt %d: %w", event.Name, event.OrderID, attempt, err)
	}
	return answer.Status, nil
}

// known records an event id, and reports whether it was recorded before.
func (r *receiver) known(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.processed[id]
	r.processed[id] = true
	return was
}
