package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Evidence tests a store against ports.Evidence.
func Evidence(t *testing.T, open Open) {
	run(t, open, []promise{
		{"an entry comes back as it was stored, odd text included", entryComesBack},
		{"an agreement's entry is stored with it, or not at all", evidenceOfAgreement},
		{"an entry that does not exist is not found", func(t *testing.T, s ports.Admin) {
			recordEvidence(t, s, entryAt(1, "agreement/1"))
			for _, id := range []string{"", "agreement/", "agreement/2", "AGREEMENT/1", "agreement/1 "} {
				_, position, err := s.EvidenceEntry(t.Context(), id)
				refused(t, "EvidenceEntry "+id, err, ports.ErrNotFound)
				same(t, "position", position, int64(evidence.Unsealed))
			}
		}},
		{"of many concurrent entries of one id one succeeds", func(t *testing.T, s ports.Admin) {
			errs := concurrently(16, func(int) error { return s.RecordEvidence(t.Context(), entryAt(1, "operation/1")) })
			oneWins(t, "RecordEvidence", errs, ports.ErrDuplicate)
		}},
		{"an empty log has no entries and no checkpoint", emptyLog},
		{"entries are sealed in the order of their commits, whatever their clocks said", func(t *testing.T, s ports.Admin) {
			recordEvidence(t, s, entryAt(3, "c"), entryAt(1, "a"), entryAt(4, "d"), entryAt(2, "b"))
			_, first := sealAll(t, s, 3)
			_, second := sealAll(t, s, 3)
			same(t, "sealed first", entryIDs(first), []string{"c", "a", "d"})
			same(t, "sealed second", entryIDs(second), []string{"b"})
		}},
		{"what is not sealed comes in the order of the commits, and not once it is sealed", func(t *testing.T, s ports.Admin) {
			same(t, "of an empty log", len(unsealed(t, s)), 0)
			recordEvidence(t, s, entryAt(3, "c"), entryAt(1, "a"), entryAt(4, "d"), entryAt(2, "b"))
			first := result(s.UnsealedEvidence(t.Context(), 2))(t)
			same(t, "the first", unplaced(first...), []evidence.Entry{entryAt(3, "c"), entryAt(1, "a")})
			same(t, "all", unsealed(t, s), []string{"c", "a", "d", "b"})
			sealAll(t, s, 3)
			rest := result(s.UnsealedEvidence(t.Context(), 2))(t)
			same(t, "the rest", unplaced(rest...), []evidence.Entry{entryAt(2, "b")})
			same(t, "an orphan", rest[0].Orphan, false)
		}},
		{"an entry is the next in its chain, attested at its place, whatever records it", chained},
		{"of many concurrent entries each follows on one that is on record, and none twice", chainedAtOnce},
		{"an entry that has seen too little of the log is refused, and nothing is stored", outdatedEntry},
		{"what had seen less than all chains is on record when the log is sealed", seenIsOnRecord},
		{"what is sealed comes back in order, with its place, its nodes and the head", sealedComesBack},
		{"a refusal to seal is returned as it is, and seals nothing", sealingRefused},
		{"an entry is sealed once", sealedOnce},
		{"of many concurrent sealers each sees what the others sealed", concurrentSealers},
		{"a long log has a tree of which everything is proven", longLogProven},
	})
}

// entryAt returns an entry that was recorded in a minute.
func entryAt(minute int, id string) evidence.Entry {
	return evidence.Entry{ID: id, At: at(minute), Leaf: fmt.Appendf(nil, `{"id":%q}`, id), Salt: []byte("salt\x00"), Attestation: []byte{0xff, 0}}
}

func recordEvidence(t *testing.T, s ports.Admin, entries ...evidence.Entry) {
	t.Helper()
	for _, e := range entries {
		must(t, "RecordEvidence", s.RecordEvidence(t.Context(), e))
	}
}

// sealAll seals the oldest unsealed entries, limit of them, and returns what the store passed.
func sealAll(t *testing.T, s ports.Admin, limit int) (was evidence.Head, sealed []evidence.Entry) {
	t.Helper()
	must(t, "SealEvidence", s.SealEvidence(t.Context(), limit, func(h evidence.Head, entries []evidence.Entry) (evidence.Sealing, error) {
		was, sealed = h, entries
		return sealing(h, entries), nil
	}))
	return was, sealed
}

