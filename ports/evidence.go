package ports

import (
	"context"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// Evidence keeps the evidence log. The entries of agreements enter the store with a Change, and those of operations with what
// they change.
type Evidence interface {
	// SealEvidence passes decide the end of the log, and at most limit entries that are not sealed, the oldest first, and
	// stores what comes back, all of it or nothing, atomically: no other call sees the log in between. An error of decide is
	// returned as it is; nothing is stored then. decide may run more than once, must not block and must not call the store.
	// ErrBusy if another call holds the log.
	SealEvidence(ctx context.Context, limit int, decide func(evidence.Head, []evidence.Entry) (evidence.Sealing, error)) error

	// EvidenceHead returns the end of the log.
	EvidenceHead(ctx context.Context) (evidence.Head, error)

	// EvidenceEntry returns the entry with this id and its position, or evidence.Unsealed. ErrNotFound if there is none.
	EvidenceEntry(ctx context.Context, id string) (entry evidence.Entry, position int64, err error)

	// EvidenceNodes returns, for each position, the nodes that its entry completes: none where there is no such entry.
	EvidenceNodes(ctx context.Context, positions []int64) ([][]evidence.Hash, error)
}

// EvidenceReader reads the entries of the evidence log.
type EvidenceReader interface {
	// SealedEvidence returns at most limit sealed entries in the order of their positions, from a position on.
	SealedEvidence(ctx context.Context, from int64, limit int) ([]evidence.Entry, error)

	// UnsealedEvidence returns at most limit entries that are not sealed, the oldest first.
	UnsealedEvidence(ctx context.Context, limit int) ([]evidence.Entry, error)
}
