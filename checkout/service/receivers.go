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

const (
	firstProbe   = 5 * time.Second // of a receiver that takes nothing
	longestProbe = time.Minute
)

// receivers holds the circuit breakers of the receivers whose latest attempt failed, by their providers. The events that wait for
// a receiver that takes nothing are not attempted one after another, two seconds and one attempt of three at a time: one event is
// tried now and then, another each time, until one is taken. The events of requests have their attempts all the same, and one of
// them that is taken ends the wait too.
type receivers struct {
	mu      sync.Mutex
	failing map[string]*breaker.Breaker
	watched map[string]bool          // the job that watches the receiver is in the queue, by provider, since it takes nothing
	hung    map[string]chan struct{} // closed while the latest attempt at the provider's receiver ran out of time
}

// hanging returns a channel that is closed once the receiver hangs.
func (r *receivers) hanging(provider string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hangs(provider)
}

func (r *receivers) hangs(provider string) chan struct{} {
	if r.hung[provider] == nil {
		r.hung[provider] = make(chan struct{})
	}
	return r.hung[provider]
}

// note notes whether an attempt at a receiver ran out of time.
func (r *receivers) note(provider string, timedOut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.hangs(provider):
		if !timedOut {
			delete(r.hung, provider)
		}
	default:
		if timedOut {
			close(r.hung[provider])
		}
	}
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

// spare has the breaker of a receiver know that no event waits for it.
func (r *receivers) spare(provider string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.failing[provider]; b != nil {
		b.Spare(now)
	}
}

// done has the breaker of a receiver know whether it took an event, and reports whether that has opened the breaker.
func (r *receivers) done(provider string, taken bool, now time.Time) (opened bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.failing[provider]
	switch {
	case taken:
		delete(r.failing, provider)
		delete(r.watched, provider)
		return false
	case b == nil:
		b = breaker.New(firstProbe, longestProbe)
		r.failing[provider] = b
	}
	return b.Done(false, now)
}

// noteSent has the breaker of a receiver know how an attempt at the receiver ended, if one was made, and reports when it is left alone.
func (s *Service) noteSent(ctx context.Context, provider string, err error) {
	if errors.Is(err, ports.ErrBusy) || errors.Is(err, ports.ErrProhibited) || errors.Is(err, ports.ErrNotAsked) {
		return
	}
	s.receivers.note(provider, errors.Is(err, context.DeadlineExceeded))
	if s.receivers.done(provider, err == nil, s.now()) {
		s.report(ctx, Failure{Operation: OperationRecover, Severity: Warning, About: checkout.About{ProviderCode: provider},
			Err: fmt.Errorf("the receiver of provider %s takes no events: one that waits is sent every %s to %s, "+
				"and the others once it takes one", provider, firstProbe, longestProbe)})
	}
}
