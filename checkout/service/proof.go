package service

import (
	"context"
	"errors"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/ports"
)

// ProofState says whether there is a proof of an agreement.
type ProofState int

const (
	ProofNone    ProofState = iota // there is no agreement, or this service has no evidence key
	ProofWaiting                   // a server with the key seals the agreement's record, usually within seconds
	ProofReady                     // Service.Proof returns it
)

// Proof returns the proof of an agreement under the newest checkpoint of the evidence log, or nil as long as there is no proof.
// A record that is not what was signed is an error.
func (s *Service) Proof(ctx context.Context, a agreement.Agreement) (proof *evidence.Proof, err error) {
	defer recovered(&err)
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	leaf, position, state, err := s.findSealed(ctx, a.Number)
	if err == nil && state == ProofReady {
		proof, err = s.prove(ctx, leaf, position)
	}
	if err != nil {
		return nil, s.fail(ctx, "prove agreement "+a.Number, err)
	}
	return proof, nil
}

// findSealed returns the record of an agreement and its position, once it is sealed.
func (s *Service) findSealed(ctx context.Context, number string) (leaf []byte, position int64, state ProofState, err error) {
	if !s.cfg.Evidence.CanVerify() {
		return nil, 0, ProofNone, nil
	}
	e, position, err := s.cfg.Store.EvidenceEntry(ctx, evidence.AgreementID(number))
	switch {
	case errors.Is(err, ports.ErrNotFound): // somebody removed it, and "agreements verify" says so
		return nil, 0, ProofNone, nil
	case err != nil:
		return nil, 0, ProofNone, err
	case position == evidence.Unsealed:
		return nil, 0, ProofWaiting, nil
	}
	return e.Leaf, position, ProofReady, nil
}

// prove returns the proof of a sealed record, if it holds.
func (s *Service) prove(ctx context.Context, leaf []byte, position int64) (*evidence.Proof, error) {
	head, err := s.cfg.Store.EvidenceHead(ctx)
	if err != nil {
		return nil, err
	}
	proof, err := s.cfg.Evidence.Prove(leaf, position, head.Checkpoint,
		func(positions []int64) ([][]evidence.Hash, error) { return s.cfg.Store.EvidenceNodes(ctx, positions) })
	return &proof, err
}
