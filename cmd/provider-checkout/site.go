package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/hostedpages"
	"github.com/provider-checkout/provider-checkout/adapters/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/ops"
	"github.com/provider-checkout/provider-checkout/adapters/pdf"
	"github.com/provider-checkout/provider-checkout/adapters/webhook"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// How long a server that is told to stop lets requests and deliveries finish, and then the
// operator's own requests.
const (
	drain    = 12 * time.Second
	drainOps = time.Second
)

// site is the whole service over one store.
type site struct {
	service *service.Service
	handler http.Handler // of the public
	ops     *ops.Door    // of the operator
	log     *slog.Logger
}

// newSite puts the service together as s says, reached under baseURL. It tells metrics what happens.
func newSite(db records, s settings, baseURL string, metrics *ops.Metrics, log *slog.Logger) (*site, error) {
	keyring, err := checkout.NewKeyring(db.Secrets()...)
	if err != nil {
		return nil, fmt.Errorf("derive the token keys: %w", err)
	}
	printer, err := newPrinter(runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	svc, err := service.New(service.Config{
		Environment:   s.environment,
		BaseURL:       baseURL,
		SetupLifetime: s.setupLifetime,
		Keyring:       keyring,
		Terms:         s.terms,
		Store:         db,
		Processor:     fakeprocessor.Processor{},
		Printer:       printer,
		Sender:        webhook.New(webhook.Options{AllowPrivate: s.allowPrivate}),
		Now:           time.Now,
		Rand:          rand.Reader,
		Report: func(ctx context.Context, err error) {
			log.ErrorContext(ctx, "failure", slog.String("request_id", httpapi.RequestID(ctx)), slog.Any("error", err))
		},
		Count: metrics.Count,
	})
	if err != nil {
		return nil, fmt.Errorf("set up the service: %w", err)
	}
	public := publicHandler(svc, httpapi.Options{
		Log:            log,
		TrustedProxies: s.trustedProxies,
		RateLimit:      s.rateLimit,
		HSTS:           strings.HasPrefix(baseURL, "https://"),
		Now:            time.Now,
		Rand:           rand.Reader,
		Observe:        metrics.ObserveRequest,
	})
	return &site{svc, public, ops.New(svc, metrics, log), log}, nil
}

// newPrinter returns a printer that writes times as New Zealand reads them.
func newPrinter(parallel int) (*pdf.Printer, error) {
	zone, err := newZealand()
	if err != nil {
		return nil, err
	}
	return pdf.New(parallel, zone)
}

// publicHandler is everything that the service answers to the outside: the setup pages, the fake
// processor's, and for any other path the API, which knows what is not found. (http.ServeMux would
// answer an unclean path with a redirect, which loses a POST.)
func publicHandler(svc *service.Service, o httpapi.Options) http.Handler {
	api, pages, processor := httpapi.New(svc, o), hostedpages.New(svc, o), fakeprocessor.Pages(svc, o)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/api/dd-setup" || strings.HasPrefix(path, "/api/dd-setup/"):
			pages.ServeHTTP(w, r)
		case strings.HasPrefix(path, "/sandbox/processor/"):
			processor.ServeHTTP(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	})
}

// serve answers on public, and to the operator on private unless that is nil, and looks after
// deliveries until ctx ends. Then it lets what is under way finish, while the operator still
// is answered. It takes the listeners over.
func (s *site) serve(ctx context.Context, public, private net.Listener) error {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var deliveries sync.WaitGroup
	deliveries.Go(func() { s.service.Run(running) })

	entrance := newDoor(public)
	srv := s.server(s.handler)
	srv.ConnState = entrance.count
	defer srv.Close()
	served := s.start(srv, entrance)
	var failed <-chan error // of the operators' server
	if private != nil {
		operators := s.server(s.ops)
		failed = s.start(operators, private)
		defer func() {
			limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainOps)
			defer cancel()
			_ = errors.Join(operators.Shutdown(limit), operators.Close()) // nothing hangs on the last scrape
		}()
	}
	var err error
	select {
	case err = <-served:
	case err = <-failed:
	case <-ctx.Done():
	}
	stop()
	if err != nil {
		deliveries.Wait()
		return err
	}
	s.log.Info("draining")
	s.ops.Drain()
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	// Not by Shutdown, from which on the server drops requests that are on their way to it.
	entrance.closeGently()
	<-served
	srv.SetKeepAlivesEnabled(false)
	if err := errors.Join(waitFor(limit, &entrance.guests), waitFor(limit, &deliveries)); err != nil {
		s.log.Warn("cut off what did not finish in time", slog.Any("error", err))
		return srv.Close()
	}
	s.log.Info("stopped")
	return nil
}

// server returns a server for h that bounds what a client may take its time for.
func (s *site) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:                      h,
		ReadHeaderTimeout:            5 * time.Second,
		ReadTimeout:                  10 * time.Second,
		WriteTimeout:                 60 * time.Second,
		IdleTimeout:                  60 * time.Second,
		MaxHeaderBytes:               16 << 10,
		DisableGeneralOptionsHandler: true, // "OPTIONS *" is one more path that is not found
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
}

// start has srv answer on ln, and says when that has ended.
func (s *site) start(srv *http.Server, ln net.Listener) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- fmt.Errorf("serve %s: %w", ln.Addr(), srv.Serve(ln)) }()
	return ended
}

// waitFor waits until work is done, or ctx is.
func waitFor(ctx context.Context, work *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// newZealand is the zone of every date and time that people read.
func newZealand() (*time.Location, error) {
	zone, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		return nil, fmt.Errorf("load the time zone: %w", err)
	}
	return zone, nil
}
