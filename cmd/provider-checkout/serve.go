package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/desk"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// serve runs the service.
type serve struct{ ServerFlags }

// Run serves until ctx ends.
func (f *serve) Run(ctx context.Context, c *call) error {
	return (&server{call: c, ServerFlags: f.ServerFlags}).serve(ctx)
}

// server is a server with its settings.
type server struct {
	*call
	ServerFlags
	deskListener net.Listener // nil: no desk
}

func (s *server) serve(ctx context.Context) error {
	s.BaseURL = strings.TrimRight(s.BaseURL, "/")
	outside, err := s.outside()
	if err != nil && s.Environment == catalogue.Production {
		return fmt.Errorf("production is refused: %w", err)
	} else if err != nil {
		return err
	}
	ln, err := s.listen(ctx, "addr", s.Addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	var private net.Listener
	if s.OpsAddr != "" {
		if private, err = s.listen(ctx, "ops-addr", s.OpsAddr); err != nil {
			return err
		}
		defer private.Close()
	}
	if err := s.listenDesk(ctx); err != nil {
		return err
	} else if s.deskListener != nil {
		defer s.deskListener.Close()
	}
	signal.Ignore(syscall.SIGPIPE) // a reader of the log that goes ends nothing
	lines := httpserver.NewLines(s.Stderr)
	defer lines.Flush(time.Second)
	outside.metrics.ObserveLog(lines.Lost)
	log := httpserver.NewLog(lines)
	db, err := s.open(ctx, opening{environment: s.Environment})
	if err != nil {
		return err
	}
	base := s.base(ln)
	served, err := s.assemble(ctx, base, outside, db, log)
	if err != nil {
		return err
	}
	s.announce(ctx, log, ln, private)
	return served.Serve(ctx, ln, private)
}

// announce logs where the server listens, and what its operator should know of its settings.
func (s *server) announce(ctx context.Context, log *slog.Logger, ln, private net.Listener) {
	where := []slog.Attr{slog.String("addr", ln.Addr().String()), slog.String("base_url", s.base(ln)),
		slog.String("environment", string(s.Environment)), slog.String("crm", s.CRM)}
	if private != nil {
		where = append(where, slog.String("ops_addr", private.Addr().String()))
	}
	if s.deskListener != nil {
		where = append(where, slog.String("desk_url", s.DeskURL))
	}
	log.LogAttrs(ctx, slog.LevelInfo, "listening", where...)
	if chosen := s.Terms.Chosen(); chosen != providerfile.ConsumerCredit {
		log.Warn("terms profile", slog.String("profile", string(chosen)), slog.String("reason", s.Terms.Reason))
	}
	if s.deskListener != nil && s.DeskOIDCIssuer == "" {
		log.Warn("the desk is open to whoever reaches it: there is no issuer", slog.String("desk_url", s.DeskURL))
	}
	if missing := s.lacking(); s.Terms.Profile != "" && len(missing) > 0 {
		log.Warn("production would refuse these terms", slog.Any("missing", missing))
	}
}

// assemble returns the site on an open store, with the systems outside of it.
func (s *server) assemble(ctx context.Context, base string, outside outside, db records, log *slog.Logger) (*site.Site, error) {
	cfg := s.site(base)
	cfg.Service.Notifier = outside.notifier
	cfg.GoCardless, cfg.Store, cfg.Secrets, cfg.Signer = outside.processor, db, db.Secrets(), outside.signer
	cfg.Registry, cfg.Metrics, cfg.Log = outside.registry, outside.metrics, log
	if outside.crm != nil {
		if err := checkOrganisation(ctx, outside.crm, log); err != nil {
			return nil, err
		}
		cfg.Service.CRM = outside.crm
		pull, err := s.pullTask(outside.crm, db, log)
		if err != nil {
			return nil, err
		}
		cfg.Service.Tasks = append(cfg.Service.Tasks, pull)
	}
	return site.New(cfg)
}

// lacking returns what the terms lack by their profile, a sentence each; nil for terms that could not be read.
func (s *server) lacking() []string {
	if s.refused["terms"] {
		return nil
	}
	return s.Terms.Missing(s.Processor == gocardlessName)
}

// pullEvery is the time between two looks of a server at the providers that the CRM configures.
const pullEvery = 5 * time.Minute

// pullTask returns the task that reads the providers from the CRM, and records what it changes.
func (s *server) pullTask(crm *salesforce.CRM, db records, log *slog.Logger) (service.Task, error) {
	operator, err := operatorOn(db, db.Secrets(), "crm pull", "")
	return service.Task{Kind: checkout.JobPull, Run: func(ctx context.Context, _ string) (string, time.Duration, error) {
		ctx, cancel := context.WithTimeout(ctx, crmTimeout)
		defer cancel()
		named, err := configured(ctx, crm)
		if err != nil {
			return "", pullEvery, fmt.Errorf("read the CRM: %w", err)
		}
		differences, _, err := operator.Configure(ctx, "serve", operate.Change{Named: named, KeepDestinations: true})
		if len(differences) > 0 {
			log.LogAttrs(ctx, slog.LevelInfo, "providers changed", slog.Any("changes", differences))
		}
		return "", pullEvery, err
	}}, err
}

// site returns the configuration of a site with the base URL, without its store.
func (s *server) site(base string) site.Config {
	return site.Config{
		Service: service.Config{Environment: s.Environment, BaseURL: base, Terms: s.Terms.Terms,
			Agency: s.Terms.Agency, Recipients: s.Terms.Recipients, Retention: s.retention()},
		SetupLifetime:  s.SetupLifetime,
		AllowPrivate:   s.AllowPrivate,
		TrustedProxies: s.TrustedProxies,
		RateLimit:      s.RateLimit,
		DrainDelay:     s.DrainDelay,
		Desk:           s.siteDesk(),
	}
}

// base returns the base URL of the server.
func (s *server) base(ln net.Listener) string {
	if s.BaseURL != "" {
		return s.BaseURL
	}
	return localURL(s.Addr, ln)
}

// localURL returns the URL of a listener on an address.
func localURL(addr string, ln net.Listener) string {
	host, port, _ := net.SplitHostPort(addr)
	if host == "" {
		host = "localhost"
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok && port == "0" {
		port = fmt.Sprint(tcp.Port)
	}
	return "http://" + net.JoinHostPort(host, port)
}

// listen listens on the address, which the named flag set.
func (c *call) listen(ctx context.Context, flag, addr string) (net.Listener, error) {
	if err := c.checkAddress(flag, addr); err != nil {
		return nil, err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is taken; choose another address with %s", addr, c.name(flag))
	}
	return ln, err
}

// checkAddress checks the form of an address, which the named flag set.
func (c *call) checkAddress(flag, addr string) error {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return usageError(fmt.Sprintf("%s %q must be HOST:PORT", c.name(flag), addr))
	}
	return nil
}

// desk returns the settings of the desk.
func (s *server) desk() desk.Settings {
	return desk.Settings{URL: s.DeskURL, Issuer: s.DeskOIDCIssuer, Audience: s.DeskOIDCAudience, TokenHeader: s.DeskTokenHeader, Roles: s.DeskRoles}
}

// checkDesk completes the settings of the desk, and returns everything that is missing or wrong.
func (s *server) checkDesk() error {
	if s.DeskAddr == "" {
		for _, name := range slices.Sorted(maps.Keys(s.flags)) {
			if from, _ := s.source(variableOf(name)); strings.HasPrefix(name, "desk-") && from != (source{}) {
				return s.needs(name, "desk-addr")
			}
		}
		return nil
	}
	faults := []error{s.checkAddress("desk-addr", s.DeskAddr)}
	s.DeskURL = strings.TrimRight(s.DeskURL, "/")
	for _, needed := range []struct{ flag, value string }{{"desk-url", s.DeskURL}, {"desk-oidc-issuer", s.DeskOIDCIssuer},
		{"desk-oidc-audience", s.DeskOIDCAudience}, {"desk-roles", s.DeskRoles.Claim}} {
		if needed.value == "" && !s.refused[needed.flag] {
			faults = append(faults, s.needs("desk-addr", needed.flag))
		}
	}
	if errors.Join(faults...) == nil {
		faults = s.desk().Check(s.Environment)
	}
	if err := errors.Join(faults...); err != nil {
		return usageError(err.Error())
	}
	return nil
}

// listenDesk listens for the desk, if there is one.
func (s *server) listenDesk(ctx context.Context) (err error) {
	if s.DeskAddr == "" {
		return nil
	}
	if s.deskListener, err = s.listen(ctx, "desk-addr", s.DeskAddr); err == nil && s.DeskURL == "" {
		s.DeskURL = localURL(s.DeskAddr, s.deskListener)
	}
	return err
}

// siteDesk returns the desk as the site serves it, or nil.
func (s *server) siteDesk() *site.Desk {
	if s.deskListener == nil {
		return nil
	}
	return &site.Desk{Settings: s.desk(), Listener: s.deskListener}
}
