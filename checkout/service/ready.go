package service

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
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
	var all sync.WaitGroup
	var read error
	all.Go(func() { read = s.check(ctx, "the configuration", s.lookForDestinations) })
	healthy := s.Health(ctx).Serving()
	all.Wait()
	return Readiness{
		Environment:                   s.cfg.Environment,
		BaseURL:                       s.cfg.BaseURL,
		Processor:                     s.processor.Name,
		ReadyForAPICalls:              read == nil && healthy,
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
	Store     error // nil if it takes writes and its schema is current
	Processor error // nil if it can be reached
}

// Serving reports whether requests should be sent here.
func (h Health) Serving() bool { return h.Store == nil && h.Processor == nil }

// Health checks what the service depends on, within a second. However many callers there are, each check runs
// at most once at a time and once a second; a failed check is reported once.
func (s *Service) Health(ctx context.Context) (h Health) {
	var all sync.WaitGroup
	all.Go(func() { h.Store = s.check(ctx, "the store", s.cfg.Store.Ready) })
	all.Go(func() { h.Processor = s.check(ctx, "the processor", s.processorIsReady) })
	all.Wait()
	return h
}

// processorIsReady returns nil if the processor can be reached, and payments can be collected for every provider that may be used.
func (s *Service) processorIsReady(ctx context.Context) error {
	if err := s.cfg.Processor.Ready(ctx); err != nil {
		return err
	}
	return s.checkAccounts(ctx)
}

// Backlog is the number of jobs of one kind that wait, jobs under way included, and the age of the oldest.
type Backlog struct {
	checkout.Backlog
	Age time.Duration
}

// Backlogs returns the backlog of each kind of job that has any. Without Config.Notifier no
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
		all[kind] = Backlog{b, max(0, s.now().Sub(b.Oldest))}
	}
	return all, nil
}

// ProviderCodes returns the codes of all providers.
func (s *Service) ProviderCodes(ctx context.Context) (codes []string, err error) {
	defer recovered(&err)
	providers, err := s.cfg.Store.Providers(ctx)
	for _, p := range providers {
		codes = append(codes, p.Code)
	}
	return codes, err
}

// check checks a part, or returns the latest result while it is fresh. There is one check of a part at a time, whose result is that of
// every caller that waits for it. A failure is reported.
func (s *Service) check(ctx context.Context, part string, ready func(context.Context) error) error {
	unlock, _, err := s.asking.lock(ctx, part)
	if err != nil {
		return err
	}
	defer unlock()
	if failure, fresh := s.checks.Fresh(s.cfg.Now(), part); fresh {
		return failure
	}
	failure := within(context.WithoutCancel(ctx), readyLimit, ready)
	if failure != nil {
		failure = fmt.Errorf("%s is not ready: %w", part, failure)
		s.report(ctx, Failure{Operation: OperationReady, Severity: Error, Err: failure})
	}
	s.checks.Put(s.cfg.Now(), part, failure)
	return failure
}
