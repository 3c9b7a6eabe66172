package gocardless

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/bounded"
)

// WebhookPath is the path to which GoCardless sends its notifications, for httpapi.Options.Mount.
const WebhookPath = "/processor/gocardless/webhooks"

// The bounds of one notification.
const (
	maxNotification = 1 << 20 // bytes; 250 events are half of it
	maxEvents       = 250
	maxReading      = 32 // bodies at once, which bounds the memory that strangers can take
	bodyTimeout     = 2 * time.Second
	keepTimeout     = 5 * time.Second // GoCardless waits for ten
	minSecret       = 16              // bytes

	statusBadSignature = 498 // GoCardless' own
)

// ReceiverOptions are the options of a receiver of notifications. Every field is required.
type ReceiverOptions struct {
	Processor *Processor
	Secrets   [][]byte                                             // of the webhook endpoint; while it is rotated, the old one too
	Notified  func(context.Context, []checkout.Notification) error // Service.Notified
	Report    func(ctx context.Context, err error)                 // called with every failure that the answer does not tell
}

// Receiver takes GoCardless' notifications. It is the handler of WebhookPath; Reconcile is a task that brings lost
// notifications.
type Receiver struct {
	ReceiverOptions
	client  *client
	reading reading
	passed  *bounded.Map[string, bool] // the ids of the latest events that were passed on
	warn    rate.Sometimes
}

// NewReceiver returns a receiver.
func NewReceiver(o ReceiverOptions) (*Receiver, error) {
	if err := CheckWebhookSecrets(o.Secrets); err != nil {
		return nil, fmt.Errorf("gocardless: %w", err)
	}
	return &Receiver{ReceiverOptions: o, client: o.Processor.client, passed: bounded.New[string, bool](mostPassed),
		warn: rate.Sometimes{Interval: time.Minute}}, nil
}

// CheckWebhookSecrets returns nil if these can be the secrets of a receiver.
func CheckWebhookSecrets(secrets [][]byte) error {
	if len(secrets) == 0 {
		return errors.New("the webhook secret is missing")
	}
	if slices.ContainsFunc(secrets, func(secret []byte) bool { return len(secret) < minSecret }) {
		return fmt.Errorf("a webhook secret has fewer than %d bytes", minSecret)
	}
	return nil
}

// ServeHTTP answers 204 once the service knows which setups to look at, 498 for a bad signature, and otherwise an error for which
// GoCardless sends the notification again. It believes nothing in the body but the names of the resources.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, status := r.signedBody(w, req)
	if status == 0 {
		status = r.receive(req.Context(), body)
	}
	w.WriteHeader(status)
}

// signedBody returns a body with a signature of GoCardless', or returns the status of the refusal.
func (r *Receiver) signedBody(w http.ResponseWriter, req *http.Request) (body []byte, refused int) {
	signature, err := hex.DecodeString(req.Header.Get("Webhook-Signature"))
	if err != nil || len(signature) != sha256.Size {
		return nil, statusBadSignature
	}
	body, err = r.reading.read(w, req)
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, http.StatusRequestEntityTooLarge
	case err != nil:
		return nil, http.StatusBadRequest
	case !r.signed(body, signature):
		r.warn.Do(func() { r.Report(req.Context(), errSignature) }) // strangers could fill the log with it
		return nil, statusBadSignature
	}
	return body, 0
}

// reading has the bodies that are being read, the oldest first. Where there are too many the oldest is cut off: GoCardless' own take
// milliseconds.
type reading struct {
	mu  sync.Mutex
	all []*http.ResponseController
}

func (r *reading) read(w http.ResponseWriter, req *http.Request) ([]byte, error) {
	own := http.NewResponseController(w)
	_ = own.SetReadDeadline(time.Now().Add(bodyTimeout)) // the writer of a test has no deadline
	r.mu.Lock()
	if r.all = append(r.all, own); len(r.all) > maxReading {
		_ = r.all[0].SetReadDeadline(time.Now())
		r.all = r.all[1:]
	}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = slices.DeleteFunc(r.all, func(other *http.ResponseController) bool { return other == own })
	}()
	return io.ReadAll(http.MaxBytesReader(w, req.Body, maxNotification))
}

