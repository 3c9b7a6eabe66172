package demo

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/fakemailbox"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprovider"
	"github.com/provider-checkout/provider-checkout/catalogue"
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
