// Package evidence is the log that shows, years later, what was agreed and what operators did, also to a reader who does
// not trust the database.
//
// A confirm records an [Entry] in its own commit. A sealer appends the entries that were committed to a Merkle tree
// (RFC 6962) and signs a [Checkpoint] of it, under a key that is not in the database. From a checkpoint that was kept
// elsewhere follows everything that the tree held by then: nothing of it can be edited, removed, moved or put in front
// without a difference that shows. A [Proof] shows that one entry is in the tree; it is checked with the public key alone.
//
// The leaves of the log hold no personal data. Names, addresses and the like are commitments: hashes under a salt that is kept
// beside the entry and stands in no leaf and no proof. Without the salt a commitment says nothing. With it a name that is
// guessed can be tried, and names are easily guessed: the salt is as good as the text, and to erase the text alone takes away
// only what cannot be guessed. The agreement stays provable by that, for as long as it is kept; then
// the salt is to be erased too. The figures, and the record's ids, stay for ever.
//
// The package does no I/O and reads no clock.
package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Hash is a node of the tree: a SHA-256.
type Hash = tlog.Hash

// Unsealed is the position of an entry that is not in the tree yet.
const Unsealed = -1

// Entry is one record of the log.
type Entry struct {
	ID   string    // unique in the log: see AgreementID and OperationID
	At   time.Time // when it was recorded, UTC, to the millisecond
	Leaf []byte    // JSON text: what the tree holds
	Salt []byte    // of the commitments in Leaf; nil for a leaf without commitments
	Link
	// Attestation shows that a process with the operator's secret recorded the entry: see checkout.Keyring.Attest. The
	// sealer appends no other entries. An entry that is sealed needs it no more.
	Attestation []byte
	// Orphan says that no entry is on record with the id of Link.Previous. Only reads of entries that are not sealed set it.
	Orphan bool

	attest func(text []byte) []byte // until the entry is recorded
	seen   int64                    // what the leaf says of it, or unseen
}

// Link is the place of an entry in a chain. Every entry is the next in a chain, in the order of the commits, and its attestation
// covers the place: whoever removes an entry that is not sealed leaves a gap before the next one. Chains are several where several
// commits may be made at once.
type Link struct {
	Chain    int
	Number   int64  // in the chain, from 1 on
	Previous string // the id of the entry before it in the chain; "" for the first
}

// End is the end of a chain. A store keeps it, and locks it for the commit of the next entry.
type End struct {
	Link
	// Seen is a size of the tree: every entry that the chain gets from now on has seen as much.
	Seen int64
}

// unseen is the mark of a leaf that does not say yet how large a tree its entry has seen.
const unseen = -1

// ErrOutdated: an entry has seen a tree so small that a checkpoint says that it is complete without the entry. It must be made again.
var ErrOutdated = errors.New("the evidence log has grown since the record was prepared")

// Attest returns the entry, which the function attests when it is recorded: its place is known only then.
func (e Entry) Attest(with func(text []byte) []byte) Entry {
	e.attest = with
	return e
}

// After returns the entry, attested, as the next one behind the end of a chain, and what is the end then. A store calls it in the
// transaction that records the entry. The error is ErrOutdated.
func (e Entry) After(end End) (Entry, End, error) {
	if e.attest != nil && e.seen == unseen {
		e.Leaf, e.seen = withLogSize(e.Leaf, end.Seen), end.Seen
	}
	if e.attest != nil && e.seen < end.Seen {
		return e, end, ErrOutdated
	}
	e.Link, end.Link = Link{end.Chain, end.Number + 1, end.Previous}, Link{end.Chain, end.Number + 1, e.ID}
	if e.attest != nil {
		e.Attestation, e.attest, e.seen = e.attest(e.Attested()), nil, 0
	}
	return e, end, nil
}

// Records reports whether the entry, as it is on record, is the other one, as it was to be recorded.
func (e Entry) Records(other Entry) bool {
	return e.ID == other.ID && bytes.HasPrefix(e.Leaf, bytes.TrimSuffix(other.Leaf, []byte("}")))
}

// Attested returns the bytes that an Attestation attests.
func (e Entry) Attested() []byte {
	return append(fmt.Appendf(nil, "%s\n%d %d %s\n", e.ID, e.Chain, e.Number, e.Previous), e.Leaf...)
}

// AgreementID is the id of the entry of an agreement.
func AgreementID(number string) string { return AgreementPrefix + number }

// AgreementPrefix begins the id of every entry of an agreement, and of no other entry.
const AgreementPrefix = "agreement/"

// OperationID is the id of the entry of something that an operator did.
func OperationID(id string) string { return "operation/" + id }

// Head is the end of a log. The zero Head is the end of an empty log.
type Head struct {
	Size       int64  // entries in the tree
	Edge       []Hash // the roots of the complete subtrees of which the tree consists, from the left
	Checkpoint []byte // the newest one, signed; nil before the first
	// Seen is the least End.Seen of the chains: every entry that has seen less is on record. MostSeen is the greatest, which is more
	// than Size only if the store was edited. Only SealEvidence of a store sets them.
	Seen, MostSeen int64
}

// Append adds an entry to the tree, at position Size. It returns the nodes of the tree that the entry completes, from
// its own hash up.
func (h *Head) Append(leaf []byte) (nodes []Hash) {
	node := tlog.RecordHash(leaf)
	nodes = append(nodes, node)
	for n := h.Size; n&1 == 1; n >>= 1 {
		last := len(h.Edge) - 1
		node = tlog.NodeHash(h.Edge[last], node)
		h.Edge = h.Edge[:last:last]
		nodes = append(nodes, node)
	}
	h.Edge = append(h.Edge[:len(h.Edge):len(h.Edge)], node)
	h.Size++
	return nodes
}

// Root returns the hash of the whole tree.
func (h Head) Root() tlog.Hash {
	if len(h.Edge) == 0 {
		return emptyRoot
	}
	last := len(h.Edge) - 1
	root := h.Edge[last]
	for i := last - 1; i >= 0; i-- {
		root = tlog.NodeHash(h.Edge[i], root)
	}
	return root
}

// Place is the position of an entry in the tree.
type Place struct {
	ID       string // of the entry
	Position int64
	Nodes    []Hash // that it completes, from its own hash up
}

// Sealing is the outcome of one call of the sealer.
type Sealing struct {
	Places []Place
	Head   Head // with a new checkpoint
}

// Nodes is a [tlog.HashReader] of a tree. It returns the nodes that the entries at these positions complete, in the same
// order.
type Nodes func(positions []int64) ([][]Hash, error)

// ReadHashes implements [tlog.HashReader].
func (read Nodes) ReadHashes(indexes []int64) ([]Hash, error) {
	levels, positions := make([]int, len(indexes)), make([]int64, len(indexes))
	for i, index := range indexes {
		level, n := tlog.SplitStoredHashIndex(index)
		levels[i], positions[i] = level, (n+1)<<level-1
	}
	nodes, err := read(positions)
	if err != nil {
		return nil, err
	}
	hashes := make([]Hash, len(indexes))
	for i, level := range levels {
		if i >= len(nodes) || level >= len(nodes[i]) {
			return nil, errDamaged
		}
		hashes[i] = nodes[i][level]
	}
	return hashes, nil
}
