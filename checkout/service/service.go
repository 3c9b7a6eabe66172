// Package service is the application, and where to start if you embed Provider Checkout in a program of your own.
//
// [New] puts a [Service] together from the ports of package ports: a store (adapters/store/sqlite, adapters/store/postgres or
// adapters/store/memory), a direct debit processor, a printer (adapters/out/pdf) and a sender of events (adapters/out/webhook). Your
// own code calls [Service.Create], [Service.Checkout] and [Service.Confirm] directly; adapters/in/httpapi serves the same over HTTP, with the
// payer's pages of adapters/in/hostedpages, and adapters/in/httpserver serves the whole and drains it. [Service.Run] is the background
// work, which every process runs.
//
// A call that changes something loads state, asks package checkout for a decision, and stores the outcome in one commit, with the jobs
// that follow from it. It attempts those jobs at once, for two and a half seconds together; any process takes over the rest. A CRM
// outside of the store (adapters/out/salesforce) is one of these jobs: it follows the store, and no call waits for it in vain.
//
// The example is a program that runs: the whole embedded over SQLite.
//
// Every method that refuses returns a *checkout.Error, whose Code is the contract's word; any other error is a failure. A panic in a
// port is a failure too.
package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/bounded"
	"github.com/provider-checkout/provider-checkout/money/text"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	defaultLifetime = 7 * 24 * time.Hour

	// pollLimit limits the wait of a poll or the setup page for the processor before it answers from the record. processorLimit limits the
	// wait of all other calls: a confirm, the start of a setup, a refresh, the first question who debits.
	pollLimit      = time.Second
	processorLimit = 5 * time.Second

	// How long the operator's configuration is cached, because every request needs it, and it seldom changes: a running server
	// refuses a revoked key within a second, and uses a provider file within five seconds of its being applied.
	keyLife           = 500 * time.Millisecond
	configurationLife = 2 * time.Second
	// cacheSize is the number of values that a cache keeps at least.
	cacheSize = 4096

	// waitLimit limits the wait of a call for the store and for other calls before it answers that the service is busy.
	waitLimit = 10 * time.Second
)

// SetupPath is the path of the setup page below the base URL (contract, section 4).
const SetupPath = "/api/dd-setup"

// ReturnPath is the path below the base URL to which the processor sends the payer's browser back, with the setup token. It is in no
// e-mail and in no page that one leads to.
const ReturnPath = SetupPath + "/return"

// Config is all that a Service needs. Every field is required unless it says otherwise.
type Config struct {
	Environment catalogue.Environment
	// BaseURL is the address under which API and pages are reached, without a slash at the end. It may have a path. In
	// production it is https.
	BaseURL string
	// SetupLifetime returns how long the setup links of an order open; nil, and 0: 7 days.
	SetupLifetime func(orderID string) time.Duration
	Keyring       checkout.Keyring
	Terms         agreement.Terms // the lender's, for every agreement; left out if zero
	// Agency collects and holds personal data, as the privacy notice of the hosted pages says. Production needs one, if
	// it has no notice of its own.
	Agency agreement.Agency
	// Recipients are the companies that the notice names as recipients of personal data; by default the companies that the processor
	// and the CRM name as theirs.
	Recipients []agreement.Recipient
	// Retention is the time that personal data is kept; for ever if zero. Run erases it then.
	Retention checkout.Retention

	Store     ports.Store
	Processor ports.Processor // of the same environment
	CRM       ports.CRM       // of the same environment; nil: the store is the record of enrolments
	Printer   ports.Printer
	Sender    ports.Sender
	// Notifier notifies payers of the setup, of the agreement and of a mandate that ends after the confirm, and sends the links that
	// MailLink renews (adapters/out/smtp does by e-mail). Nil: they are sent nothing, and nothing is stored of it. Run sends the notices;
	// notices that wait when it is taken away are sent when there is one again.
	Notifier ports.PayerNotifier

	// Tasks are run by one process at a time, by Run. Optional.
	Tasks []Task

	Now  func() time.Time
	Rand io.Reader
	// Report is called with every failure that is not returned to a caller, or not in full, concurrently.
	Report func(context.Context, Failure)
	// Count is called for everything that is counted, with the code of the provider that it is about, or "", concurrently. It must
	// not block. Optional.
	Count func(c Count, provider string)
}

// Service runs checkouts. It is safe for concurrent use.
type Service struct {
	cfg        Config
	processor  checkout.ProcessorInfo
	keys       *bounded.Cache[[32]byte, catalogue.Key]
	providers  *bounded.Cache[string, catalogue.Provider]
	courses    *bounded.Cache[[2]string, catalogue.Course] // by provider and code
	creditors  *bounded.Cache[checkout.Account, checkout.Creditor]
	answers    *bounded.Cache[string, observed] // of the processor, by billing request
	zone       *time.Location                   // of due dates and agreement numbers
	recent     *bounded.Map[string, struct{}]   // orders that a create named
	asking     locks                            // one question at a time: by billing request, by account, or by part for readiness
	confirming locks                            // at most one confirm of a checkout renders its agreement at a time
	slots      locks                            // of each provider's deliveries
	handlers   map[checkout.JobKind]handler
	attempting background // jobs of requests
	notes      notebook
	wake       chan struct{} // the scheduler looks for due jobs
	stopping   atomic.Bool   // Run is ending

	checks       *bounded.Cache[string, error] // of readiness, by part; nil: it is ready
	destinations atomic.Bool                   // a provider that may be used has one
}

