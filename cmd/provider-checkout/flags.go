package main

import (
	"net/netip"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/money"
)

// settings are the values of all flags of all commands. The functions below define the flags of each command and
// their defaults.
type settings struct {
	configFile string
	store      string

	addr              string
	opsAddr           string
	baseURL           string
	environment       catalogue.Environment
	processor         string
	gocardlessURL     string
	gocardlessPages   []string
	crm               string
	salesforceURL     string
	salesforceUser    string
	salesforceMapping salesforce.Mapping
	pullEvery         time.Duration
	setupLifetime     time.Duration
	rateLimit         float64
	trustedProxies    []netip.Prefix
	allowPrivate      bool
	terms             providerfile.TermsFile
	smtp              string
	mailFrom          string
	checkpointFile    string
	timestampURL      string
	timestamps        string

	walk     bool
	file     string
	prune    bool
	dryRun   bool
	provider string
	out      string
	redraw   bool
	all      bool
	accepted money.Date // since then

	privacy   studentSettings
	retention checkout.Retention

	newKey     bool
	key        string
	pdf        string
	checkpoint string

	reason     string
	operations bool
	since      time.Time
	json       bool

	eventFilter checkout.JobFilter
	limit       int
	failed      bool
}

// configFlag defines the file of settings, which flags and variables override.
func configFlag(fs *cli.Flags, s *settings) {
	fs.StringVar(&s.configFile, "config", "", "`FILE` of settings (JSON), which flags and variables override; \"config check\" says what it means")
	fs.AllowVariable("config")
}

func storeFlag(fs *cli.Flags, s *settings) {
	configFlag(fs, s)
	fs.StringVar(&s.store, "store", "sqlite:provider-checkout.db",
		"where the records are kept: `STORE` is sqlite:PATH or postgres://USER@HOST:PORT/DATABASE.\n"+
			"Put a URL that holds a password into PROVIDER_CHECKOUT_STORE: others on this machine can read flags.\n"+
			"Use the same secret as serve.")
	fs.AllowVariable("store")
}

// reasonFlag defines the flag for the reason of an operator's change.
func reasonFlag(fs *cli.Flags, s *settings) {
	cli.Var(fs, &s.reason, "reason", "", operate.ParseReason, "`TEXT` that the evidence log has as the reason; no secret, nobody's personal data")
}

// changeFlags defines the flags of a command that changes records.
func changeFlags(fs *cli.Flags, s *settings) {
	storeFlag(fs, s)
	reasonFlag(fs, s)
}

func trailFlags(fs *cli.Flags, s *settings) {
	storeFlag(fs, s)
	outsideFlag(fs, s)
	fs.BoolVar(&s.operations, "operations", false, "only what operators did")
	sinceFlag(fs, &s.since, "only entries from this `TIME` on")
	jsonFlag(fs, s)
}

// jsonFlag defines the flag that has a command print for programs.
func jsonFlag(fs *cli.Flags, s *settings) {
	fs.BoolVar(&s.json, "json", false, "print a JSON object a line")
}

// listFlags defines the flags of a command that lists records.
func listFlags(fs *cli.Flags, s *settings) {
	storeFlag(fs, s)
	jsonFlag(fs, s)
}

func jobsFlags(fs *cli.Flags, s *settings) {
	listFlags(fs, s)
	fs.StringVar(&s.provider, "provider", "", "only those of the provider `CODE`")
}

func addrFlag(fs *cli.Flags, s *settings) {
	fs.StringVar(&s.addr, "addr", "127.0.0.1:8080", "`HOST:PORT` to listen on")
}

