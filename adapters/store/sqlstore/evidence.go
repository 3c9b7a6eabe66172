package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	entries        = `SELECT ` + Entry.Names() + ` FROM @.evidence`
	selectEntry    = entries + ` WHERE id = ?`
	selectEvidence = `SELECT ` + Entry.Names() + `, position FROM @.evidence WHERE id = ?`
	selectSealed   = entries + ` WHERE position >= ? ORDER BY position LIMIT ?`
	selectUnsealed = `SELECT ` + Entry.Names() + `, previous <> '' AND NOT EXISTS (SELECT 1 FROM @.evidence AS p WHERE p.id = e.previous)
		FROM @.evidence AS e WHERE position IS NULL ORDER BY number, id LIMIT ?`
	selectEnd  = `SELECT ` + End.Names() + ` FROM @.evidence_chains`
	updateEnd  = set("evidence_chains", End, `chain = ?`)
	selectHead = `SELECT ` + Head.Names() + ` FROM @.evidence_head`
	updateHead = set("evidence_head", Head, `one = 1`)
)

const (
	placeEvidence = `UPDATE @.evidence SET position = ?, nodes = ? WHERE id = ? AND position IS NULL`
	selectSeen    = `SELECT min(seen), max(seen) FROM @.evidence_chains`

	// chains is the number of chains of entries on a server with many writers. Commits wait for each other if there are more at once.
	chains = 16
)

// record adds what stores the entry, if there is one, as the next of a chain: of the first that no other transaction has locked. The
// lock comes last, and no time passes under it but that of the commit.
func (s *Store) record(ctx context.Context, t Tx, b *Batch, e *evidence.Entry) error {
	if e == nil {
		return nil
	}
	var free, waits Batch
	var ends []evidence.End
	got := func(end evidence.End) { ends = append(ends, end) }
	Get(&free, Scan(End), got, s.statements.lockFreeChain)
	Get(&waits, Scan(End), got, s.statements.lockChain, int(crc32.ChecksumIEEE([]byte(e.ID))%chains))
	err := t.Lock(ctx, &free)
	if err == nil && len(ends) == 0 {
		err = t.Lock(ctx, &waits)
	}
	if err == nil && len(ends) == 0 {
		err = ports.ErrNotFound // somebody removed it
	}
	if err != nil {
		return wrap(err, "lock a chain of the evidence log")
	}
	entry, next, err := e.After(ends[0])
	if err != nil {
		return refused{err}
	}
	b.Write(insertEvidence, Entry.Values(&entry)...)
	b.unique(selectEntry, e.ID)
	b.Write(updateEnd, append(End.Values(&next), next.Chain)...)
	return nil
}

// recordedBefore reports whether an earlier attempt was committed: the entry that it stored is on record.
func recordedBefore(ctx context.Context, t Tx, e *evidence.Entry) (bool, error) {
	if !t.Again() || e == nil {
		return false, nil
	}
	return Has(ctx, t, selectEntry, e.ID)
}

// RecordEvidence implements [ports.Evidence]. If the outcome of an attempt is not known, a further one finds the entry
// by its content.
func (s *Store) RecordEvidence(ctx context.Context, e evidence.Entry) error {
	return s.Do(ctx, "record evidence "+e.ID, func(ctx context.Context, t Tx) error {
		var b Batch
		if err := s.record(ctx, t, &b, &e); err != nil {
			return err
		}
		err := t.Commit(ctx, &b)
		if t.Again() && errors.Is(err, ports.ErrDuplicate) {
			found, readErr := One(ctx, t, Scan(Entry), selectEntry, e.ID)
			if readErr != nil || found.Records(e) {
				return readErr
			}
		}
		return err
	})
}

var scanSeen = Fields(func(h *evidence.Head) []any { return []any{&h.Seen, &h.MostSeen} })

var scanUnsealed = Fields(func(e *evidence.Entry) []any { return append(Entry.Destinations(e), &e.Orphan) })

