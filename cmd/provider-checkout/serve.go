package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/in/ops"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

const opsHelp = "--ops-addr answers the operator, apart from the public: /healthz says 200 while the process lives; /readyz\n" +
	"says 200 while the store takes writes, its schema is current and the processor can be reached, and otherwise\n" +
	"and from SIGTERM on 503, naming what failed (without an outside CRM it stays 200); /metrics is for Prometheus. It asks for no key: choose an address\n" +
	"that only you can reach."

// serve runs the service until ctx ends.
func serve(ctx context.Context, c *call) error {
	c.baseURL = strings.TrimRight(c.baseURL, "/")
	registry := ops.NewRegistry()
	metrics := ops.NewMetrics(registry)
	outside, err := c.mayServe(metrics)
	if err != nil {
		return err
	}
	ln, err := listen(ctx, "--addr", c.addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	private, err := c.listenOps(ctx)
	if err != nil {
		return err
	}
	if private != nil {
		defer private.Close()
	}
	log := httpserver.NewLog(c.Stderr)
	db, err := c.openStore(ctx, c.environment, observer{commit: metrics.ObserveCommit,
		exposed: func(path string) { log.Warn("file made private: everybody could open it", slog.String("file", path)) }})
	if err != nil {
		return err
	}
	defer db.Close()
	base := c.base(ln)
	cfg := c.site(base)
	cfg.Notifier = outside.notifier
	cfg.GoCardless, cfg.Store, cfg.Secrets = outside.processor, db, db.Secrets()
	if cfg.Evidence, err = c.signingKeys(ctx, db); err != nil {
		return err
	}
	if !cfg.Evidence.CanSign() {
		log.Warn("no evidence is sealed by this server", "reason", "it has no private evidence key, or not as the first of the list")
	}
	if cfg.Known, err = c.knownCheckpoint(cfg.Evidence); err != nil {
		return err
	}
	cfg.Checkpoint = c.keepCheckpoint(log)
	cfg.Registry, cfg.Metrics, cfg.Log = registry, metrics, log
	if outside.crm != nil {
		if err := checkOrganisation(ctx, outside.crm, log); err != nil {
			return err
		}
		cfg.CRM = outside.crm
		metrics.ObserveCRMLimit(outside.crm.Limit)
	}
	if c.pullEvery > 0 {
		pull, err := c.pullTask(outside.crm, db, log)
		if err != nil {
			return err
		}
		cfg.Tasks = append(cfg.Tasks, pull)
	}
	var s *site.Site
	stamp, err := c.stamper(func(ctx context.Context) ([]byte, error) { return s.Service.Checkpoint(ctx) })
	if err != nil {
		return err
	}
	if stamp != nil {
		cfg.Tasks = append(cfg.Tasks, service.Task{Kind: checkout.JobStamp, Run: stamp.Run})
	}
	if s, err = site.New(cfg); err != nil {
		return err
	}
	where := []slog.Attr{slog.String("addr", ln.Addr().String()), slog.String("base_url", base),
		slog.String("environment", string(c.environment)), slog.String("crm", c.crm)}
	if private != nil {
		where = append(where, slog.String("ops_addr", private.Addr().String()))
	}
	log.LogAttrs(ctx, slog.LevelInfo, "listening", where...)
	if missing := c.terms.Terms.Lacks(); len(missing) > 0 {
		log.Warn("the terms do not say what a lender must", slog.Any("missing", missing))
	}
	return s.Serve(ctx, ln, private)
}

// pullTask returns the task that reads the providers from the CRM, and records what it changes.
func (c *call) pullTask(crm *salesforce.CRM, db records, log *slog.Logger) (service.Task, error) {
	operator, err := operatorOn(db, db.Secrets(), "providers pull", "")
	return service.Task{Kind: checkout.JobPull, Run: func(ctx context.Context, _ string) (string, time.Duration, error) {
		ctx, cancel := context.WithTimeout(ctx, crmTimeout)
		defer cancel()
		named, err := crm.Configurations(ctx)
		if err != nil {
			return "", c.pullEvery, fmt.Errorf("read the CRM: %w", err)
		}
		differences, err := operator.Configure(ctx, "serve --pull-providers", operate.Change{Named: named, KeepDestinations: true})
		if len(differences) > 0 {
			log.LogAttrs(ctx, slog.LevelInfo, "providers changed", slog.Any("changes", differences))
		}
		return "", c.pullEvery, err
	}}, err
}

// site returns the configuration of a site with the base URL, without its store.
func (c *call) site(base string) site.Config {
	return site.Config{
		Environment:    c.environment,
		BaseURL:        base,
		SetupLifetime:  c.setupLifetime,
		Terms:          c.terms.Terms,
		Agency:         c.terms.Agency,
		Retention:      c.retention,
		AllowPrivate:   c.allowPrivate,
		TrustedProxies: c.trustedProxies,
		RateLimit:      c.rateLimit,
	}
}

// listenOps listens on the operator's address, or returns nil without --ops-addr.
func (c *call) listenOps(ctx context.Context) (net.Listener, error) {
	if c.opsAddr == "" {
		return nil, nil
	}
	return listen(ctx, "--ops-addr", c.opsAddr)
}

// outside has the systems that a server reaches outside of its store.
type outside struct {
	processor *site.GoCardless    // nil: the fake processor
	crm       *salesforce.CRM     // nil: the embedded CRM
	notifier  ports.PayerNotifier // nil: payers are not notified
}

// mayServe returns the systems outside of the store that the settings name, or every reason not to serve with these settings.
func (c *call) mayServe(metrics *ops.Metrics) (outside, error) {
	reached, err := c.outside(metrics)
	if err != nil && c.environment == catalogue.Production {
		err = fmt.Errorf("production is refused: %w", err)
	}
	return reached, err
}

// outside checks that the settings fit together, and returns the systems outside of the store that they name. Its error names
// everything that is missing or wrong, a line each.
func (c *call) outside(metrics *ops.Metrics) (outside, error) {
	processor, wrongProcessor := c.gocardless()
	crm, wrongCRM := c.salesforce(func(kind salesforce.Retry) { metrics.CountCRMRetry(string(kind)) })
	notifier, wrongMail := c.notifier()
	_, wrongStamps := c.stamper(nil)
	secrets, wrongSecrets := c.secrets()
	keys, wrongKeys := c.givenEvidenceKeys()
	reasons := []error{c.checkDeployment(), wrongProcessor, wrongCRM, wrongMail, wrongStamps, wrongSecrets, wrongKeys}
	if c.pullEvery > 0 && c.crm != salesforceName {
		reasons = append(reasons, cli.UsageError("--pull-providers needs --crm salesforce"))
	}
	if err := c.retention.Check(); err != nil {
		reasons = append(reasons, cli.UsageError(cli.OneLine(err.Error())))
	}
	if c.environment == catalogue.Production {
		if secrets == nil && wrongSecrets == nil {
			reasons = append(reasons, missing(secretVariable))
		}
		if !keys.CanSign() && wrongKeys == nil {
			reasons = append(reasons, missing(evidenceVariable))
		}
		if missing := c.terms.Missing(); len(missing) > 0 {
			reasons = append(reasons, fmt.Errorf("the terms lack what their profile wants: %s", strings.Join(missing, ", ")))
		}
		if c.terms.Agency == (agreement.Agency{}) {
			reasons = append(reasons, errors.New("the agency that the privacy notice names is missing (privacy.agency in the file of --terms)"))
		}
		if c.allowPrivate {
			reasons = append(reasons, errors.New("--allow-private-destinations is for the sandbox"))
		}
	}
	return outside{processor, crm, notifier}, errors.Join(reasons...)
}

// checkDeployment checks the base URL and the processor for the environment.
func (c *call) checkDeployment() error {
	if c.environment == catalogue.Production {
		return service.CheckDeployment(c.environment, c.baseURL, c.processorInfo())
	}
	if err := service.CheckDeployment(c.environment, cmp.Or(c.baseURL, "http://localhost"), c.processorInfo()); err != nil {
		return cli.UsageError("--base-url: " + cli.OneLine(err.Error()))
	}
	return nil
}

// base returns the base URL of the server.
func (c *call) base(ln net.Listener) string {
	if c.baseURL != "" {
		return c.baseURL
	}
	host, port, _ := net.SplitHostPort(c.addr)
	if host == "" {
		host = "localhost"
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok && port == "0" {
		port = fmt.Sprint(tcp.Port)
	}
	return "http://" + net.JoinHostPort(host, port)
}

// listen listens on the address, which the named flag set.
func listen(ctx context.Context, flag, addr string) (net.Listener, error) {
	if err := checkAddress(flag, addr); err != nil {
		return nil, err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is taken; choose another address with %s", addr, flag)
	}
	return ln, err
}

// checkAddress checks the form of an address, which the named flag set.
func checkAddress(flag, addr string) error {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return cli.UsageError(fmt.Sprintf("%s %q must be HOST:PORT", flag, addr))
	}
	return nil
}
