package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// awaitDecision looks whether an approval was decided, and records once its time ran out that nobody did.
func (s *Service) awaitDecision(ctx context.Context, l checkout.Lease) error {
	a, err := l.Job.Approval()
	if err != nil {
		return err
	}
	left, outcome := a.Expires().Sub(s.now()), checkout.Outcome{State: checkout.JobDropped}
	err = within(ctx, waitLimit, func(ctx context.Context) error {
		if left <= 0 {
			entry := evidence.OfOperation(a.ID, a.Ended("expired", "nobody decided in time", s.now()))
			return s.cfg.Store.RecordEvidence(ctx, s.cfg.Keyring.Attest(entry))
		}
		_, _, err := s.cfg.Store.EvidenceEntry(ctx, evidence.OperationID(a.ID))
		return err
	})
	switch {
	case left <= 0 && errors.Is(err, ports.ErrDuplicate), left > 0 && err == nil: // it was decided, or another process recorded this
		outcome.State = checkout.JobDone
	case left > 0 && errors.Is(err, ports.ErrNotFound):
		outcome = checkout.Outcome{State: checkout.JobPending, Pause: min(left, checkout.ApprovalLook)}
	case err != nil:
		return fmt.Errorf("end approval %s: %w", a.ID, err)
	}
	return s.settleAttempt(ctx, l, outcome)
}
