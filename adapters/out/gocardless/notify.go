package gocardless

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// WebhookPath is the path to which GoCardless sends its notifications, for httpapi.Options.Mount.
const WebhookPath = "/processor/gocardless/webhooks"

// The bounds of one notification.
const (
	maxNotification = 2 << 20 // bytes; 250 events are a quarter of it
	maxEvents       = 1000
	keepTimeout     = 5 * time.Second // GoCardless waits for ten

	statusBadSignature = 498 // GoCardless' own
)

// ReceiverOptions are the options of a receiver of notifications. Every field but Received is required.
type ReceiverOptions struct {
	Processor *Processor
	Secrets   [][]byte // of the webhook endpoint; while it is rotated, the old one too
	// Notified stores notifications, each of which is then handled once: Service.Notified.
	Notified  func(context.Context, []checkout.Notification) error
	Report    func(ctx context.Context, err error) // called with every failure that the answer does not tell
	Now       func() time.Time
	Received  func(verified bool) // called with every notification, concurrently; it must not block
	RateLimit float64             // of notifications that are not GoCardless', a second from one client network, up to 1; 0 for no limit
}

// Receiver takes GoCardless' notifications. It is the handler of WebhookPath; Reconcile is a task that brings lost
// notifications.
type Receiver struct {
	ReceiverOptions
	bad     *web.Limiter // of notifications that are not GoCardless', by client network
	warned  atomic.Int64 // when a bad signature was last reported, in milliseconds
	reading readings
}

// NewReceiver returns a receiver.
func NewReceiver(o ReceiverOptions) (*Receiver, error) {
	if o.Processor == nil || o.Notified == nil || o.Report == nil || o.Now == nil {
		return nil, errors.New("gocardless: a field of ReceiverOptions is missing")
	}
	if err := CheckWebhookSecrets(o.Secrets); err != nil {
		return nil, fmt.Errorf("gocardless: %w", err)
	}
	if o.Received == nil {
		o.Received = func(bool) {}
	}
	return &Receiver{ReceiverOptions: o, bad: web.NewLimiter(min(o.RateLimit, 1), o.Now)}, nil
}

const minSecret = 16

// CheckWebhookSecrets returns nil if these can be the secrets of a receiver.
func CheckWebhookSecrets(secrets [][]byte) error {
	if len(secrets) == 0 {
		return errors.New("the webhook secret is missing")
	}
	for _, secret := range secrets {
		if len(secret) < minSecret {
			return fmt.Errorf("a webhook secret has fewer than %d bytes", minSecret)
		}
	}
	return nil
}

// ServeHTTP answers 204 once the notification's events are on record, 498 for a bad signature, and otherwise what makes
// GoCardless send it again. It believes nothing in the body but which resources to look at.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(r.receive(w, req))
}

// receive returns the status of the answer. A client network from which much comes that is not GoCardless' is told so; GoCardless'
// own gets in from there too, for all that a server sees of a client may be a proxy.
func (r *Receiver) receive(w http.ResponseWriter, req *http.Request) (status int) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed
	}
	client := web.ClientNet(req.Context())
	body, refused := r.signedBody(w, req, client)
	if refused != 0 {
		r.Received(false)
		if _, ok := r.bad.Allow(client); !ok {
			w.Header().Set("Retry-After", "1")
			return http.StatusTooManyRequests
		}
		return refused
	}
	r.Received(true)
	var notification notificationWire
	if json.Unmarshal(body, &notification) != nil || len(notification.Events) > maxEvents {
		return http.StatusBadRequest
	}
	given, err := toNotifications(notification.Events, r.now())
	if err != nil {
		return http.StatusBadRequest
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), keepTimeout)
	defer cancel()
	if err := r.Notified(ctx, given); err != nil {
		r.Report(ctx, fmt.Errorf("keep a notification of %d events: %w", len(given), err))
		return http.StatusServiceUnavailable
	}
	return http.StatusNoContent
}

// signedBody returns a body with a signature of GoCardless', or returns the status of the refusal.
func (r *Receiver) signedBody(w http.ResponseWriter, req *http.Request, client string) (body []byte, refused int) {
	signature, err := hex.DecodeString(req.Header.Get("Webhook-Signature"))
	if err != nil || len(signature) != sha256.Size {
		return nil, statusBadSignature
	}
	body, err = r.reading.read(w, req, client)
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, http.StatusRequestTimeout
	case err != nil:
		return nil, http.StatusBadRequest
	case !r.signed(body, signature):
		r.warnOfSignature(req.Context())
		return nil, statusBadSignature
	}
	return body, 0
}

// errSignature is reported once in a while: strangers could fill the log with it.
var errSignature = errors.New("the signature of a notification is not valid: if this comes again, compare the webhook secret " +
	"with that of the endpoint at GoCardless")

const warnEvery = time.Minute

func (r *Receiver) warnOfSignature(ctx context.Context) {
	last, now := r.warned.Load(), r.now().UnixMilli()
	if now-last >= warnEvery.Milliseconds() && r.warned.CompareAndSwap(last, now) {
		r.Report(ctx, errSignature)
	}
}

func (r *Receiver) now() time.Time { return r.Now().UTC().Truncate(time.Millisecond) }

// signed reports whether the signature is that of the body under one of the secrets. Each is tried in the same time.
func (r *Receiver) signed(body, signature []byte) bool {
	valid := false
	for _, secret := range r.Secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write(body)
		valid = hmac.Equal(mac.Sum(nil), signature) || valid
	}
	return valid
}

// toDomain returns the notification of an event; false if the event changes nothing here: of another resource, or of a step on
// the payer's way.
func (w notifiedWire) toDomain(received time.Time) (n checkout.Notification, ok bool) {
	billingRequest, mandate := outbound.Word(w.Links.BillingRequest), outbound.Word(w.Links.Mandate)
	n = checkout.Notification{ID: outbound.Word(w.ID), Received: received}
	switch {
	case w.Resource == "billing_requests" && slices.Contains([]string{"payer_details_confirmed", "fulfilled", "cancelled", "failed"}, w.Action),
		w.Resource == "mandates" && billingRequest != "":
		n.BillingRequestID, n.Settles = billingRequest, w.Action == "fulfilled"
	case w.Resource == "mandates" && w.Action != "created": // which fulfilled brings
		n.MandateID = cmp.Or(mandate, outbound.Word(w.Links.MandateRequestMandate))
	}
	return n, n.BillingRequestID != "" || n.MandateID != ""
}

// leadsTo reports whether a mandate has the status after this event.
func (w notifiedWire) leadsTo(status checkout.MandateStatus) bool {
	switch w.Action {
	case "created":
		return status == checkout.MandatePendingSubmission
	case "reinstated", "transferred", "replaced": // which leave the mandate in one of several
		return true
	}
	return w.Action == string(status)
}

// toNotifications returns the notifications of those events that change something here.
func toNotifications(events []notifiedWire, received time.Time) ([]checkout.Notification, error) {
	all := make([]checkout.Notification, 0, len(events))
	for _, event := range events {
		if outbound.Word(event.ID) == "" {
			return nil, errors.New("an event has no id")
		}
		if n, ok := event.toDomain(received); ok {
			all = append(all, n)
		}
	}
	return all, nil
}
