// Package site puts the service together with its HTTP handlers, and serves it until it is told to end.
package site

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
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
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// How long a server that is told to stop lets requests and deliveries finish, and then the
// operator's own requests.
const (
	drain    = 12 * time.Second
	drainOps = time.Second
)

// Config is what a site is made of.
type Config struct {
	Store          ports.Store
	Secrets        [][]byte // of the operator, the newest first
	Environment    catalogue.Environment
	BaseURL        string // under which it is reached
	SetupLifetime  time.Duration
	Terms          agreement.Terms
	AllowPrivate   bool // sends events to loopback and private addresses too
	TrustedProxies []netip.Prefix
	RateLimit      float64 // requests a second for one key; 0 for no limits
}

// Site is the whole service over one store.
type Site struct {
	Service *service.Service
	Handler http.Handler // of the public
	Ops     *ops.Door    // of the operator
	Log     *slog.Logger
}

// New puts the service together. It reports to metrics and log what happens.
func New(cfg Config, metrics *ops.Metrics, log *slog.Logger) (*Site, error) {
	keyring, err := checkout.NewKeyring(cfg.Secrets...)
	if err != nil {
		return nil, fmt.Errorf("derive the token keys: %w", err)
	}
	printer, err := NewPrinter(runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	svc, err := service.New(service.Config{
		Environment:   cfg.Environment,
		BaseURL:       cfg.BaseURL,
		SetupLifetime: cfg.SetupLifetime,
		Keyring:       keyring,
		Terms:         cfg.Terms,
		Store:         cfg.Store,
		Processor:     fakeprocessor.Processor{},
		Printer:       printer,
		Sender:        webhook.New(webhook.Options{AllowPrivate: cfg.AllowPrivate}),
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
	public := Handler(svc, httpapi.Options{
		Log:            log,
		TrustedProxies: cfg.TrustedProxies,
		RateLimit:      cfg.RateLimit,
		HSTS:           strings.HasPrefix(cfg.BaseURL, "https://"),
		Now:            time.Now,
		Rand:           rand.Reader,
		Observe:        metrics.ObserveRequest,
	})
	return &Site{svc, public, ops.New(svc, metrics, log), log}, nil
}

// NewPrinter returns a printer that writes times as New Zealand reads them.
func NewPrinter(parallel int) (*pdf.Printer, error) {
	zone, err := NewZealand()
	if err != nil {
		return nil, err
	}
	return pdf.New(parallel, zone)
}

// Handler is everything that the service answers to the outside: the setup pages, the fake
// processor's, and for any other path the API, which knows what is not found. (http.ServeMux
// would redirect an unclean path instead.)
func Handler(svc *service.Service, o httpapi.Options) http.Handler {
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

// Serve answers on public, and to the operator on private unless that is nil, and looks after
// deliveries until ctx ends. Then it lets what is under way finish, while the operator still
// is answered. It takes the listeners over.
func (s *Site) Serve(ctx context.Context, public, private net.Listener) error {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var deliveries sync.WaitGroup
	deliveries.Go(func() { s.Service.Run(running) })

	entrance := newDoor(public)
	srv := s.server(s.Handler)
	srv.ConnState = entrance.count
	defer srv.Close()
	served := s.start(srv, entrance)
	var failed <-chan error // of the operators' server
	if private != nil {
		operators := s.server(s.Ops)
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
	s.Log.Info("draining")
	s.Ops.Drain()
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	// Not by Shutdown, from which on the server drops requests that are on their way to it.
	entrance.closeGently()
	<-served
	srv.SetKeepAlivesEnabled(false)
	if err := errors.Join(waitFor(limit, &entrance.guests), waitFor(limit, &deliveries)); err != nil {
		s.Log.Warn("cut off what did not finish in time", slog.Any("error", err))
		return srv.Close()
	}
	s.Log.Info("stopped")
	return nil
}

// server returns a server for h that bounds what a client may take its time for.
func (s *Site) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:                      h,
		ReadHeaderTimeout:            5 * time.Second,
		ReadTimeout:                  10 * time.Second,
		WriteTimeout:                 60 * time.Second,
		IdleTimeout:                  60 * time.Second,
		MaxHeaderBytes:               16 << 10,
		DisableGeneralOptionsHandler: true, // "OPTIONS *" is one more path that is not found
		ErrorLog:                     slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
}

// start has srv answer on ln, and says when that has ended.
func (s *Site) start(srv *http.Server, ln net.Listener) <-chan error {
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

// NewZealand is the zone of every date and time that people read.
func NewZealand() (*time.Location, error) {
	zone, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		return nil, fmt.Errorf("load the time zone: %w", err)
	}
	return zone, nil
}
