package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/breaker"
	"github.com/provider-checkout/provider-checkout/ports"
)

// This file remembers which receivers take nothing. The events that wait for such a receiver are not attempted one after
// another, two seconds and one attempt of three at a time: one event is tried now and then, another each time, until one is taken.
// The events of requests have their attempts all the same, and one of them that is taken ends the wait too.

const (
	firstProbe   = 5 * time.Second
	longestProbe = time.Minute
)

// receivers holds the circuit breakers of the receivers whose latest attempt failed, by their providers.
type receivers struct {
	mu      sync.Mutex
	failing map[string]*breaker.Breaker
}

// open reports whether a receiver takes nothing.
func (r *receivers) open(provider string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.failing[provider]
	return b != nil && b.Open()
}

// shut returns the providers whose receivers take nothing.
func (r *receivers) shut() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.failing)), func(provider string) bool { return !r.failing[provider].Open() })
}

// probe reports whether it is time to try a receiver that takes nothing.
func (r *receivers) probe(provider string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.failing[provider]
	return b != nil && b.Probe(now)
}

// failed has the breaker of a receiver know that an attempt failed, and reports whether that has opened it.
func (r *receivers) failed(provider string, now time.Time) (opened bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.failing[provider]
	if b == nil {
		b = breaker.New(firstProbe, longestProbe)
		r.failing[provider] = b
	}
	return b.Done(false, now)
}

// forget has a receiver be as good as new: it took an event, or its provider has no destination any more.
func (r *receivers) forget(provider string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failing, provider)
}

// noteSent has the breaker of a receiver know how an attempt ended, if one was made, and reports when it is left alone.
func (s *Service) noteSent(ctx context.Context, provider string, err error) {
	switch {
	case err == nil:
		s.receivers.forget(provider)
	case errors.Is(err, ports.ErrBusy), errors.Is(err, ports.ErrProhibited):
	case s.receivers.failed(provider, s.now()):
		s.report(ctx, Failure{Operation: OperationRecover, Severity: Warning, About: checkout.About{ProviderCode: provider},
			Err: fmt.Errorf("the receiver of provider %s takes no events: one that waits is sent every %s to %s, "+
				"and the others once it takes one", provider, firstProbe, longestProbe)})
	}
}
