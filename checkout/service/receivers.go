package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout/service/bounded"
	"github.com/provider-checkout/provider-checkout/checkout/service/breaker"
	"github.com/provider-checkout/provider-checkout/ports"
)

// This file remembers which receivers take nothing. The events that wait for such a receiver are not attempted one after
// another, two seconds and one attempt of three at a time: one event is tried now and then, another each time, until one is taken.
// The events of requests have their attempts all the same, and one of them that is taken ends the wait too.

const (
	firstProbe   = 5 * time.Second
	longestProbe = time.Minute

	manyReceivers = 4096
)

// receivers holds the breakers of the receivers that events went to lately, by their providers.
type receivers struct {
	breakers *bounded.Map[string, *breaker.Breaker]

	mu   sync.Mutex
	open map[string]bool
}

func newReceivers() *receivers {
	return &receivers{breakers: bounded.New[string, *breaker.Breaker](manyReceivers), open: make(map[string]bool)}
}

// breaker returns the breaker of a provider's receiver.
func (r *receivers) breaker(provider string) *breaker.Breaker {
	return r.breakers.Use(provider, func() *breaker.Breaker { return breaker.New(firstProbe, longestProbe) })
}

// shut returns the providers whose breakers are open.
func (r *receivers) shut() (providers []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for provider := range r.open {
		providers = append(providers, provider)
	}
	slices.Sort(providers)
	return providers
}

// done has the breaker of a receiver know how an attempt ended, and reports whether it has opened it.
func (r *receivers) done(provider string, answered bool, now time.Time) (opened bool) {
	b := r.breaker(provider)
	changed := b.Done(answered, now)
	r.mu.Lock()
	defer r.mu.Unlock()
	if b.Open() {
		r.open[provider] = true
	} else {
		delete(r.open, provider)
	}
	return changed && b.Open()
}

// forget has a provider's receiver be as good as new: it has no destination any more.
func (r *receivers) forget(provider string) {
	r.breakers.Delete(provider)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, provider)
}

// note has the breaker of a receiver know how an attempt ended, if one was made, and reports when it is left alone.
func (s *Service) note(ctx context.Context, provider string, err error) {
	if errors.Is(err, ports.ErrBusy) || errors.Is(err, ports.ErrProhibited) {
		return
	}
	if s.receivers.done(provider, err == nil, s.now()) {
		s.report(ctx, Failure{Operation: OperationRecover, Severity: Warning, About: About{ProviderCode: provider},
			Err: fmt.Errorf("the receiver of provider %s takes no events: one that waits is sent every %s to %s, and the others once it takes one",
				provider, firstProbe, longestProbe)})
	}
}
