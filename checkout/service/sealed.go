package service

import (
	"context"
	"fmt"
	"time"
)

// Checkpoint returns the newest signed checkpoint of the evidence log: a note as of C2SP's tlog-checkpoint. It is nil
// before the first, and may be two seconds old.
func (s *Service) Checkpoint(ctx context.Context) (signed []byte, err error) {
	defer recovered(&err)
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	signed, err = s.configured.checkpoint(ctx, s.now())
	if err != nil {
		return nil, s.fail(ctx, "read the newest checkpoint", err)
	}
	return signed, nil
}

// EvidenceKey returns the public half of the key that signs checkpoints, or "" if this service has no such key.
func (s *Service) EvidenceKey() string { return s.cfg.Evidence.Public() }

// CheckpointAge returns how old the newest checkpoint of the evidence log is. ok is false if no checkpoint
// was signed yet, or no key of this service signed it.
func (s *Service) CheckpointAge(ctx context.Context) (age time.Duration, ok bool, err error) {
	defer recovered(&err)
	head, err := s.cfg.Store.EvidenceHead(ctx)
	if err != nil {
		return 0, false, fmt.Errorf("read the newest checkpoint: %w", err)
	}
	c, err := s.cfg.Evidence.Open(head.Checkpoint)
	if err != nil {
		return 0, false, nil
	}
	return max(0, s.now().Sub(c.At)), true, nil
}
