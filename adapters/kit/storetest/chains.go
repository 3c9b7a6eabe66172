package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// unplaced returns entries without their places in the chains.
func unplaced(entries ...evidence.Entry) []evidence.Entry {
	list := slices.Clone(entries)
	for i := range list {
		list[i].Link = evidence.Link{}
	}
	return list
}

// attested returns an entry that is attested by its own text.
func attested(minute int, id string) evidence.Entry {
	return evidence.OfOperation(id, evidence.Operation{At: at(minute)}).Attest(slices.Clone[[]byte])
}

// byID returns every entry that is not sealed.
func byID(t *testing.T, s ports.Admin) map[string]evidence.Entry {
	t.Helper()
	all := make(map[string]evidence.Entry)
	for _, e := range result(s.UnsealedEvidence(t.Context(), 10*many))(t) {
		all[e.ID] = e
	}
	return all
}

func chained(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	change := confirmed(completed(opened(1).Next), 1)
	agreed := attested(1, "x")
	agreed.ID = evidence.AgreementID(change.Agreement.Number)
	change.Evidence = &agreed
	update(t, s, change.Next.ID, func(checkout.Checkout) checkout.Change { return change })
	recordEvidence(t, s, attested(2, "2"))
	third, fourth := attested(3, "3"), attested(4, "4")
	must(t, "AddKey", s.AddKey(t.Context(), key(1), &third))
	must(t, "RevokeKey", s.RevokeKey(t.Context(), key(1).ID, at(9), &fourth))
	fifth := attested(5, "5")
	must(t, "ReplaceProviders", s.ReplaceProviders(t.Context(), by(nil, &fifth, nil)))
	previous := ""
	for i, e := range result(s.UnsealedEvidence(t.Context(), 10))(t) {
		same(t, "link of "+e.ID, e.Link, evidence.Link{Number: int64(i) + 1, Previous: previous})
		same(t, "attestation of "+e.ID, string(e.Attestation), string(e.Attested()))
		previous = e.ID
	}
	same(t, "the last", previous, "operation/5")
}

func chainedAtOnce(t *testing.T, s ports.Admin) {
	const n = 3 * many
	refused := errors.New("refused")
	insert(t, s, opened(1))
	errs := concurrently(n, func(i int) error {
		if i%3 > 0 {
			return s.RecordEvidence(t.Context(), attested(i%50, fmt.Sprint(i)))
		}
		taken := attested(i, "0") // all but one of them fail
		return s.UpdateCheckout(t.Context(), opened(1).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			if i%2 > 0 {
				return checkout.Change{}, refused
			}
			return checkout.Change{Next: c, Evidence: &taken}, nil
		})
	})
	stored := 0
	for _, err := range errs {
		if err == nil {
			stored++
		}
	}
	all := byID(t, s)
	same(t, "entries", len(all), stored)
	follows := make(map[string]bool)
	for _, e := range all {
		before, found := all[e.Previous]
		switch {
		case e.Orphan, (e.Number == 1) != (e.Previous == ""), e.Number > 1 && !found,
			found && (before.Chain != e.Chain || before.Number != e.Number-1):
			t.Errorf("%s is at %+v, an orphan: %t; before it is %+v", e.ID, e.Link, e.Orphan, before.Link)
		case e.Previous != "" && follows[e.Previous]:
			t.Errorf("two entries follow on %s", e.Previous)
		}
		follows[e.Previous] = true
	}
}

// havingSeen returns an entry that has seen a tree of a size.
func havingSeen(seen int64, id string) evidence.Entry {
	a := agreement.Agreement{Number: id}
	return evidence.OfAgreement(a, evidence.Conclusion{At: at(1), LogSize: seen}).Attest(slices.Clone[[]byte])
}

func outdatedEntry(t *testing.T, s ports.Admin) {
	recordEvidence(t, s, attested(1, "1"), attested(2, "2"), attested(3, "3"))
	sealAll(t, s, 1)
	recordEvidence(t, s, havingSeen(0, "1")) // it may have been under way
	sealAll(t, s, 1)
	refused(t, "RecordEvidence", s.RecordEvidence(t.Context(), havingSeen(0, "2")), evidence.ErrOutdated)
	e := havingSeen(0, "3")
	k := key(1)
	refused(t, "AddKey", s.AddKey(t.Context(), k, &e), evidence.ErrOutdated)
	missing(t, "Key")(s.Key(t.Context(), k.Hash))
	recordEvidence(t, s, havingSeen(1, "4"))
	if r, err := evidence.Read(byID(t, s)["agreement/4"].Leaf); err != nil || r.LogSize != 1 {
		t.Errorf("the record is %+v, %v; want that it has seen a tree of 1", r, err)
	}
	recordEvidence(t, s, attested(4, "4"))
	if r, err := evidence.Read(byID(t, s)["operation/4"].Leaf); err != nil || r.LogSize != 1 {
		t.Errorf("the record of an operation is %+v, %v; want that it has seen a tree of 1", r, err)
	}
}

func seenIsOnRecord(t *testing.T, s ports.Admin) {
	recordEvidence(t, s, attested(1, "1"), attested(2, "2"), attested(3, "3"), attested(4, "4"))
	for i, want := range []int64{0, 0, 1, 2} {
		was, _ := sealAll(t, s, 1)
		same(t, fmt.Sprint("seen before sealing ", i+1), was.Seen, want)
	}
}

// EditedChains checks that the next sealing corrects an edited chain: the size of the tree that it has seen.
func EditedChains(t *testing.T, open func(t *testing.T) (s ports.Admin, execute func(statement string))) {
	t.Run("a chain that was set ahead of the log", func(t *testing.T) {
		s, execute := open(t)
		recordEvidence(t, s, attested(1, "1"))
		sealAll(t, s, 1)
		execute(`UPDATE evidence_chains SET seen = 1000000 WHERE chain = 0`)
		refused(t, "RecordEvidence", s.RecordEvidence(t.Context(), havingSeen(1, "2")), evidence.ErrOutdated)
		was, _ := sealAll(t, s, 1)
		same(t, "the most that was seen", was.MostSeen, int64(1_000_000))
		recordEvidence(t, s, havingSeen(1, "2"))
	})
}