func serveFlags(fs *cli.Flags, s *settings) {
	storeFlag(fs, s)
	addrFlag(fs, s)
	fs.StringVar(&s.opsAddr, "ops-addr", "", "`HOST:PORT` to answer the operator's /healthz, /readyz and /metrics on; nowhere unless given")
	fs.StringVar(&s.baseURL, "base-url", "", "`URL` under which this server is reached (default http://<addr>)")
	processorFlags(fs, s)
	cli.Var(fs, &s.gocardlessPages, "gocardless-pages", "", parseOrigins,
		"`ORIGINS` of GoCardless' pages for payers, comma-separated, where they are not the usual")
	crmFlags(fs, s, embeddedName)
	cli.Var(fs, &s.pullEvery, "pull-providers", "0", parseInterval,
		"`DURATION` of 1m or more between two looks at the providers that Salesforce configures; 0: never")
	cli.Var(fs, &s.setupLifetime, "setup-lifetime", "168h", parseLifetime, "how long a setup page opens, a `DURATION`")
	cli.Var(fs, &s.rateLimit, "rate-limit", "100", parseRate,
		"`REQUESTS` a second for one key, in bursts of twice that; 0 turns off every limit")
	cli.Var(fs, &s.trustedProxies, "trusted-proxies", "", parsePrefixes,
		"`ADDRESSES` or networks, comma-separated, whose X-Forwarded-For is believed")
	allowPrivateFlag(fs, s)
	cli.Var(fs, &s.retention.AbandonedDays, "erase-abandoned-days", "0", parseWhole,
		"`DAYS` after which a checkout that was not confirmed loses its personal data, 31 or more; 0: never")
	cli.Var(fs, &s.retention.AgreedYears, "erase-agreed-years", "0", parseWhole,
		"`YEARS` after its last payment that an agreement loses its personal data, 7 or more; 0: never")
	cli.Var(fs, &s.terms, "terms", "", func(path string) (providerfile.TermsFile, error) { return readTerms(fs.Stdin, path) },
		"`FILE` with the lender and the terms that every new agreement holds (cmd/provider-checkout/docs/providers-and-terms.md has the form)")
	mailFlags(fs, s)
	fs.StringVar(&s.checkpointFile, "checkpoint-file", "",
		"`FILE` to keep the newest checkpoint of the evidence log in, where those who can edit the store cannot write")
	fs.StringVar(&s.timestampURL, "timestamp-url", "", "`URL` of a time-stamp authority (RFC 3161) that a checkpoint a day is sent to")
	fs.StringVar(&s.timestamps, "timestamps", "", "`FOLDER` to keep those checkpoints in, with what the authority says of them")
	fs.AllowVariables()
}

func allowPrivateFlag(fs *cli.Flags, s *settings) {
	fs.BoolVar(&s.allowPrivate, "allow-private-destinations", false,
		"send events to loopback and private addresses too (sandbox only)")
}

func environmentFlag(fs *cli.Flags, s *settings) {
	cli.Var(fs, &s.environment, "environment", "sandbox", parseEnvironment, "`sandbox|production`")
}

// processorFlags defines the flags for the choice of the processor and its address.
func processorFlags(fs *cli.Flags, s *settings) {
	environmentFlag(fs, s)
	cli.Var(fs, &s.processor, "processor", "fake", parseProcessor, "direct debit processor, `fake|gocardless`; production needs gocardless")
	fs.StringVar(&s.gocardlessURL, "gocardless-url", "", "`URL` of GoCardless' API (default that of the environment; in the sandbox also a simulator's)")
}

// crmFlags defines the flags for the choice of the CRM and its address.
func crmFlags(fs *cli.Flags, s *settings, usual string) {
	cli.Var(fs, &s.crm, "crm", usual, parseCRM, "`embedded|salesforce`; the embedded CRM is the store")
	fs.StringVar(&s.salesforceURL, "salesforce-url", "",
		"`URL` of the organisation, https://NAME.my.salesforce.com; in the sandbox also a simulator's")
	fs.StringVar(&s.salesforceUser, "salesforce-user", "", "`USER` as whom a JWT key signs in")
	cli.Var(fs, &s.salesforceMapping, "salesforce-mapping", "",
		func(path string) (salesforce.Mapping, error) { return readMapping(fs.Stdin, path) },
		"`FILE` with the organisation's names of objects and fields, where they differ from those of the metadata")
}

func checkFlags(fs *cli.Flags, s *settings) {
	configFlag(fs, s)
	environmentFlag(fs, s)
	crmFlags(fs, s, salesforceName)
	fs.AllowVariables()
}

func pullFlags(fs *cli.Flags, s *settings) {
	processorFlags(fs, s)
	crmFlags(fs, s, salesforceName)
	storeFlag(fs, s)
	fs.AllowVariables()
	fs.BoolVar(&s.prune, "prune", false, "remove providers that the organisation does not have (their keys and checkouts stay)")
	fs.BoolVar(&s.dryRun, "dry-run", false, "print what would change, and store nothing")
	reasonFlag(fs, s)
}

func demoFlags(fs *cli.Flags, s *settings) {
	serveFlags(cli.NewFlags(), s) // a demonstration serves as serve does
	s.allowPrivate = true         // its receiver is on loopback
	addrFlag(fs, s)
	cli.Var(fs, &s.processor, "processor", "fake", parseProcessor,
		"direct debit processor, `fake|gocardless`; gocardless is simulated, on a port of its own")
	cli.Var(fs, &s.crm, "crm", embeddedName, parseCRM,
		"CRM, `embedded|salesforce`; salesforce is simulated, on a port of its own")
	fs.BoolVar(&s.walk, "walk", false, "walk the whole flow on a free port, and end")
}

