// Package site assembles the sandbox as an embedding program would: the service and all its handlers.
package site

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/provider-checkout/provider-checkout/adapters/in/desk"
	"github.com/provider-checkout/provider-checkout/adapters/in/hostedpages"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/in/ops"
	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Store is the store of a site's records.
type Store interface {
	ports.Admin
	fakeprocessor.Records
}

// Config is the configuration of a site.
type Config struct {
	// Service is the configuration of the service. New sets what a site always has: the store, the keyring of the secrets, the
	// processor, the printer, time, randomness and the log; and the sender, unless there is one.
	Service        service.Config
	Store          Store
	SetupLifetime  time.Duration // of the setup links; in a sandbox an order may have another
	Secrets        [][]byte      // of the operator, the newest first
	Signer         *pdf.Signer   // of agreements; if nil, in a sandbox, a signer that follows from the secret
	GoCardless     *GoCardless   // the processor; the fake one if nil
	AllowPrivate   bool          // sends events to loopback and private addresses too
	TrustedProxies []netip.Prefix
	RateLimit      float64              // requests a second for one key, client or token; 0 for no limits
	Registry       *prometheus.Registry // of Metrics; New makes both if they are nil
	Metrics        *ops.Metrics
	Desk           *Desk            // nil: no desk
	Now            func() time.Time // time.Now if nil
	Log            *slog.Logger
	DrainDelay     time.Duration // see httpserver.Config
}

// Desk is the operator's web desk, on a listener of its own.
type Desk struct {
	desk.Settings
	Listener net.Listener
}

// GoCardless is the processor, and what verifies its notifications.
type GoCardless struct {
	Processor      *gocardless.Processor
	WebhookSecrets [][]byte
}

// Site is the whole service on one store.
type Site struct {
	Service  *service.Service
	Handler  http.Handler // of the public
	Operator *ops.Handler
	Log      *slog.Logger
	delay    time.Duration        // of the drain
	private  []httpserver.Private // beside Operator
}

