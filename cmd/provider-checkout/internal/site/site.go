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

	"github.com/provider-checkout/provider-checkout/adapters/in/hostedpages"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/in/ops"
	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Store is the store of a site's records.
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
	GoCardless     *GoCardless         // the processor; the fake one if nil
	CRM            ports.CRM           // outside of the store; nil: the embedded one
	Tasks          []service.Task      // of the program, besides the processor's
	Notifier       ports.PayerNotifier // of payers; nil: they are not notified
	SetupLifetime  time.Duration
	Terms          agreement.Terms
	Agency         agreement.Agency // that the privacy notice names
	Retention      checkout.Retention
	Evidence       evidence.Keys                 // sign the checkpoints of the evidence log; without them nothing is sealed
	Known          []byte                        // the newest checkpoint that was kept elsewhere; empty without one
	Checkpoint     func(context.Context, []byte) // called with each signed checkpoint; may be nil
	AllowPrivate   bool                          // sends events to loopback and private addresses too
	TrustedProxies []netip.Prefix
	RateLimit      float64              // requests a second for one key, client or token; 0 for no limits
	Registry       *prometheus.Registry // of Metrics
	Metrics        *ops.Metrics
	Log            *slog.Logger
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
	mounted := make(map[string]http.Handler)
	var processor ports.Processor
	if c.GoCardless != nil {
		processor = c.GoCardless.Processor
	} else {
		fake := fakeprocessor.New(fakeprocessor.Options{Records: c.Store, BaseURL: c.BaseURL, Authority: c.Terms.Authority, Log: c.Log, RateLimit: c.RateLimit})
		processor, mounted[fakeprocessor.Prefix] = fake, fake
	}
	if c.CRM == nil {
		c.CRM = service.EmbeddedCRM(c.Environment)
	}
	var receiver *gocardless.Receiver
	if c.GoCardless != nil {
		c.Tasks = append(c.Tasks, service.Task{Kind: checkout.JobReconcile,
			Run: func(ctx context.Context, cursor string) (string, time.Duration, error) {
				return receiver.Reconcile(ctx, cursor)
			}})
	}
	svc, err := service.New(service.Config{
		Environment:     c.Environment,
		BaseURL:         c.BaseURL,
		SetupLifetime:   c.SetupLifetime,
		Keyring:         keyring,
		Terms:           c.Terms,
		Agency:          c.Agency,
		Retention:       c.Retention,
		Evidence:        c.Evidence,
		KnownCheckpoint: c.Known,
		Checkpoint:      c.Checkpoint,
		Store:           c.Store,
		Processor:       processor,
		CRM:             c.CRM,
		Printer:         printer,
		Notifier:        c.Notifier,
		Sender:          webhook.New(webhook.Options{AllowPrivate: c.AllowPrivate}),
		Now:             time.Now,
		Rand:            rand.Reader,
		Report:          httpserver.Report(c.Log),
		Noted:           httpserver.Noted(c.Log),
		Tasks:           c.Tasks,
		Count:           c.Metrics.Count,
	})
	if err != nil {
		return nil, fmt.Errorf("set up the service: %w", err)
	}
	operator, err := ops.New(svc, ops.Options{Metrics: c.Metrics, Gatherer: c.Registry, Log: c.Log})
	if err != nil {
		return nil, err
	}
	s := &Site{Service: svc, Operator: operator, Log: c.Log}
	if c.GoCardless != nil {
		if receiver, err = NewReceiver(svc, *c.GoCardless, c.Log); err != nil {
			return nil, err
		}
		mounted[gocardless.WebhookPath] = receiver
	}
	s.Handler = Handler(svc, mounted, httpapi.Options{
		Log:            c.Log,
		TrustedProxies: c.TrustedProxies,
		RateLimit:      c.RateLimit,
		Observe:        c.Metrics.ObserveRequest,
	})
	return s, nil
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
		Now: time.Now,
	})
}

// Handler returns everything that a service answers to the outside: the API, its documentation, the payer's pages and
// what the processor has mounted.
func Handler(svc *service.Service, mounted map[string]http.Handler, o httpapi.Options) http.Handler {
	o.Mount = maps.Clone(mounted)
	o.Mount[hostedpages.Prefix] = hostedpages.New(svc, hostedpages.Options{Log: o.Log, RateLimit: o.RateLimit, Now: o.Now})
	return httpapi.New(svc, o)
}

// Serve answers on public, and to the operator on private unless that is nil. It does the background work until ctx
// ends, and then drains.
func (s *Site) Serve(ctx context.Context, public, private net.Listener) error {
	return httpserver.Serve(ctx, httpserver.Config{Listener: public, Handler: s.Handler, Background: s.Service.Run,
		OperatorListener: private, Operator: s.Operator, OnDrain: s.Operator.Drain, Log: s.Log})
}
