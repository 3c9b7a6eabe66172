// Package service is the application, and where to start if you embed Provider Checkout in a program of your own.
//
// [New] puts a [Service] together from the ports of package ports: a store (adapters/store/sqlite, adapters/store/postgres or
// adapters/store/memory), a direct debit processor, a printer (adapters/out/pdf) and a sender of events (adapters/out/webhook). A
// service loads state through the ports, asks package checkout what to do, stores the outcome, and then delivers what
// was decided. Your own code calls [Service.Create], [Service.Checkout] and [Service.Confirm] directly;
// adapters/in/httpapi serves the same over HTTP, with the payer's pages of adapters/in/hostedpages, and adapters/in/httpserver
// serves the whole and drains it. [Service.Run] is the background work, which every process runs.
//
// Config.CRM keeps the records of enrolments: the embedded one (EmbeddedCRM) within the store's commits, and any other
// (adapters/out/salesforce) between two of them. Then
// Create and Confirm store a job, have the CRM do it, and store its answer. A Create waits for that up to ten seconds and a Confirm up
// to twenty, and they are refused with BUSY after it; Run does what is left then, and what a crash cut off, and the same call sent
// again finds the outcome.
//
// The examples show each of these as a program that runs: the whole embedded over SQLite, a PostgreSQL pool and
// schema of the host's, a CRM outside of the store, a processor with notifications, a notifier of payers, a setup page of one's own,
// and an authenticator in front.
//
// Every method that refuses returns a *checkout.Error, whose Code is the contract's word; any other error is a failure.
// A panic in a port is a failure too.
package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/bounded"
	"github.com/provider-checkout/provider-checkout/checkout/service/breaker"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	defaultLifetime         = 7 * 24 * time.Hour
	defaultPollTimeout      = time.Second
	defaultProcessorTimeout = 5 * time.Second

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
	BaseURL       string
	SetupLifetime time.Duration // how long a setup page opens; 7 days if 0
	// LinkLife returns another life of the setup links of an order, or 0. Optional.
	LinkLife func(orderID string) time.Duration
	Keyring  checkout.Keyring
	Terms    agreement.Terms // the lender's, for every agreement; left out if zero
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
	CRM       ports.CRM       // of the same environment: EmbeddedCRM, or one outside of the store
	Printer   ports.Printer
	Sender    ports.Sender
	// Notifier notifies payers of the setup, of the agreement and of a mandate that ends after the confirm, and sends the links that
	// MailLink renews (adapters/out/smtp does by e-mail). Nil: they are sent nothing, and nothing is stored of it. Run sends the notices;
	// notices that wait when it is taken away are sent when there is one again.
	Notifier ports.PayerNotifier

	// Tasks are run by one process at a time, by Run.
	Tasks []Task

	// PollTimeout limits the wait of a poll or the setup page for the processor before it answers from the record;
	// 1 second if 0. ProcessorTimeout limits the wait of all other calls: a confirm, the start of a setup, a refresh, the first
	// question who debits; 5 seconds if 0, and 10 at most.
	PollTimeout, ProcessorTimeout time.Duration

	Now  func() time.Time
	Rand io.Reader
	// Report is called with every failure that is not returned to a caller, or not in full, concurrently.
	Report func(context.Context, Failure)
	// Noted is called with every moment of a checkout that this process has put on record, after the commit and before the caller of
	// a request is answered, concurrently, and at most once: a crash in between loses the call. Use events for what must not be
	// missed. It must not block. Optional.
	Noted func(context.Context, checkout.Noted)
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
	creditors  creditors                                   // who debits
	polled     *answers                                    // by polls, by billing request
	viewed     *answers                                    // by setup pages
	zone       *time.Location                              // of due dates and agreement numbers
	notified   *bounded.Map[string, notifiedAnswer]
	notifying  locks                          // of the subjects of notifications
	places     atomic.Int64                   // of the notifications that are handled, and of the questions that serve them
	recent     *bounded.Map[string, struct{}] // orders that a create named
	confirming locks                          // at most one confirm of a checkout renders its agreement at a time
	crmInfo    checkout.CRMInfo
	crm        breaker.Breaker // of the CRM
	slots      locks           // of each provider's delivery runs
	sending    background      // of the events of requests
	notes      notebook
	wake       chan struct{} // the scheduler looks for due jobs
	stopping   atomic.Bool   // Run is ending

	storeReady, processorReady, crmReady, configurationReady probe
	destinations                                             atomic.Bool // a provider that may be used has one
}

