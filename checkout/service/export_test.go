package service

import (
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// AwaitSent waits for the deliveries that outlast their requests.
func (s *Service) AwaitSent() { s.sending.wait() }

// Pauses returns the pauses of jobs that are decided in this package.
func Pauses() map[checkout.JobKind]time.Duration {
	return map[checkout.JobKind]time.Duration{checkout.JobRetain: retainAgain, checkout.JobNotified: max(settlingPause, notifiedPause), checkout.JobNotify: longestNotifyPause}
}
