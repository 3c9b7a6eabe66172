package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// readyLimit is the time limit of a check of readiness.
	readyLimit = time.Second
	// readyFor is the time that its result is cached: anyone may ask, and a check writes to the store.
	readyFor = time.Second
)

// Readiness is the information about the service that a provider may have before it has a key (section 4).
type Readiness struct {
	Environment                   catalogue.Environment
	BaseURL                       string
	Processor                     string
	ReadyForAPICalls              bool
	WebhookDestinationsConfigured bool
}

// Readiness returns what this service is and whether it can take calls. Like Health it checks at most once
// a second, and answers within one.
func (s *Service) Readiness(ctx context.Context) Readiness {
	read := s.configurationReady.begin(s.cfg.Now, s.check("the configuration", s.lookForDestinations))
	healthy := s.Health(ctx).OK()
	return Readiness{
		Environment:                   s.cfg.Environment,
		BaseURL:                       s.cfg.BaseURL,
		Processor:                     s.processor.Name,
		ReadyForAPICalls:              read.wait(ctx) == nil && healthy,
		WebhookDestinationsConfigured: s.destinations.Load(),
	}
}

// lookForDestinations stores whether any usable provider has a destination.
func (s *Service) lookForDestinations(ctx context.Context) error {
	providers, err := s.cfg.Store.Providers(ctx)
	s.destinations.Store(slices.ContainsFunc(providers, func(p catalogue.Provider) bool {
		return p.Destination.Configured() && p.Usable(s.cfg.Environment) == nil
	}))
	return err
}

// Health is the state of what the service cannot work without.
type Health struct {
	Store     error // nil if it takes writes and its schema is current; the embedded CRM is part of it
	Processor error // nil if it can be reached
	CRM       error // nil if it can be reached
}

// Serving reports whether requests should be sent here. While only the CRM is away, everything but creates and first
// confirms goes on.
func (h Health) Serving() bool { return h.Store == nil && h.Processor == nil }

// OK reports whether nothing is wrong: every call may succeed.
func (h Health) OK() bool { return h.Store == nil && h.Processor == nil && h.CRM == nil }

// Health checks what the service depends on, within a second. However many callers there are, each check runs
// at most once at a time and once a second; a failed check is reported once.
func (s *Service) Health(ctx context.Context) Health {
	store := s.storeReady.begin(s.cfg.Now, s.check("the store", s.cfg.Store.Ready))
	processor := s.processorReady.begin(s.cfg.Now, s.check("the processor", s.processorIsReady))
	crm := s.crmReady.begin(s.cfg.Now, s.check("the CRM", s.cfg.CRM.Ready))
	return Health{Store: store.wait(ctx), Processor: processor.wait(ctx), CRM: crm.wait(ctx)}
}

// processorIsReady returns nil if the processor can be reached, and payments can be collected for every provider that may
// be used.
func (s *Service) processorIsReady(ctx context.Context) error {
	if err := s.cfg.Processor.Ready(ctx); err != nil {
		return err
	}
	checker, ok := s.cfg.Processor.(ports.AccountChecker)
	if !ok {
		return nil
	}
	providers, err := s.cfg.Store.Providers(ctx)
	if err != nil {
		return err
	}
	var wrong []error
	for _, p := range providers {
		if p.Usable(s.cfg.Environment) == nil {
			wrong = append(wrong, CheckAccount(ctx, checker, p))
		}
	}
	return errors.Join(wrong...)
}

// CheckAccount returns why payments cannot be collected for a provider, or that it gives too little notice of them.
func CheckAccount(ctx context.Context, checker ports.AccountChecker, p catalogue.Provider) error {
	least, err := checker.CheckAccount(ctx, checkout.Account{ProviderCode: p.Code, ID: p.AccountID, Environment: p.Environment})
	if err != nil {
		return fmt.Errorf("provider %s: %w", p.Code, err)
	}
	if given := (agreement.DebitTerms{NoticeDays: p.NoticeDays}).Days(); given < least {
		return fmt.Errorf("provider %s: its notice_days are %d, and its account needs %d at least", p.Code, given, least)
	}
	return nil
}

// Backlog is the number of jobs of one kind that wait, jobs under way included, and the age of the oldest.
type Backlog struct {
	Waiting int
	Age     time.Duration
}

// Backlogs returns the backlog of each kind of job that has any. Under checkout.JobSeal are the entries of the evidence log that
// are not sealed, those included that never will be because no secret of the operator's attests them. Without Config.Notifier no
// notice waits, whatever was stored while there was one.
func (s *Service) Backlogs(ctx context.Context) (all map[checkout.JobKind]Backlog, err error) {
	defer recovered(&err)
	counted, err := s.cfg.Store.Backlog(ctx)
	if err != nil {
		return nil, fmt.Errorf("count the jobs: %w", err)
	}
	all = make(map[checkout.JobKind]Backlog, len(counted))
	if s.cfg.Notifier == nil {
		delete(counted, checkout.JobNotify)
	}
	for kind, b := range counted {
		all[kind] = Backlog{b.Waiting, max(0, s.now().Sub(b.Oldest))}
	}
	return all, nil
}

// check returns a check whose error names what is not ready, and which reports that error.
func (s *Service) check(what string, ready func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := func() (err error) {
			defer recovered(&err)
			return ready(ctx)
		}()
		if err == nil {
			err = ctx.Err() // too late is not ready
		}
		if err != nil {
			err = fmt.Errorf("%s is not ready: %w", what, err)
			s.report(ctx, Failure{Operation: OperationReady, Severity: Error, Err: err})
		}
		return err
	}
}

// probe keeps the latest result of a check. The zero value is ready.
type probe struct {
	mu   sync.Mutex
	last *checkResult // nil before the first check
}

// checkResult is the result of one check, once done is closed.
type checkResult struct {
	limit context.Context // ends when the check must have been done
	done  chan struct{}
	err   error
	at    time.Time
}

// begin returns the latest result if it is fresh or still pending, and otherwise starts a new check.
func (p *probe) begin(now func() time.Time, check func(context.Context) error) *checkResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != nil && p.last.holds(now()) {
		return p.last
	}
	limit, cancel := context.WithTimeout(context.Background(), readyLimit)
	r := &checkResult{limit: limit, done: make(chan struct{})}
	p.last = r
	go func() {
		defer cancel()
		defer close(r.done)
		r.err = check(limit)
		r.at = now()
	}()
	return r
}

// holds reports whether no new check is needed yet.
func (r *checkResult) holds(now time.Time) bool {
	select {
	case <-r.done:
		return now.Sub(r.at) < readyFor
	default:
		return true
	}
}

var errOverdue = errors.New("no answer within a second")

// wait returns what the check returned as soon as it is done, or an error when the time of the check or ctx ends.
func (r *checkResult) wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	case <-r.limit.Done():
	}
	select {
	case <-r.done:
		return r.err
	default:
		return errOverdue
	}
}
