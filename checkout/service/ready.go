package service

import (
	"cmp"
	"context"
	"errors"
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
	all.Go(func() { read = s.configurationReady.check(ctx, s, "the configuration", s.lookForDestinations) })
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
	all.Go(func() { h.Store = s.storeReady.check(ctx, s, "the store", s.cfg.Store.Ready) })
	all.Go(func() { h.Processor = s.processorReady.check(ctx, s, "the processor", s.processorIsReady) })
	all.Wait()
	return h
}

// processorIsReady returns nil if the processor can be reached, payments can be collected for every provider that may be used, and
// the operator's terms say nothing else of who debits.
func (s *Service) processorIsReady(ctx context.Context) error {
	if err := s.cfg.Processor.Ready(ctx); err != nil {
		return err
	}
	return errors.Join(s.checkAccounts(ctx))
}

// Backlog is the number of jobs of one kind that wait, jobs under way included, and the age of the oldest.
type Backlog struct {
	Waiting int
	Failing int // of them: the latest attempt failed
	Age     time.Duration
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
		all[kind] = Backlog{b.Waiting, b.Failing, max(0, s.now().Sub(b.Oldest))}
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

var errOverdue = errors.New("no answer within a second")

// check returns the result of the latest check if it is fresh or under way, and otherwise of a new one, as soon as it is done; or an
// error when the time of the check or ctx ends.
func (p *probe) check(ctx context.Context, s *Service, what string, ready func(context.Context) error) error {
	p.mu.Lock()
	r := p.last
	if r == nil || r.isDone() && s.cfg.Now().Sub(r.at) >= readyFor {
		limit, cancel := context.WithTimeout(context.Background(), readyLimit)
		r = &checkResult{limit: limit, done: make(chan struct{})}
		p.last = r
		go func() {
			defer cancel()
			defer close(r.done)
			r.err = s.ready(limit, what, ready)
			r.at = s.cfg.Now()
		}()
	}
	p.mu.Unlock()
	select {
	case <-r.done:
	case <-ctx.Done():
		return ctx.Err()
	case <-r.limit.Done():
		if !r.isDone() {
			return errOverdue
		}
	}
	return r.err
}

func (r *checkResult) isDone() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// ready makes a check. Its error, which it reports, names what is not ready.
func (s *Service) ready(ctx context.Context, what string, ready func(context.Context) error) error {
	err := within(ctx, readyLimit, ready)
	if err = cmp.Or(err, ctx.Err()); err != nil { // too late is not ready
		err = fmt.Errorf("%s is not ready: %w", what, err)
		s.report(ctx, Failure{Operation: OperationReady, Severity: Error, Err: err})
	}
	return err
}
