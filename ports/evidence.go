package ports

import (
	"context"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// Evidence keeps the evidence log. The entry of an agreement enters the store with its Change, the entry of an operation with
// the operation.
type Evidence interface {
	// SealEvidence passes decide the end of the log, and at most limit entries that are not sealed, the oldest first, and
	// stores the result atomically: no other call sees the log in between. An error of decide is returned as it is; nothing is
	// stored then. decide may run more than once, must not block and must not call the store. ErrBusy if another call holds the log.
	SealEvidence(ctx context.Context, limit int, decide func(evidence.Head, []evidence.Entry) (evidence.Sealing, error)) error

	// EvidenceHead returns the end of the log.
	EvidenceHead(ctx context.Context) (evidence.Head, error)

	// EvidenceEntry returns the entry with this id and its position, or evidence.Unsealed, or ErrNotFound.
	EvidenceEntry(ctx context.Context, id string) (entry evidence.Entry, position int64, err error)

	// EvidenceNodes returns, for each position, the nodes that its entry completes, or no nodes without such an entry.
	EvidenceNodes(ctx context.Context, positions []int64) ([][]evidence.Hash, error)
}

// EvidenceReader reads the entries of the evidence log.
type EvidenceReader interface {
	// SealedEvidence returns at most limit sealed entries in the order of their positions, from a position on.
	SealedEvidence(ctx context.Context, from int64, limit int) ([]evidence.Entry, error)

	// UnsealedEvidence returns at most limit entries that are not sealed, the oldest first.
	UnsealedEvidence(ctx context.Context, limit int) ([]evidence.Entry, error)
}
