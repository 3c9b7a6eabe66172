package main

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/desk"
	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

// The functions below define the flags that several commands have. A flag of one command stands with the command.

// configFlag defines the file of settings, which flags and variables override.
func (c *call) configFlag() {
	c.flags.StringVar(&c.configFile, "config", "", "`FILE` of settings (JSON), which flags and variables override; \"config check\" says what it means")
	c.flags.AllowVariable("config")
}

func (c *call) storeFlag() {
	c.configFlag()
	c.flags.StringVar(&c.store, "store", "sqlite:provider-checkout.db",
		"where the records are kept: `STORE` is sqlite:PATH or postgres://USER@HOST:PORT/DATABASE.\n"+
			"Put a URL that holds a password into PROVIDER_CHECKOUT_STORE: others on this machine can read flags.")
	c.flags.AllowVariable("store")
}

// reasonFlag defines the flag for the reason of an operator's change.
func (c *call) reasonFlag() {
	cli.Var(c.flags, &c.reason, "reason", "", operate.ParseReason, "`TEXT` that is recorded as the reason; no secret, nobody's personal data")
}

// changeFlags defines the flags of a command that changes records.
func (c *call) changeFlags() {
	c.storeFlag()
	c.reasonFlag()
}

// jsonFlag defines the flag that has a command print for programs.
func (c *call) jsonFlag() { c.flags.BoolVar(&c.json, "json", false, "print a JSON object a line") }

// readFlags defines the flags of a command that reads records: it needs no secret, and writes nothing to the store.
func (c *call) readFlags() {
	c.storeFlag()
	c.readOnly = true
}

// listFlags defines the flags of a command that lists records.
func (c *call) listFlags() {
	c.readFlags()
	c.jsonFlag()
}

// requiredFlag defines a flag that must be given.
func (c *call) requiredFlag(name, usage string) *string {
	value := c.flags.String(name, "", usage)
	c.flags.Require(name)
	return value
}

func (c *call) sinceFlag(since *time.Time, usage string) {
	cli.Var(c.flags, since, "since", "", parseSince, usage+",\nsuch as 2026-12-01 (UTC) or 2026-12-01T03:00:00+13:00, or 2h for two hours ago")
}

func (c *call) lifetimeFlag(lifetime *time.Duration) {
	cli.Var(c.flags, lifetime, "setup-lifetime", "168h", parseLifetime, "how long a setup page opens, a `DURATION`")
}

func (c *call) allowPrivateFlag(allow *bool) {
	c.flags.BoolVar(allow, "allow-private-destinations", false, "send events to loopback and private addresses too (sandbox only)")
}

// systems has the settings of the processor and of the CRM.
type systems struct {
	*call
	environment   catalogue.Environment
	processor     string
	gocardlessURL string
	allowPrivate  bool // events may be sent to private addresses

	crm               string
	salesforceURL     string
	salesforceUser    string
	salesforceMapping salesforce.Mapping
}

func (s *systems) environmentFlag() {
	cli.Var(s.flags, &s.environment, "environment", "sandbox", parseEnvironment, "`sandbox|production`")
}

// processorFlags defines the flags for the choice of the processor and its address.
func (s *systems) processorFlags() {
	s.environmentFlag()
	cli.Var(s.flags, &s.processor, "processor", "fake", oneOf(fakeName, gocardlessName), "direct debit processor, `fake|gocardless`; production needs gocardless")
	s.flags.StringVar(&s.gocardlessURL, "gocardless-url", "", "`URL` of GoCardless' API (default that of the environment; in the sandbox also a simulator's)")
}

// crmFlags defines the flags for the choice of the CRM and its address.
func (s *systems) crmFlags(usual string) {
	cli.Var(s.flags, &s.crm, "crm", usual, oneOf(embeddedName, salesforceName), "`embedded|salesforce`; the embedded CRM is the store")
	s.flags.StringVar(&s.salesforceURL, "salesforce-url", "",
		"`URL` of the organisation, https://NAME.my.salesforce.com; in the sandbox also a simulator's")
	s.flags.StringVar(&s.salesforceUser, "salesforce-user", "", "`USER` as whom a JWT key signs in")
	cli.Var(s.flags, &s.salesforceMapping, "salesforce-mapping", "", parseFile(s.flags.Stdin, salesforce.ParseMapping),
		"`FILE` with the organisation's names of objects and fields, where they differ from those of the metadata")
}

