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
	"github.com/provider-checkout/provider-checkout/adapters/pdf"
	"github.com/provider-checkout/provider-checkout/adapters/sqlite"
	"github.com/provider-checkout/provider-checkout/adapters/webhook"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// drain is how long a server that is told to stop lets requests and deliveries finish.
const drain = 12 * time.Second

// site is the whole service over one store.
type site struct {
	service *service.Service
	handler http.Handler
	log     *slog.Logger
}

// newSite puts the service together as s says, reached under baseURL.
func newSite(db *sqlite.DB, s settings, baseURL string, log *slog.Logger) (*site, error) {
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
		Store:         db,
		Processor:     fakeprocessor.Processor{},
		Printer:       printer,
		Sender:        webhook.New(webhook.Options{AllowPrivate: s.allowPrivate}),
		Now:           time.Now,
		Rand:          rand.Reader,
		Report: func(ctx context.Context, err error) {
			log.ErrorContext(ctx, "failure", slog.String("request_id", httpapi.RequestID(ctx)), slog.Any("error", err))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("set up the service: %w", err)
	}
	return &site{svc, publicHandler(svc, httpapi.Options{
		Log:            log,
		TrustedProxies: s.trustedProxies,
		RateLimit:      s.rateLimit,
		HSTS:           strings.HasPrefix(baseURL, "https://"),
		Now:            time.Now,
		Rand:           rand.Reader,
	}), log}, nil
}

// newPrinter returns a printer that writes times as New Zealand reads them.
func newPrinter(parallel int) (*pdf.Printer, error) {
	zone, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		return nil, fmt.Errorf("load the time zone: %w", err)
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

// serve answers on ln and looks after deliveries until ctx ends, then lets what is under way
// finish. It takes ln over.
func (s *site) serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler:                      s.handler,
		ReadHeaderTimeout:            5 * time.Second,
		ReadTimeout:                  10 * time.Second,
		WriteTimeout:                 60 * time.Second,
		IdleTimeout:                  60 * time.Second,
		MaxHeaderBytes:               16 << 10,
		DisableGeneralOptionsHandler: true, // "OPTIONS *" is one more path that is not found
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var deliveries sync.WaitGroup
	deliveries.Go(func() { s.service.Run(running) })

	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err := <-served:
		stop()
		deliveries.Wait()
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	s.log.Info("draining")
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	stop()
	if err := errors.Join(srv.Shutdown(limit), waitFor(limit, &deliveries)); err != nil {
		s.log.Warn("cut off what did not finish in time", slog.Any("error", err))
		return srv.Close()
	}
	s.log.Info("stopped")
	return nil
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
