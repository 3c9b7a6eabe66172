package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

var (
	entries        = `SELECT ` + Entry.Names() + ` FROM @.evidence`
	selectEvidence = `SELECT ` + Entry.Names() + `, position FROM @.evidence WHERE id = ?`
	selectSealed   = entries + ` WHERE position >= ? ORDER BY position LIMIT ?`

	// SelectEntry reads an entry of the evidence log by its id, SelectUnsealed the entries that are not sealed.
	SelectEntry    = entries + ` WHERE id = ?`
	SelectUnsealed = entries + ` WHERE position IS NULL ORDER BY recorded_ms, id LIMIT ?`
	// SelectHead reads the end of the evidence log.
	SelectHead = `SELECT ` + Head.Names() + ` FROM @.evidence_head`
)

// EvidenceHead implements [ports.Evidence].
func (r Reads) EvidenceHead(ctx context.Context) (evidence.Head, error) {
	head, err := One(ctx, r.src, Scan(Head), SelectHead)
	if err != nil {
		return head, fmt.Errorf("read the head of the evidence log: %w", err)
	}
	return head, nil
}

// positioned is an entry with its position.
type positioned struct {
	evidence.Entry
	position int64
}

func scanPositioned(r Row) (p positioned, err error) {
	var position sql.NullInt64
	err = r.Scan(append(Entry.Destinations(&p.Entry), &position)...)
	if p.position = evidence.Unsealed; position.Valid {
		p.position = position.Int64
	}
	return p, err
}

// EvidenceEntry implements [ports.Evidence].
func (r Reads) EvidenceEntry(ctx context.Context, id string) (evidence.Entry, int64, error) {
	p, err := One(ctx, r.src, scanPositioned, selectEvidence, id)
	if err != nil {
		return p.Entry, evidence.Unsealed, fmt.Errorf("read evidence %s: %w", id, err)
	}
	return p.Entry, p.position, nil
}

// SealedEvidence implements [ports.EvidenceReader].
func (r Reads) SealedEvidence(ctx context.Context, from int64, limit int) ([]evidence.Entry, error) {
	list, err := All(ctx, r.src, Scan(Entry), selectSealed, from, limit)
	if err != nil {
		return nil, fmt.Errorf("read sealed evidence from %d: %w", from, err)
	}
	return list, nil
}

// UnsealedEvidence implements [ports.EvidenceReader].
func (r Reads) UnsealedEvidence(ctx context.Context, limit int) ([]evidence.Entry, error) {
	list, err := All(ctx, r.src, Scan(Entry), SelectUnsealed, limit)
	if err != nil {
		return nil, fmt.Errorf("read unsealed evidence: %w", err)
	}
	return list, nil
}

// completes is the nodes that the entry at a position completes.
type completes struct {
	position int64
	nodes    []evidence.Hash
}

// nodesAtOnce is the number of positions that one query reads.
const nodesAtOnce = 100

// EvidenceNodes implements [ports.Evidence].
func (r Reads) EvidenceNodes(ctx context.Context, positions []int64) ([][]evidence.Hash, error) {
	at := make(map[int64][]evidence.Hash, len(positions))
	for from := 0; from < len(positions); from += nodesAtOnce {
		args := make([]any, min(nodesAtOnce, len(positions)-from))
		for i := range args {
			args[i] = positions[from+i]
		}
		list, err := All(ctx, r.src, func(r Row) (c completes, err error) {
			err = r.Scan(&c.position, (*Hashes)(&c.nodes))
			return c, err
		}, `SELECT position, nodes FROM @.evidence WHERE position IN (`+marks(len(args))+`)`, args...)
		if err != nil {
			return nil, fmt.Errorf("read nodes of evidence: %w", err)
		}
		for _, c := range list {
			at[c.position] = c.nodes
		}
	}
	nodes := make([][]evidence.Hash, len(positions))
	for i, position := range positions {
		nodes[i] = at[position]
	}
	return nodes, nil
}