// privateSetting defines the setting of serve for a command that sends nothing.
func (s *systems) privateSetting() {
	s.allowPrivateFlag(&s.allowPrivate)
	s.flags.Lookup("allow-private-destinations").Hidden = true
	s.flags.AllowVariable("allow-private-destinations")
}

// server has the settings of serve.
type server struct {
	systems
	addr           string
	opsAddr        string
	baseURL        string
	setupLifetime  time.Duration
	rateLimit      float64
	drainDelay     time.Duration
	trustedProxies []netip.Prefix
	retention      checkout.Retention
	terms          providerfile.TermsFile
	tsa            string // address of a time-stamp authority
	smtp           string
	mailFrom       string
	deskAddr       string
	desk           desk.Settings
	deskListener   net.Listener // nil: no desk
}

func (s *server) addrFlag() {
	s.flags.StringVar(&s.addr, "addr", "127.0.0.1:8080", "`HOST:PORT` to listen on")
}

// parseAuthority parses the address of a time-stamp authority, or "".
func parseAuthority(text string) (string, error) {
	if u, err := url.Parse(text); text != "" && (err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http") {
		return "", errors.New("must be an http or https URL without a password")
	}
	return text, nil
}

// newServer defines the flags of serve.
func newServer(c *call) *server {
	s := &server{systems: systems{call: c}}
	fs := c.flags
	c.storeFlag()
	s.addrFlag()
	fs.StringVar(&s.opsAddr, "ops-addr", "", "`HOST:PORT` to answer the operator's /healthz, /readyz and /metrics on; nowhere unless given")
	fs.StringVar(&s.baseURL, "base-url", "", "`URL` under which this server is reached (default http://<addr>)")
	s.processorFlags()
	s.crmFlags(embeddedName)
	c.lifetimeFlag(&s.setupLifetime)
	cli.Var(fs, &s.rateLimit, "rate-limit", "100", parseRate,
		"`REQUESTS` a second for one key, in bursts of twice that; 0 turns off every limit")
	cli.Var(fs, &s.drainDelay, "drain-delay", "0s", parseDelay,
		"`DURATION` after SIGTERM in which /readyz is 503 and requests are still taken, 1m at most: longer than your load balancer\n"+
			"takes to see it")
	cli.Var(fs, &s.trustedProxies, "trusted-proxies", "", parsePrefixes,
		"`ADDRESSES` or networks, comma-separated, whose X-Forwarded-For is believed")
	s.allowPrivateFlag(&s.allowPrivate)
	cli.Var(fs, &s.retention.AbandonedDays, "erase-abandoned-days", "0", parseWhole,
		"`DAYS` after which a checkout that was not confirmed loses its personal data, 31 or more; 0: never")
	cli.Var(fs, &s.retention.AgreedYears, "erase-agreed-years", "0", parseWhole,
		"`YEARS` after its last payment that an agreement loses its personal data, 7 or more; 0: never")
	cli.Var(fs, &s.terms, "terms", "", parseFile(fs.Stdin, providerfile.ParseTerms),
		"`FILE` with the lender and the terms that every new agreement holds (cmd/provider-checkout/docs/providers-and-terms.md has the form)")
	cli.Var(fs, &s.tsa, "tsa", "", parseAuthority, "`URL` of a time-stamp authority (RFC 3161), which is asked for a time-stamp of each signature")
	fs.StringVar(&s.smtp, "smtp", "", "`URL` of the mail server through which payers are notified, smtp://HOST:587 or smtps://HOST:465; none: they are not")
	fs.StringVar(&s.mailFrom, "mail-from", "", "`ADDRESS` that these e-mails are from, such as \"Lender <plans@lender.example>\"")
	s.deskFlags()
	fs.AllowVariables()
	return s
}
