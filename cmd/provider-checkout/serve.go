package main

import (
	"cmp"
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
	crm *salesforce.CRM // nil: the store is the record
}

func (s *server) serve(ctx context.Context) error {
	s.BaseURL = strings.TrimRight(s.BaseURL, "/")
	cfg, err := s.site()
	if err != nil && s.Environment == catalogue.Production {
		return fmt.Errorf("production is refused: %w", err)
	} else if err != nil {
		return err
	}
	at := map[string]net.Listener{} // by the flag of the address
	for _, a := range s.addresses() {
		ln, err := s.listen(ctx, a.flag, a.value)
		if err != nil {
			return err
		}
		defer ln.Close()
		at[a.flag] = ln
	}
	signal.Ignore(syscall.SIGPIPE) // a reader of the log that goes ends nothing
	lines := httpserver.NewLines(s.Stderr)
	defer lines.Flush(time.Second)
	cfg.Metrics.ObserveLog(lines.Lost)
	cfg.Log = httpserver.NewLog(lines)
	db, err := s.open(ctx, opening{environment: s.Environment})
	if err != nil {
		return err
	}
	cfg.Store, cfg.Secrets = db, db.Secrets()
	cfg.Service.BaseURL = s.base(at["addr"])
	if ln := at["desk-addr"]; ln != nil {
		cfg.Desk = &site.Desk{Settings: s.desk(), Listener: ln}
	}
	if s.crm != nil {
		pull, err := s.pullTask(ctx, db, cfg.Log)
		if err != nil {
			return err
		}
		cfg.Service.Tasks = append(cfg.Service.Tasks, pull)
	}
	served, err := site.New(cfg)
	if err != nil {
		return err
	}
	s.announce(ctx, cfg, at)
	return served.Serve(ctx, at["addr"], at["ops-addr"])
}

// announce logs where the server listens, and what its operator should know of its settings.
func (s *server) announce(ctx context.Context, cfg site.Config, at map[string]net.Listener) {
	where := []slog.Attr{slog.String("addr", at["addr"].Addr().String()), slog.String("base_url", cfg.Service.BaseURL),
		slog.String("environment", string(s.Environment)), slog.String("crm", s.CRM)}
	if private := at["ops-addr"]; private != nil {
		where = append(where, slog.String("ops_addr", private.Addr().String()))
	}
	if cfg.Desk != nil {
		where = append(where, slog.String("desk_url", s.DeskURL))
	}
	cfg.Log.LogAttrs(ctx, slog.LevelInfo, "listening", where...)
	if chosen := s.Terms.Chosen(); chosen != providerfile.ConsumerCredit {
		cfg.Log.Warn("terms profile", slog.String("profile", string(chosen)), slog.String("reason", s.Terms.Reason))
	}
	if missing := s.lacking(); s.Terms.Profile != "" && len(missing) > 0 {
		cfg.Log.Warn("production would refuse these terms", slog.Any("missing", missing))
	}
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

// pullTask returns the task that reads the providers from the CRM, and records what it changes. An organisation of another environment is
// an error.
func (s *server) pullTask(ctx context.Context, db records, log *slog.Logger) (service.Task, error) {
	if err := checkOrganisation(ctx, s.crm, log); err != nil {
		return service.Task{}, err
	}
	operator, err := operatorOn(db, db.Secrets(), "crm pull", "")
	return service.Task{Kind: checkout.JobPull, Run: func(ctx context.Context, _ string) (string, time.Duration, error) {
		ctx, cancel := context.WithTimeout(ctx, crmTimeout)
		defer cancel()
		named, err := configured(ctx, s.crm)
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

// value is the value of a setting, with the name of its flag.
type value struct{ flag, value string }

// addresses returns the addresses on which the server listens.
func (s *server) addresses() []value {
	optional := []value{{"ops-addr", s.OpsAddr}, {"desk-addr", s.DeskAddr}}
	return append([]value{{"addr", s.Addr}}, slices.DeleteFunc(optional, func(a value) bool { return a.value == "" })...)
}

// base returns the base URL of the server.
func (s *server) base(ln net.Listener) string { return cmp.Or(s.BaseURL, localURL(s.Addr, ln)) }

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
			if from, _ := s.setting(variableOf(name)); strings.HasPrefix(name, "desk-") && from.name != "" {
				return s.needs(name, "desk-addr")
			}
		}
		return nil
	}
	var faults []error
	s.DeskURL = strings.TrimRight(s.DeskURL, "/")
	for _, needed := range []value{{"desk-url", s.DeskURL}, {"desk-oidc-issuer", s.DeskOIDCIssuer},
		{"desk-oidc-audience", s.DeskOIDCAudience}, {"desk-roles", s.DeskRoles.Claim}} {
		if needed.value == "" && !s.refused[needed.flag] {
			faults = append(faults, s.needs("desk-addr", needed.flag))
		}
	}
	if len(faults) == 0 {
		faults = s.desk().Check(s.Environment)
	}
	if err := errors.Join(faults...); err != nil {
		return usageError(err.Error())
	}
	return nil
}