var errSignature = errors.New("the signature of a notification is not valid: if this comes again, compare the webhook secret " +
	"with that of the endpoint at GoCardless")

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

// receive passes on a notification of GoCardless', and returns the status of the answer.
func (r *Receiver) receive(ctx context.Context, body []byte) (status int) {
	var notification notificationWire
	if json.Unmarshal(body, &notification) != nil || len(notification.Events) > maxEvents {
		return http.StatusBadRequest
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	err := r.passOn(ctx, notification.Events)
	switch {
	case errors.Is(err, errNoID):
		return http.StatusBadRequest
	case err != nil:
		r.Report(ctx, err)
		return http.StatusServiceUnavailable
	}
	return http.StatusNoContent
}

var errNoID = errors.New("an event has no id")

// passOn notifies the service of the events' setups, without the events of earlier calls.
func (r *Receiver) passOn(ctx context.Context, events []eventWire) error {
	var ids []string
	var notifications []checkout.Notification
	for _, event := range events {
		id := outbound.Word(event.ID)
		if id == "" {
			return errNoID
		}
		known, _ := r.passed.Get(id)
		if n := event.toDomain(); n != (checkout.Notification{}) && !known {
			ids, notifications = append(ids, id), append(notifications, n)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := r.Notified(ctx, notifications); err != nil {
		return fmt.Errorf("pass on %d events: %w", len(ids), err)
	}
	for _, id := range ids {
		r.passed.Put(id, true)
	}
	return nil
}

// toDomain returns the notification of an event. It is zero if the event changes nothing here: of another resource, or of a step on
// the payer's way.
func (w eventWire) toDomain() (n checkout.Notification) {
	switch {
	case w.Resource == "billing_requests" && slices.Contains([]string{"payer_details_confirmed", "fulfilled", "cancelled", "failed"}, w.Action):
		n.BillingRequestID = outbound.Word(w.Links.BillingRequest)
	case w.Resource == "mandates" && w.Action != "created": // which fulfilled brings
		n.MandateID = outbound.Word(w.Links.Mandate)
	}
	return n
}

// leadsTo reports whether a mandate has the status after this event.
func (w eventWire) leadsTo(status checkout.MandateStatus) bool {
	switch w.Action {
	case "created":
		return status == checkout.MandatePendingSubmission
	case "reinstated", "transferred", "replaced": // which leave the mandate in one of several
		return true
	}
	return w.Action == string(status)
}

// mostPassed is the number of events that a process remembers at least: more than Reconcile reads again. GoCardless may send an event
// again, and the list of events has it too.
const mostPassed = 5000

const (
	reconcileEvery = 20 * time.Second
	reconcileLimit = 2 * time.Minute
	// overlap is the time before the last reading that is read again: an event may be listed a little later than its time says.
	overlap     = 2 * time.Minute
	firstWindow = time.Hour // what the first reconciliation of a store reads
	eventsPage  = 500
)

// Reconcile is the task that reads GoCardless' list of events since the cursor, for the events that no notification brought. One
// process at a time runs it (service.Task). The list is newest first, so that the cursor moves only when all of it was read:
// the page read last has the events that would be lost. The cursor is a time by GoCardless' clock: this one may be wrong.
func (r *Receiver) Reconcile(ctx context.Context, cursor string) (next string, pause time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileLimit)
	defer cancel()
	now := r.client.theirTime()
	since, err := time.Parse(time.RFC3339Nano, cursor)
	if err != nil {
		since = now.Add(-firstWindow)
	}
	query := []string{"created_at[gt]", since.Add(-overlap).UTC().Format(time.RFC3339Nano), "limit", strconv.Itoa(eventsPage)}
	for first := true; ; first = false {
		page, err := get[[]eventWire](ctx, r.client, "/events", query...)
		if err == nil && first {
			now = r.client.theirTime() // which the answer says
		}
		if err == nil {
			err = r.passOn(ctx, page)
		}
		if err != nil {
			return cursor, reconcileEvery, fmt.Errorf("read the events: %w", err)
		}
		if len(page) < eventsPage {
			return now.Format(time.RFC3339Nano), reconcileEvery, nil
		}
		query = append(query, "after", page[len(page)-1].ID)
	}
}
