// Package site assembles the sandbox as an embedding program would: the service and all its handlers.
package site

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/provider-checkout/provider-checkout/adapters/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/hostedpages"
	"github.com/provider-checkout/provider-checkout/adapters/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/ops"
	"github.com/provider-checkout/provider-checkout/adapters/pdf"
	"github.com/provider-checkout/provider-checkout/adapters/webhook"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Store is what a site keeps its records in.
type Store interface {
	ports.Admin
	fakeprocessor.Records
}

// Config is the configuration of a site.
type Config struct {
	Store          Store
	Secrets        [][]byte // of the operator, the newest first
	Environment    catalogue.Environment
	BaseURL        string
	SetupLifetime  time.Duration
	Terms          agreement.Terms
	AllowPrivate   bool // sends events to loopback and private addresses too
	TrustedProxies []netip.Prefix
	RateLimit      float64              // requests a second for one key, client or token; 0 for no limits
	Registry       *prometheus.Registry // of Metrics
	Metrics        *ops.Metrics
	Log            *slog.Logger
}

// Site is the whole service on one store.
type Site struct {
	Service  *service.Service
	Handler  http.Handler // of the public
	Operator *ops.Handler
	Log      *slog.Logger
}

// New assembles a site.
func New(c Config) (*Site, error) {
	keyring, err := checkout.NewKeyring(c.Secrets...)
	if err != nil {
		return nil, fmt.Errorf("derive the token keys: %w", err)
	}
	printer, err := pdf.New(runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	bank := fakeprocessor.New(fakeprocessor.Options{Records: c.Store, BaseURL: c.BaseURL, Log: c.Log, RateLimit: c.RateLimit})
	svc, err := service.New(service.Config{
		Environment:   c.Environment,
		BaseURL:       c.BaseURL,
		SetupLifetime: c.SetupLifetime,
		Keyring:       keyring,
		Terms:         c.Terms,
		Store:         c.Store,
		Processor:     bank,
		Printer:       printer,
		Sender:        webhook.New(webhook.Options{AllowPrivate: c.AllowPrivate}),
		Now:           time.Now,
		Rand:          rand.Reader,
		Report:        httpserver.Report(c.Log),
		Count:         c.Metrics.Count,
	})
	if err != nil {
		return nil, fmt.Errorf("set up the service: %w", err)
	}
	operator, err := ops.New(svc, ops.Options{Metrics: c.Metrics, Gatherer: c.Registry, Log: c.Log})
	if err != nil {
		return nil, err
	}
	public := Handler(svc, bank, httpapi.Options{
		Log:            c.Log,
		TrustedProxies: c.TrustedProxies,
		RateLimit:      c.RateLimit,
		Observe:        c.Metrics.ObserveRequest,
	})
	return &Site{svc, public, operator, c.Log}, nil
}

// Handler returns the public handler of a service: the API, its documentation, the payer's pages and the fake
// processor's.
func Handler(svc *service.Service, bank *fakeprocessor.Processor, o httpapi.Options) http.Handler {
	o.Mount = map[string]http.Handler{
		hostedpages.Prefix:   hostedpages.New(svc, hostedpages.Options{Log: o.Log, RateLimit: o.RateLimit, Now: o.Now}),
		fakeprocessor.Prefix: bank,
	}
	return httpapi.New(svc, o)
}

// Serve answers on public, and to the operator on private unless that is nil. It does the background work until ctx
// ends, and then drains.
func (s *Site) Serve(ctx context.Context, public, private net.Listener) error {
	return httpserver.Serve(ctx, httpserver.Config{Listener: public, Handler: s.Handler, Background: s.Service.Run,
		OperatorListener: private, Operator: s.Operator, OnDrain: s.Operator.Drain, Log: s.Log})
}