// SealEvidence implements [ports.Evidence].
func (s *Store) SealEvidence(ctx context.Context, limit int,
	decide func(evidence.Head, []evidence.Entry) (evidence.Sealing, error)) error {
	return s.Do(ctx, "seal evidence", func(ctx context.Context, t Tx) error {
		var b Batch
		var head, seen evidence.Head
		Get(&b, Scan(Head), func(h evidence.Head) { head = h }, s.statements.lockHead)
		Get(&b, scanSeen, func(h evidence.Head) { seen = h }, selectSeen)
		if err := t.Lock(ctx, &b); err != nil {
			return wrap(err, "lock the head")
		}
		entries, err := All(ctx, t, scanUnsealed, selectUnsealed, limit) // after seen
		if err != nil {
			return err
		}
		head.Seen, head.MostSeen = seen.Seen, seen.MostSeen
		sealing, err := decide(head, entries)
		if err != nil {
			return refused{err}
		}
		waiting := make(map[string]bool, len(entries))
		for _, e := range entries {
			waiting[e.ID] = true
		}
		b = Batch{}
		for _, p := range sealing.Places { // only a sealer places entries, and this one holds the head
			if !waiting[p.ID] {
				return fmt.Errorf("%s does not wait: %w", p.ID, ports.ErrNotFound)
			}
			b.Write(placeEvidence, p.Position, (*Hashes)(&p.Nodes).value(), p.ID)
		}
		b.Write(updateHead, Head.Values(&sealing.Head)...)
		b.Write(s.statements.updateSeen, head.Size, head.Size)
		return t.Commit(ctx, &b)
	})
}

// EvidenceHead implements [ports.Evidence].
func (s *Store) EvidenceHead(ctx context.Context) (evidence.Head, error) {
	head, err := One(ctx, s.engine, Scan(Head), selectHead)
	return head, wrap(err, "read the head of the evidence log")
}

// EvidenceEntry implements [ports.Evidence].
func (s *Store) EvidenceEntry(ctx context.Context, id string) (evidence.Entry, int64, error) {
	position := sql.NullInt64{}
	e, err := One(ctx, s.engine, Fields(func(e *evidence.Entry) []any { return append(Entry.Destinations(e), &position) }),
		selectEvidence, id)
	if !position.Valid {
		position.Int64 = evidence.Unsealed
	}
	return e, position.Int64, wrap(err, "read evidence %s", id)
}

// SealedEvidence implements [ports.EvidenceReader].
func (s *Store) SealedEvidence(ctx context.Context, from int64, limit int) ([]evidence.Entry, error) {
	list, err := All(ctx, s.engine, Scan(Entry), selectSealed, from, limit)
	return list, wrap(err, "read sealed evidence from %d", from)
}

// UnsealedEvidence implements [ports.EvidenceReader].
func (s *Store) UnsealedEvidence(ctx context.Context, limit int) ([]evidence.Entry, error) {
	list, err := All(ctx, s.engine, scanUnsealed, selectUnsealed, limit)
	return list, wrap(err, "read unsealed evidence")
}

// nodesAtOnce is the number of positions that one query reads.
const nodesAtOnce = 100

// EvidenceNodes implements [ports.Evidence].
func (s *Store) EvidenceNodes(ctx context.Context, positions []int64) ([][]evidence.Hash, error) {
	at := make(map[int64][]evidence.Hash, len(positions))
	for some := range slices.Chunk(positions, nodesAtOnce) {
		args := make([]any, len(some))
		for i := range args {
			args[i] = some[i]
		}
		_, err := All(ctx, s.engine, func(r Row) (nodes Hashes, err error) {
			var position int64
			err = r.Scan(&position, &nodes)
			at[position] = nodes
			return nodes, err
		}, `SELECT position, nodes FROM @.evidence WHERE position IN (`+marks(len(args))+`)`, args...)
		if err != nil {
			return nil, fmt.Errorf("read nodes of evidence: %w", err)
		}
	}
	nodes := make([][]evidence.Hash, len(positions))
	for i, position := range positions {
		nodes[i] = at[position]
	}
	return nodes, nil
}