func applyFlags(fs *cli.Flags, s *settings) {
	storeFlag(fs, s)
	fs.StringVarP(&s.file, "file", "f", "", "provider `FILE`; - is standard input")
	fs.Require("file")
	fs.BoolVar(&s.prune, "prune", false, "remove providers that the file does not name (their keys and checkouts stay)")
	reasonFlag(fs, s)
	processorFlags(fs, s)
	fs.AllowVariable("environment", "processor", "gocardless-url")
}

func issueFlags(fs *cli.Flags, s *settings) {
	changeFlags(fs, s)
	fs.StringVar(&s.provider, "provider", "", "provider `CODE`")
	fs.Require("provider")
	cli.Var(fs, &s.environment, "environment", "", parseEnvironment, "`sandbox|production` (default the provider's)")
}

func pdfFlags(fs *cli.Flags, s *settings) {
	storeFlag(fs, s)
	fs.StringVar(&s.out, "out", "", "`FILE` to write, or with --all the folder for the files; only their owner may read them; - is standard output")
	fs.Require("out")
	fs.BoolVar(&s.redraw, "redraw", false, "render a PDF that was stored and is missing again, marked as a copy on every page")
	fs.BoolVar(&s.all, "all", false, "write every agreement that was accepted since --since, each to NUMBER.pdf")
	cli.Var(fs, &s.accepted, "since", "", money.ParseDate, "with --all, the `DATE` in New Zealand, such as 2026-12-01")
	fs.Check(s.checkPDF)
}

func verifyFlags(fs *cli.Flags, s *settings) {
	storeFlag(fs, s)
	fs.BoolVar(&s.all, "all", false, "check every agreement, and that none is missing")
	outsideFlag(fs, s)
	jsonFlag(fs, s)
	fs.Check(s.checkVerify)
}

func outsideFlag(fs *cli.Flags, s *settings) {
	fs.StringVar(&s.checkpoint, "checkpoint", "", "`FILE` with a checkpoint of the evidence log that was kept elsewhere; - is standard input")
}

func proveFlags(fs *cli.Flags, s *settings) {
	storeFlag(fs, s)
	fs.StringVar(&s.out, "out", "", "`FILE` to write; - is standard output")
	fs.Require("out")
}

func verifyProofFlags(fs *cli.Flags, s *settings) {
	fs.StringVar(&s.key, "key", "", "public evidence `KEY`, as \"evidence key\" prints it")
	fs.Require("key")
	fs.StringVar(&s.pdf, "pdf", "", "`FILE` that must be the agreement's PDF; - is standard input")
	fs.Check(s.checkVerifyProof)
}

func evidenceKeyFlags(fs *cli.Flags, s *settings) {
	storeFlag(fs, s)
	fs.BoolVar(&s.newKey, "new", false, "make a new private key and print it, once")
}

func backupFlags(fs *cli.Flags, s *settings) {
	storeFlag(fs, s)
	fs.StringVar(&s.out, "out", "", "`FILE` to write, which must not be there; only its owner may read it; - is standard output")
	fs.Require("out")
}

func restoreFlags(fs *cli.Flags, s *settings) {
	changeFlags(fs, s)
	fs.StringVar(&s.file, "in", "", "`FILE` that backup wrote; - is standard input")
	fs.Require("in")
}

func listEventsFlags(fs *cli.Flags, s *settings) {
	listFlags(fs, s)
	f := &s.eventFilter
	f.Kinds = deliveries
	cli.Var(fs, &f.State, "status", "", parseEventStatus, "`STATUS`: pending, delivered, failed or not_configured")
	fs.StringVar(&f.ProviderCode, "provider", "", "provider `CODE`")
	fs.StringVar(&f.OrderID, "order", "", "the provider's `ID` of the order")
	fs.StringVar(&f.CheckoutID, "checkout", "", "`ID` of the checkout")
	sinceFlag(fs, &s.eventFilter.Since, "made, or failed, at this `TIME` or later")
	cli.Var(fs, &s.limit, "limit", "50", parseLimit, "`NUMBER` of events at most")
}

func redeliverFlags(fs *cli.Flags, s *settings) {
	changeFlags(fs, s)
	fs.BoolVar(&s.failed, "failed", false, "send every event that failed since a time, which --since says")
	sinceFlag(fs, &s.eventFilter.Since, "with --failed: `TIME` since when they failed")
	fs.StringVar(&s.provider, "provider", "", "with --failed: only those of the provider `CODE`")
	allowPrivateFlag(fs, s)
	fs.AllowVariable("allow-private-destinations")
	jsonFlag(fs, s)
	fs.Check(s.checkRedeliver)
}

func sinceFlag(fs *cli.Flags, since *time.Time, usage string) {
	cli.Var(fs, since, "since", "", parseSince, usage+",\nsuch as 2026-12-01 (UTC) or 2026-12-01T03:00:00+13:00, or 2h for two hours ago")
}
