package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// endApproval records that the time of an approval ran out, unless it was decided.
func (s *Service) endApproval(ctx context.Context, l checkout.Lease) error {
	a, err := l.Job.Approval()
	if err != nil {
		return err
	}
	if left := a.Expires().Sub(s.now()); left > 0 { // somebody has had the job attempted
		return s.settleAttempt(ctx, l, checkout.Outcome{State: checkout.JobPending, Pause: left})
	}
	entry := evidence.OfOperation(a.ID, a.Ended("expired", "nobody decided in time", s.now()))
	outcome := checkout.Outcome{State: checkout.JobDropped}
	err = within(ctx, waitLimit, func(ctx context.Context) error {
		return s.cfg.Store.RecordEvidence(ctx, s.cfg.Keyring.Attest(entry))
	})
	switch {
	case errors.Is(err, ports.ErrDuplicate): // it was decided, or another process recorded this
		outcome.State = checkout.JobDone
	case err != nil:
		return fmt.Errorf("record that approval %s ran out: %w", a.ID, err)
	}
	return s.settleAttempt(ctx, l, outcome)
}
