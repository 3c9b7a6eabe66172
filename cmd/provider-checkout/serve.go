package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/in/ops"
	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
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
	defer db.Close()
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

// outside has the systems that a server reaches outside of its store.
type outside struct {
	processor *site.GoCardless    // nil: the fake processor
	crm       *salesforce.CRM     // nil: the embedded CRM
	notifier  ports.PayerNotifier // nil: payers are not notified
	signer    *pdf.Signer         // nil: of the sandbox
	registry  *prometheus.Registry
	metrics   *ops.Metrics
}

// outside checks that the settings fit together, and returns the systems outside of the store that they name. Its error names
// everything that is missing or wrong, a line each.
func (s *server) outside() (outside, error) {
	registry := ops.NewRegistry()
	metrics := ops.NewMetrics(registry)
	processor, wrongProcessor := s.gocardless(s.call)
	crm, wrongCRM := s.salesforce(s.call)
	notifier, wrongMail := s.notifier()
	secrets, wrongSecrets := s.secrets()
	signer, wrongSigner := s.signer()
	if signer != nil {
		signer.Stamper = s.stamper(metrics)
	} else if s.TSA != "" && wrongSigner == nil {
		wrongSigner = usageError(s.name("tsa") + " needs a signer (" + namesOf(signerVariable) + ")")
	}
	reasons := []error{s.checkDeployment(), wrongProcessor, wrongCRM, wrongMail, wrongSecrets, wrongSigner, s.checkDesk()}
	for _, part := range []struct {
		flag string
		checkout.Retention
	}{
		{"erase-abandoned-days", checkout.Retention{AbandonedDays: s.EraseAbandonedDays}},
		{"erase-agreed-years", checkout.Retention{AgreedYears: s.EraseAgreedYears}},
	} {
		if err := part.Check(); err != nil {
			reasons = append(reasons, usageError(s.name(part.flag)+": "+err.Error()))
		}
	}
	if s.Environment == catalogue.Production {
		if secrets == nil && wrongSecrets == nil {
			reasons = append(reasons, missing(secretVariable))
		}
		if signer == nil && wrongSigner == nil {
			reasons = append(reasons, missing(signerVariable))
		}
		for _, sentence := range s.lacking() {
			reasons = append(reasons, fmt.Errorf("%s: %s (profile %s)", s.name("terms"), sentence, s.Terms.Chosen()))
		}
		if s.Terms.Agency == (agreement.Agency{}) && !s.refused["terms"] {
			reasons = append(reasons, errors.New("the agency that the privacy notice names is missing (privacy.agency in the file of "+s.name("terms")+")"))
		}
		if s.AllowPrivate {
			reasons = append(reasons, errors.New(s.name("allow-private-destinations")+" is for the sandbox"))
		}
	}
	return outside{processor, crm, notifier, signer, registry, metrics}, errors.Join(reasons...)
}

// signer returns the signer of agreements, or nil without one.
func (s *server) signer() (*pdf.Signer, error) {
	return parsed(s.call, signerVariable, func(l secretList) (*pdf.Signer, error) {
		if strings.TrimSpace(l.text) == "" { // a file that is always mounted
			return nil, nil
		}
		signer, err := pdf.ParseSigner([]byte(l.text))
		switch {
		case err != nil:
			return nil, err
		case !signer.Signs():
			return nil, errors.New("the private key is missing")
		}
		return signer, signer.Valid(time.Now())
	})
}

// stamper returns what asks for time-stamps, or nil. It never follows an answer to another address.
func (s *server) stamper(metrics *ops.Metrics) *pdf.Stamper {
	if s.TSA == "" {
		return nil
	}
	client := &http.Client{Timeout: organisationTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &pdf.Stamper{URL: s.TSA, Client: client, Count: metrics.CountStamps()}
}

// checkDeployment checks the base URL and the processor for the environment.
func (s *server) checkDeployment() error {
	if s.Environment == catalogue.Production {
		return errors.Join(
			about(s.name("base-url"), service.CheckDeployment(s.Environment, s.BaseURL, checkout.ProcessorInfo{Environment: s.Environment})),
			about(s.name("processor"), service.CheckDeployment(s.Environment, "https://localhost", s.processorInfo())))
	}
	if err := service.CheckDeployment(s.Environment, cmp.Or(s.BaseURL, "http://localhost"), s.processorInfo()); err != nil {
		return usageError(s.name("base-url") + ": " + oneLine(err.Error()))
	}
	return nil
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
