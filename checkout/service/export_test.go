package service

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Refresh looks at the setup of a checkout now, as for a notification of the processor.
func (s *Service) Refresh(ctx context.Context, id string) (checkout.Checkout, error) {
	c, err := s.cfg.Store.Checkout(ctx, id)
	if err != nil {
		return c, err
	}
	return s.refresh(ctx, c, checkout.ForNotification)
}

// AwaitSent waits for the deliveries that outlast their requests.
func (s *Service) AwaitSent() { s.sending.wait() }

// Pauses returns the pauses of jobs that are decided in this package.
func Pauses() map[checkout.JobKind]time.Duration {
	return map[checkout.JobKind]time.Duration{checkout.JobSeal: sealEvery, checkout.JobRetain: retainAgain,
		checkout.JobReceiver: lookEvery, checkout.JobNotified: max(settlingPause, notifiedPause), checkout.JobNotify: longestNotifyPause}
}