func sealing(h evidence.Head, entries []evidence.Entry) evidence.Sealing {
	var all evidence.Sealing
	for _, e := range entries {
		position := h.Size
		all.Places = append(all.Places, evidence.Place{ID: e.ID, Position: position, Nodes: h.Append(e.Leaf)})
	}
	h.Checkpoint = fmt.Appendf(nil, "checkpoint\n%d\n\n— Kōwhai\n", h.Size)
	all.Head = h
	return all
}

func checkEntry(t *testing.T, s ports.Admin, want evidence.Entry, wantPosition int64) {
	t.Helper()
	got, position, err := s.EvidenceEntry(t.Context(), want.ID)
	must(t, "EvidenceEntry", err)
	same(t, "entry", unplaced(got)[0], want)
	same(t, "position", position, wantPosition)
}

func entryComesBack(t *testing.T, s ports.Admin) {
	for i, text := range oddTexts() {
		e := entryAt(i, text)
		e.Leaf = []byte(text)
		recordEvidence(t, s, e)
		checkEntry(t, s, e, evidence.Unsealed)
	}
	bare := evidence.Entry{ID: "operation/1", At: at(1), Leaf: []byte("{}")}
	recordEvidence(t, s, bare)
	checkEntry(t, s, bare, evidence.Unsealed)
}

func evidenceOfAgreement(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	change := confirmed(completed(opened(1).Next), 1)
	e := entryAt(6, evidence.AgreementID(change.Agreement.Number))
	change.Evidence = &e
	recordEvidence(t, s, entryAt(1, e.ID))
	err := s.UpdateCheckout(t.Context(), change.Next.ID, pending(), func(checkout.Checkout) (checkout.Change, error) { return change, nil })
	refused(t, "UpdateCheckout with evidence whose id is taken", err, ports.ErrDuplicate)
	missing(t, "Agreement")(s.Agreement(t.Context(), change.Agreement.Number))

	e.ID += "-2"
	update(t, s, change.Next.ID, func(checkout.Checkout) checkout.Change { return change })
	checkEntry(t, s, e, evidence.Unsealed)
}

func emptyLog(t *testing.T, s ports.Admin) {
	gets(t, "head", evidence.Head{})(s.EvidenceHead(t.Context()))
	entries := result(s.SealedEvidence(t.Context(), 0, 10))(t)
	nodes := result(s.EvidenceNodes(t.Context(), []int64{0, 7}))(t)
	if len(entries) != 0 || len(nodes) != 2 || nodes[0] != nil || nodes[1] != nil {
		t.Errorf("an empty log has entries %v and nodes %v", entries, nodes)
	}
	was, passed := sealAll(t, s, 10)
	same(t, "head", was, evidence.Head{})
	same(t, "unsealed entries", len(passed), 0)
}

func entryIDs(entries []evidence.Entry) (list []string) {
	for _, e := range entries {
		list = append(list, e.ID)
	}
	return list
}

func sealedComesBack(t *testing.T, s ports.Admin) {
	entries := []evidence.Entry{entryAt(1, "a"), entryAt(2, "b"), entryAt(3, "c")}
	recordEvidence(t, s, entries...)
	sealAll(t, s, 2)
	was, _ := sealAll(t, s, 2)
	var want evidence.Head
	var nodes [][]evidence.Hash
	for i, e := range entries {
		if i == 2 {
			want.Checkpoint = fmt.Appendf(nil, "checkpoint\n%d\n\n— Kōwhai\n", 2)
			same(t, "head in between", was, want)
		}
		nodes = append(nodes, want.Append(e.Leaf))
		checkEntry(t, s, e, int64(i))
	}
	want.Checkpoint = fmt.Appendf(nil, "checkpoint\n%d\n\n— Kōwhai\n", 3)
	gets(t, "head", want)(s.EvidenceHead(t.Context()))
	gets(t, "nodes", [][]evidence.Hash{nodes[2], nodes[0], nodes[1], nodes[0], nil})(s.EvidenceNodes(t.Context(), []int64{2, 0, 1, 0, 3}))
	same(t, "entries from 1", unplaced(result(s.SealedEvidence(t.Context(), 1, 1))(t)...), entries[1:2])
	same(t, "entries from 1", unplaced(result(s.SealedEvidence(t.Context(), 1, 9))(t)...), entries[1:])
	counts(t, "entries from 3", 0)(s.SealedEvidence(t.Context(), 3, 9))
}

