package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout/service/bounded"
	"github.com/provider-checkout/provider-checkout/checkout/service/breaker"
	"github.com/provider-checkout/provider-checkout/ports"
)

// This file remembers which receivers take nothing. What waits for such a one after a crash is not ground through, two
// seconds and one attempt of three at a time: one event is tried now and then, another each time, until one is taken. The
// events of requests have their attempts all the same, and one of them that is taken ends the wait too.

const (
	firstProbe   = 5 * time.Second
	longestProbe = time.Minute

	manyReceivers = 4096
)

// receivers are the receivers that events went to lately, by their providers.
type receivers = bounded.Map[string, *breaker.Breaker]

func newReceivers() *receivers { return bounded.New[string, *breaker.Breaker](manyReceivers) }

// receiver returns the breaker of a provider's receiver.
func (s *Service) receiver(provider string) *breaker.Breaker {
	return s.receivers.Use(provider, func() *breaker.Breaker { return breaker.New(firstProbe, longestProbe) })
}

// note has the breaker of a receiver know how an attempt ended, if one was made, and reports when it is left alone.
func (s *Service) note(ctx context.Context, provider string, receiver *breaker.Breaker, err error) {
	if errors.Is(err, ports.ErrBusy) || errors.Is(err, ports.ErrProhibited) {
		return
	}
	if receiver.Done(err == nil, s.now()) && receiver.Open() {
		s.report(ctx, Failure{Operation: OperationRecover, Severity: Warning, Err: fmt.Errorf("the receiver of provider %s takes "+
			"nothing: what was left behind for it waits until it takes an event, of which one is tried every %s to %s",
			provider, firstProbe, longestProbe)})
	}
}