// New assembles a site.
func New(c Config) (*Site, error) {
	if c.Metrics == nil {
		c.Registry = ops.NewRegistry()
		c.Metrics = ops.NewMetrics(c.Registry)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	var receiver *gocardless.Receiver
	mounted := make(map[string]http.Handler)
	cfg, err := c.service(mounted, func(ctx context.Context, cursor string) (string, time.Duration, error) {
		return receiver.Reconcile(ctx, cursor)
	})
	if err != nil {
		return nil, err
	}
	options := httpapi.Options{Log: c.Log, TrustedProxies: c.TrustedProxies, RateLimit: c.RateLimit, Observe: c.Metrics.ObserveRequest,
		Now: c.Now}
	s := &Site{Log: c.Log, delay: c.DrainDelay}
	if s.Service, err = NewService(cfg); err != nil {
		return nil, fmt.Errorf("set up the service: %w", err)
	}
	if s.Operator, err = ops.New(s.Service, ops.Options{Metrics: c.Metrics, Gatherer: c.Registry, Log: c.Log}); err != nil {
		return nil, err
	}
	if c.GoCardless != nil {
		if receiver, err = NewReceiver(s.Service, *c.GoCardless, c.Log); err != nil {
			return nil, err
		}
		mounted[gocardless.WebhookPath] = receiver
	}
	if c.Desk != nil {
		handler, err := desk.New(desk.Options{Settings: c.Desk.Settings, Store: c.Store, Keyring: cfg.Keyring,
			SetupLifetime: c.SetupLifetime, Mails: c.Service.Notifier != nil, Sandbox: c.Service.Environment == catalogue.Sandbox,
			Observe: c.Metrics.ObserveRequest, Log: c.Log, TrustedProxies: c.TrustedProxies})
		if err != nil {
			return nil, fmt.Errorf("set up the desk: %w", err)
		}
		s.private = append(s.private, httpserver.Private{Listener: c.Desk.Listener, Handler: handler})
	}
	s.Handler = Handler(s.Service, cfg.Environment, mounted, options)
	return s, nil
}

// service returns the configuration of the service. The fake processor's pages are mounted; reconcile reads GoCardless' events.
func (c Config) service(mounted map[string]http.Handler,
	reconcile func(ctx context.Context, cursor string) (next string, pause time.Duration, err error)) (service.Config, error) {
	cfg, err := c.Service, error(nil)
	cfg.SetupLifetime = func(string) time.Duration { return c.SetupLifetime }
	if cfg.Keyring, err = checkout.NewKeyring(c.Secrets...); err != nil {
		return cfg, fmt.Errorf("derive the token keys: %w", err)
	}
	signer := c.Signer
	if signer == nil {
		if signer, err = pdf.Derived(c.Secrets[0], "Provider Checkout sandbox"); err != nil {
			return cfg, err
		}
	}
	c.Metrics.Gauge("signer_not_after_timestamp_seconds", "When the certificate ends under which agreements are signed.",
		func() float64 { return float64(signer.Certificate().NotAfter.Unix()) })
	if cfg.Printer, err = pdf.New(runtime.GOMAXPROCS(0), signer); err != nil {
		return cfg, err
	}
	if c.GoCardless != nil {
		cfg.Processor = c.GoCardless.Processor
		cfg.Tasks = append(cfg.Tasks, service.Task{Kind: checkout.JobReconcile, Run: reconcile})
	} else {
		fake := fakeprocessor.New(fakeprocessor.Options{Records: c.Store, BaseURL: cfg.BaseURL, Log: c.Log, RateLimit: c.RateLimit, Now: c.Now})
		cfg.Processor, mounted[fakeprocessor.Prefix] = fake, fake
	}
	if cfg.Sender == nil {
		cfg.Sender = webhook.New(webhook.Options{AllowPrivate: c.AllowPrivate})
	}
	cfg.Store, cfg.Now, cfg.Rand = c.Store, c.Now, rand.Reader
	cfg.Report, cfg.Count = httpserver.Report(c.Log), c.Metrics.Count
	return cfg, nil
}

// NewReceiver returns the receiver of GoCardless' notifications for a service.
func NewReceiver(svc *service.Service, g GoCardless, log *slog.Logger) (*gocardless.Receiver, error) {
	return gocardless.NewReceiver(gocardless.ReceiverOptions{
		Processor: g.Processor,
		Secrets:   g.WebhookSecrets,
		Notified:  svc.Notified,
		Report: func(ctx context.Context, err error) {
			log.LogAttrs(ctx, slog.LevelWarn, "handle notifications", slog.Any("error", err))
		},
	})
}

// NewService returns a service. In a sandbox it follows the scenarios.
func NewService(c service.Config) (*service.Service, error) {
	if c.Environment == catalogue.Sandbox {
		scenario.Decorate(&c)
	}
	return service.New(c)
}

// Handler returns the public handler of a service of NewService: the API, its documentation, the payer's pages and the mounted
// handlers of the processor. In a sandbox it follows the scenarios.
func Handler(svc *service.Service, env catalogue.Environment, mounted map[string]http.Handler, o httpapi.Options) http.Handler {
	o.Mount = maps.Clone(mounted)
	o.Mount[hostedpages.Prefix] = hostedpages.New(svc, hostedpages.Options{Log: o.Log, RateLimit: o.RateLimit, Now: o.Now})
	if env == catalogue.Sandbox {
		return scenario.Answers(httpapi.New(svc, o))
	}
	return httpapi.New(svc, o)
}

// Serve answers on public, to the operator on private unless that is nil, and at the desk. It does the background work until ctx
// ends, and then drains.
func (s *Site) Serve(ctx context.Context, public, private net.Listener) error {
	servers := s.private
	if private != nil {
		servers = append(servers, httpserver.Private{Listener: private, Handler: s.Operator})
	}
	return httpserver.Serve(ctx, httpserver.Config{Listener: public, Handler: s.Handler, Background: s.Service.Run, Private: servers,
		OnDrain: s.Operator.Drain, DrainDelay: s.delay, Log: s.Log})
}