func sealingRefused(t *testing.T, s ports.Admin) {
	recordEvidence(t, s, entryAt(1, "a"))
	err := s.SealEvidence(t.Context(), 1, func(h evidence.Head, entries []evidence.Entry) (evidence.Sealing, error) {
		return sealing(h, entries), errNo
	})
	if !errors.Is(err, errNo) {
		t.Errorf("SealEvidence: got error %v, want that of decide as it is", err)
	}
	checkEntry(t, s, entryAt(1, "a"), evidence.Unsealed)
	gets(t, "head", evidence.Head{})(s.EvidenceHead(t.Context()))
}

func sealedOnce(t *testing.T, s ports.Admin) {
	recordEvidence(t, s, entryAt(1, "a"), entryAt(2, "b"))
	sealAll(t, s, 1)
	_, again := sealAll(t, s, 9)
	same(t, "unsealed", entryIDs(again), []string{"b"})
	before := result(s.EvidenceHead(t.Context()))(t)
	for _, id := range []string{"a", "none"} {
		refused(t, "SealEvidence of "+id, s.SealEvidence(t.Context(), 9, func(h evidence.Head, _ []evidence.Entry) (evidence.Sealing, error) {
			return sealing(h, []evidence.Entry{entryAt(3, id)}), nil
		}), ports.ErrNotFound)
	}
	gets(t, "the head", before)(s.EvidenceHead(t.Context()))
	checkEntry(t, s, entryAt(1, "a"), 0)
}

func concurrentSealers(t *testing.T, s ports.Admin) {
	const n = 24
	for i := range n {
		recordEvidence(t, s, entryAt(i, fmt.Sprintf("operation/%02d", i)))
	}
	allSucceed(t, "SealEvidence", 8, func(int) error {
		for {
			left := 0
			err := s.SealEvidence(t.Context(), 3, func(h evidence.Head, entries []evidence.Entry) (evidence.Sealing, error) {
				left = len(entries)
				return sealing(h, entries), nil
			})
			if err != nil || left == 0 {
				return err
			}
		}
	})
	all, err := s.SealedEvidence(t.Context(), 0, n+1)
	counts(t, "sealed", n)(all, err)
	var want evidence.Head
	for _, e := range all {
		want.Append(e.Leaf)
	}
	head := result(s.EvidenceHead(t.Context()))(t)
	same(t, "root", head.Root(), want.Root())
}

func longLogProven(t *testing.T, s ports.Admin) {
	const n = 37
	for i := range n {
		recordEvidence(t, s, entryAt(i, fmt.Sprintf("operation/%02d", i)))
	}
	for range n {
		sealAll(t, s, 1)
	}
	head := result(s.EvidenceHead(t.Context()))(t)
	entries := result(s.SealedEvidence(t.Context(), 0, n))(t)
	nodes := evidence.Nodes(func(positions []int64) ([][]evidence.Hash, error) { return s.EvidenceNodes(t.Context(), positions) })
	c := evidence.Checkpoint{Size: head.Size, Root: head.Root(), At: at(59)}
	keys := testKeys(t)
	signed := result(keys.Sign(c))(t)
	for i, e := range entries {
		if _, err := keys.Prove(e.Leaf, int64(i), signed, nodes); err != nil {
			t.Errorf("entry %d of %d is not proven: %v", i, n, err)
		}
	}
	var earlier evidence.Head
	for i, e := range entries {
		earlier.Append(e.Leaf)
		if err := evidence.CheckConsistent(evidence.Checkpoint{Size: earlier.Size, Root: earlier.Root()}, c, nodes); err != nil {
			t.Errorf("the log is not consistent with its first %d entries: %v", i+1, err)
		}
	}
}

func testKeys(t *testing.T) evidence.Keys {
	t.Helper()
	private := result(evidence.NewKey("evidence.test", [32]byte{1}))(t)
	return result(evidence.ParseKeys(private))(t)
}
