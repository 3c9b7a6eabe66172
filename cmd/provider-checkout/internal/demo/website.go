package demo

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

	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakemailbox"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprovider"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The provider of the website, and its student.
const (
	providerCode = "KOWHAI"
	studentFirst = "Aroha"
	studentLast  = "Tāmati"
	studentEmail = "aroha@example.nz"
)

// website is the website of the providers, on an address of its own: the pages of one provider, the receiver of the
// events of all, and the mailbox of their payers.
type website struct {
	listener net.Listener
	receiver *receiver
	mailbox  *fakemailbox.Mailbox
	provider *fakeprovider.Provider
}

// listenWebsite listens for the providers' website.
func listenWebsite(ctx context.Context) (*website, error) {
	ln, err := localListener(ctx)
	return &website{listener: ln, receiver: newReceiver()}, err
}

// url returns the website's address as a browser opens it: a payer returns only to https and to http://localhost.
func (w *website) url() string {
	_, port, _ := net.SplitHostPort(w.listener.Addr().String()) // which a listener has
	return "http://localhost:" + port
}

// host has the payers of a provider return to the website, and its events sent to the receiver there.
func (w *website) host(p *catalogue.Provider) {
	p.EnrolmentOrigins = []string{w.url()}
	p.SuccessURL, p.CancelURL = w.url()+fakeprovider.ReturnedPath, w.url()+fakeprovider.ReturnedPath
	if p.Code == providerCode {
		p.SuccessURL, p.CancelURL = w.url()+fakeprovider.DonePath, w.url()+fakeprovider.CoursePath
	}
	w.receiver.secrets[p.Code] = p.Destination.Secret
	p.Destination.URL = "http://" + w.listener.Addr().String() + eventsPath + p.Code
}

// serve answers until ctx ends.
func (w *website) serve(ctx context.Context, log *slog.Logger) {
	mux := http.NewServeMux()
	mux.Handle("POST "+eventsPath+"{provider}", w.receiver)
	mux.Handle(fakemailbox.Path, w.mailbox)
	mux.Handle("/", w.provider)
	srv := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	defer context.AfterFunc(ctx, func() { srv.Close() })()
	if err := srv.Serve(w.listener); !errors.Is(err, http.ErrServerClosed) {
		log.Error("serve the provider", slog.Any("error", err))
	}
}

// offer returns the first course of a provider's catalogue, and the student who enrols in it.
func (d *demonstration) offer(c catalogue.Configuration) fakeprovider.Offer {
	return fakeprovider.Offer{
		Provider:   c.Provider.DisplayName(),
		CourseCode: c.Courses[0].Code, CourseName: c.Courses[0].Name, Price: c.Courses[0].Price.Dollars(),
		Frequency: string(c.Courses[0].Options[0].Frequency), FirstPayment: d.FirstPayment,
		FirstName: studentFirst, LastName: studentLast, Email: studentEmail,
	}
}

func localListener(ctx context.Context) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
}

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