// New checks c and returns a service. It starts nothing: see Run.
func New(c Config) (*Service, error) {
	c.SetupLifetime = cmp.Or(c.SetupLifetime, defaultLifetime)
	c.PollTimeout = cmp.Or(c.PollTimeout, defaultPollTimeout)
	c.ProcessorTimeout = cmp.Or(c.ProcessorTimeout, defaultProcessorTimeout)
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
	s := &Service{cfg: c, processor: c.Processor.Info(), crmInfo: c.CRM.Info(),
		keys:      bounded.NewCache[[32]byte, catalogue.Key](keyLife, cacheSize),
		providers: bounded.NewCache[string, catalogue.Provider](configurationLife, cacheSize),
		courses:   bounded.NewCache[[2]string, catalogue.Course](configurationLife, cacheSize),
		creditors: newCreditors(),
		polled:    newAnswers(), viewed: newAnswers(),
		slots:    locks{holders: slotsOfProvider},
		notified: bounded.New[string, notifiedAnswer](manyNotified), wake: make(chan struct{}, 1),
		recent: bounded.New[string, struct{}](recentOrders), zone: zone}
	return s, nil
}

func (c Config) check() error {
	switch {
	case c.SetupLifetime < 0:
		return fmt.Errorf("field SetupLifetime: %s is negative", c.SetupLifetime)
	case c.PollTimeout < 0, c.ProcessorTimeout < 0, max(c.PollTimeout, c.ProcessorTimeout) > waitLimit:
		return fmt.Errorf("fields PollTimeout and ProcessorTimeout: %s and %s must be from 0 to %s",
			c.PollTimeout, c.ProcessorTimeout, waitLimit)
	case !c.Keyring.Valid():
		return errors.New("field Keyring is missing")
	case c.Store == nil, c.Processor == nil, c.CRM == nil, c.Printer == nil, c.Sender == nil:
		return errors.New("field Store, Processor, CRM, Printer or Sender is missing")
	case c.Now == nil, c.Rand == nil, c.Report == nil:
		return errors.New("field Now, Rand or Report is missing")
	}
	if err := c.Terms.Check(); err != nil {
		return fmt.Errorf("field Terms: %w", err)
	}
	if err := c.Agency.Check(); err != nil {
		return fmt.Errorf("field Agency: %w", err)
	}
	if err := agreement.CheckRecipients(c.Recipients); err != nil {
		return fmt.Errorf("field Recipients: %w", err)
	}
	if err := c.Retention.Check(); err != nil {
		return fmt.Errorf("field Retention: %w", err)
	}
	if err := CheckDeployment(c.Environment, c.BaseURL, c.Processor.Info()); err != nil {
		return err
	}
	if crm := c.CRM.Info(); crm.Environment != c.Environment {
		return fmt.Errorf("field CRM: the %s CRM is for %s", crm.Name, crm.Environment)
	}
	return nil
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

// BaseURL returns the address under which API and pages are reached, without a slash at the end.
func (s *Service) BaseURL() string { return s.cfg.BaseURL }

// Agency returns who collects and holds personal data; zero if this sandbox does not say.
func (s *Service) Agency() agreement.Agency { return s.cfg.Agency }

// Recipients returns the companies outside the operator's that get personal data.
func (s *Service) Recipients() []agreement.Recipient {
	if len(s.cfg.Recipients) > 0 {
		return s.cfg.Recipients
	}
	var list []agreement.Recipient
	for _, r := range []agreement.Recipient{
		{Name: s.processor.Company, Purpose: "to set up the direct debit and to collect the payments"},
		{Name: s.crmInfo.Company, Purpose: "to keep our customers’ records"},
	} {
		if r.Name != "" {
			list = append(list, r)
		}
	}
	return list
}

// Retention returns how long personal data is kept without anybody asking for its erasure.
func (s *Service) Retention() checkout.Retention { return s.cfg.Retention }

// Zone returns New Zealand's zone, of every time that people read.
func (s *Service) Zone() *time.Location { return s.zone }

// PageOrigins returns the origins of the processor's pages, where they are not the service's own.
func (s *Service) PageOrigins() []string { return s.processor.PageOrigins }
