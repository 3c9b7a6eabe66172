package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/ports"
)

// evidenceLog is the evidence log.
type evidenceLog struct {
	head     evidence.Head
	end      evidence.End     // of the one chain
	sealed   []sealed         // by position
	unsealed []evidence.Entry // in the order in which they were stored, which is that of their numbers
	position map[string]int64 // of each entry, or evidence.Unsealed
}

type sealed struct {
	evidence.Entry
	nodes []evidence.Hash
}

// add adds the entry, if there is one. ErrDuplicate if its id is taken.
func (l *evidenceLog) add(e *evidence.Entry) error {
	switch {
	case e == nil:
		return nil
	case has(l.position, e.ID):
		return fmt.Errorf("evidence %s: %w", e.ID, ports.ErrDuplicate)
	}
	recorded, end, err := e.After(l.end)
	if err != nil {
		return err
	}
	l.end = end
	l.position[e.ID] = evidence.Unsealed
	l.unsealed = append(l.unsealed, copyOf(recorded))
	return nil
}

// SealEvidence implements [ports.Evidence].
func (s *Store) SealEvidence(ctx context.Context, limit int,
	decide func(evidence.Head, []evidence.Entry) (evidence.Sealing, error)) error {
	return s.locked(ctx, func() error {
		l := &s.evidence
		before := copyOf(l.head)
		before.Seen, before.MostSeen = l.end.Seen, l.end.Seen
		sealing, err := decide(before, l.oldest(limit))
		if err != nil {
			return err
		}
		for _, p := range sealing.Places {
			i := slices.IndexFunc(l.unsealed, func(e evidence.Entry) bool { return e.ID == p.ID })
			if i < 0 {
				return fmt.Errorf("seal evidence %s: %w", p.ID, ports.ErrNotFound)
			}
			l.position[p.ID] = p.Position
			l.sealed = append(l.sealed, sealed{l.unsealed[i], slices.Clone(p.Nodes)})
			l.unsealed = slices.Delete(l.unsealed, i, i+1)
		}
		l.head, l.end.Seen = copyOf(sealing.Head), before.Size
		l.head.Seen, l.head.MostSeen = 0, 0
		return nil
	})
}

// oldest returns copies of at most limit entries that are not sealed, in the order of the chain.
func (l *evidenceLog) oldest(limit int) []evidence.Entry {
	list := copyOf(l.unsealed[:min(limit, len(l.unsealed))])
	for i, e := range list {
		list[i].Orphan = e.Previous != "" && !has(l.position, e.Previous)
	}
	return list
}

// EvidenceHead implements [ports.Evidence].
func (s *Store) EvidenceHead(ctx context.Context) (evidence.Head, error) {
	return read(ctx, s, func() (evidence.Head, error) { return s.evidence.head, nil })
}

// EvidenceEntry implements [ports.Evidence].
func (s *Store) EvidenceEntry(ctx context.Context, id string) (e evidence.Entry, position int64, err error) {
	position = evidence.Unsealed
	err = s.locked(ctx, func() error {
		found := s.evidence.entry(id)
		if found == nil {
			return fmt.Errorf("evidence %s: %w", id, ports.ErrNotFound)
		}
		e, position = copyOf(*found), s.evidence.position[id]
		return nil
	})
	return e, position, err
}

// entry returns the entry with this id, or nil.
func (l *evidenceLog) entry(id string) *evidence.Entry {
	switch at, ok := l.position[id]; {
	case !ok:
		return nil
	case at == evidence.Unsealed:
		return &l.unsealed[slices.IndexFunc(l.unsealed, func(e evidence.Entry) bool { return e.ID == id })]
	default:
		return &l.sealed[at].Entry
	}
}

// salted reports whether the entry of an agreement has its salt.
func (l *evidenceLog) salted(number string) bool {
	e := l.entry(evidence.AgreementID(number))
	return e != nil && len(e.Salt) > 0
}

// SealedEvidence implements [ports.Evidence].
func (s *Store) SealedEvidence(ctx context.Context, from int64, limit int) ([]evidence.Entry, error) {
	return read(ctx, s, func() (entries []evidence.Entry, err error) {
		all := s.evidence.sealed
		for _, e := range all[min(from, int64(len(all))):min(from+int64(limit), int64(len(all)))] {
			entries = append(entries, e.Entry)
		}
		return entries, nil
	})
}

// UnsealedEvidence implements [ports.Evidence].
func (s *Store) UnsealedEvidence(ctx context.Context, limit int) ([]evidence.Entry, error) {
	return read(ctx, s, func() ([]evidence.Entry, error) { return s.evidence.oldest(limit), nil })
}

// EvidenceNodes implements [ports.Evidence].
func (s *Store) EvidenceNodes(ctx context.Context, positions []int64) ([][]evidence.Hash, error) {
	return read(ctx, s, func() (nodes [][]evidence.Hash, err error) {
		nodes = make([][]evidence.Hash, len(positions))
		for i, position := range positions {
			if position >= 0 && position < int64(len(s.evidence.sealed)) {
				nodes[i] = s.evidence.sealed[position].nodes
			}
		}
		return nodes, nil
	})
}