// New checks c and returns a service. It starts nothing: see Run.
func New(c Config) (*Service, error) {
	lifetime := c.SetupLifetime
	c.SetupLifetime = func(orderID string) time.Duration {
		if lifetime == nil {
			return defaultLifetime
		}
		return cmp.Or(lifetime(orderID), defaultLifetime)
	}
	if c.Count == nil {
		c.Count = func(Count, string) {}
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}
	zone, err := NewZealand()
	if err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}
	s := &Service{cfg: c, processor: c.Processor.Info(),
		keys:      bounded.NewCache[[32]byte, catalogue.Key](keyLife, cacheSize),
		providers: bounded.NewCache[string, catalogue.Provider](configurationLife, cacheSize),
		courses:   bounded.NewCache[[2]string, catalogue.Course](configurationLife, cacheSize),
		creditors: bounded.NewCache[checkout.Account, checkout.Creditor](creditorLife, cacheSize),
		answers:   bounded.NewCache[string, observed](observationLife, cacheSize),
		checks:    bounded.NewCache[string, error](readyFor, cacheSize),
		slots:     locks{holders: slotsOfProvider},
		wake:      make(chan struct{}, 1),
		recent:    bounded.New[string, struct{}](recentOrders), zone: zone}
	s.cfg.Tasks = append(slices.Clone(c.Tasks), Task{Kind: checkout.JobRetain, Run: s.retain})
	s.handlers = s.newHandlers()
	return s, nil
}

func (c Config) check() error {
	switch {
	case !c.Keyring.Valid():
		return errors.New("field Keyring is missing")
	case c.Store == nil, c.Processor == nil, c.Printer == nil, c.Sender == nil:
		return errors.New("field Store, Processor, Printer or Sender is missing")
	case c.Now == nil, c.Rand == nil, c.Report == nil:
		return errors.New("field Now, Rand or Report is missing")
	}
	field := func(name string, err error) error {
		if err != nil {
			err = fmt.Errorf("field %s: %w", name, err)
		}
		return err
	}
	var crm error
	if c.CRM != nil && c.CRM.Info().Environment != c.Environment {
		crm = fmt.Errorf("the %s CRM is for %s", c.CRM.Info().Name, c.CRM.Info().Environment)
	}
	return errors.Join(field("Terms", c.Terms.Check()), field("Agency", c.Agency.Check()), field("Retention", c.Retention.Check()),
		field("Recipients", agreement.CheckRecipients(c.Recipients)), field("CRM", crm),
		CheckDeployment(c.Environment, c.BaseURL, c.Processor.Info()))
}

// CheckDeployment returns nil if a service of this environment may be served under the base URL with the processor,
// and otherwise an error with everything that forbids it. New asks it; a program asks it before it opens its store.
func CheckDeployment(env catalogue.Environment, baseURL string, p checkout.ProcessorInfo) error {
	var reasons []error
	if !env.Valid() {
		reasons = append(reasons, fmt.Errorf("environment %q is neither sandbox nor production", env))
	}
	u, err := url.Parse(baseURL)
	switch {
	case baseURL == "":
		reasons = append(reasons, errors.New("there is no base URL"))
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil ||
		strings.HasSuffix(baseURL, "/") || u.RawQuery != "" || u.ForceQuery || strings.Contains(baseURL, "#"):
		reasons = append(reasons, fmt.Errorf("base URL %q must be a scheme and a host, such as https://pay.example.nz, "+
			"and may have a path that does not end in a slash", baseURL))
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r > '~' }):
		host, _ := text.HostInASCII(u.Host)
		reasons = append(reasons, fmt.Errorf("base URL %q must have its host in ASCII: %s://%s%s", baseURL, u.Scheme, host, u.Path))
	case env == catalogue.Production && u.Scheme != "https":
		reasons = append(reasons, fmt.Errorf("base URL %q is not https", baseURL))
	}
	switch {
	case env.Valid() && p.Environment != env && p.Environment == catalogue.Sandbox:
		reasons = append(reasons, fmt.Errorf("the %s processor is for the sandbox only: it moves no money", p.Name))
	case env.Valid() && p.Environment != env:
		reasons = append(reasons, fmt.Errorf("the %s processor is for %s", p.Name, p.Environment))
	}
	return errors.Join(reasons...)
}

// NewZealand returns the zone of due dates, and of every time that people read.
func NewZealand() (*time.Location, error) {
	zone, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		return nil, fmt.Errorf("New Zealand time is unknown; import time/tzdata: %w", err)
	}
	return zone, nil
}

// Environment returns the environment of the service.
func (s *Service) Environment() catalogue.Environment { return s.cfg.Environment }

// BaseURL returns the address under which API and pages are reached, without a slash at the end.
func (s *Service) BaseURL() string { return s.cfg.BaseURL }

// Agency returns who collects and holds personal data; zero if this sandbox does not say.
func (s *Service) Agency() agreement.Agency { return s.cfg.Agency }

// Recipients returns the companies outside the operator's that get personal data.
func (s *Service) Recipients() []agreement.Recipient {
	if len(s.cfg.Recipients) > 0 {
		return s.cfg.Recipients
	}
	list := []agreement.Recipient{{Name: s.processor.Company, Purpose: "to set up the direct debit and to collect the payments"}}
	if s.cfg.CRM != nil {
		list = append(list, agreement.Recipient{Name: s.cfg.CRM.Info().Company, Purpose: "to keep our customers’ records"})
	}
	return slices.DeleteFunc(list, func(r agreement.Recipient) bool { return r.Name == "" })
}

// Retention returns how long personal data is kept without anybody asking for its erasure.
func (s *Service) Retention() checkout.Retention { return s.cfg.Retention }

// Zone returns New Zealand's zone, of every time that people read.
func (s *Service) Zone() *time.Location { return s.zone }

// PageOrigins returns the origins of the processor's pages, where they are not the service's own.
func (s *Service) PageOrigins() []string { return s.processor.PageOrigins }
