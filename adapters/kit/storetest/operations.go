package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Operations tests a store against what ports.Configurer and ports.Checkouts promise about the evidence of a change that
// an operator makes.
func Operations(t *testing.T, open Open) {
	run(t, open, []promise{
		{"every change is stored with its evidence", changesRecorded},
		{"a change whose evidence has an id that is taken is a duplicate, and is not made", takenEvidence},
		{"a change that is refused records nothing", refusedChange},
		{"the revocation of a revoked key records nothing", revokedAgain},
		{"of many concurrent revocations of one key one is recorded", concurrentRevocations},
		{"many concurrent replacements are each recorded once", concurrentRecords},
	})
}

// operation returns the evidence of operation n.
func operation(n int) *evidence.Entry {
	e := entryAt(n, evidence.OperationID(fmt.Sprint(n)))
	return &e
}

// unsealed returns the ids of the entries that are not sealed.
func unsealed(t *testing.T, s ports.Admin) []string {
	t.Helper()
	entries, err := s.UnsealedEvidence(t.Context(), 10*many)
	must(t, "UnsealedEvidence", err)
	return entryIDs(entries)
}

// operatorChange is a change that an operator makes.
type operatorChange struct {
	name string
	make func(s ports.Admin, did *evidence.Entry) error
}

// operatorChanges returns changes that each can be made once to a store with checkout 1 and key 1.
func operatorChanges(t *testing.T) []operatorChange {
	return []operatorChange{
		{"ReplaceProviders", func(s ports.Admin, did *evidence.Entry) error {
			return s.ReplaceProviders(t.Context(), func(all []catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
				return append(all, legacy("RIMU")), did, nil
			})
		}},
		{"AddKey", func(s ports.Admin, did *evidence.Entry) error { return s.AddKey(t.Context(), key(2), did) }},
		{"RevokeKey", func(s ports.Admin, did *evidence.Entry) error { return s.RevokeKey(t.Context(), key(1).ID, at(9), did) }},
		{"UpdateCheckout", func(s ports.Admin, did *evidence.Entry) error {
			return s.UpdateCheckout(t.Context(), opened(1).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
				c.Setup.Try++
				return checkout.Change{Next: c, Evidence: did}, nil
			})
		}},
	}
}

// changeable stores what operatorChanges are made to.
func changeable(t *testing.T, s ports.Admin) {
	t.Helper()
	configure(t, s, configuration("KOWHAI"))
	addKeys(t, s, key(1))
	insert(t, s, opened(1))
}

func changesRecorded(t *testing.T, s ports.Admin) {
	changeable(t, s)
	for i, change := range operatorChanges(t) {
		must(t, change.name, change.make(s, operation(i)))
		checkEntry(t, s, *operation(i), evidence.Unsealed)
	}
	got := export(t, s)
	same(t, "configurations", len(got.Configurations), 2)
	same(t, "keys", len(got.Keys), 2)
	same(t, "revoked", got.Keys[0].RevokedAt, at(9))
	same(t, "try", got.Checkouts[0].Checkout.Setup.Try, opened(1).Next.Setup.Try+1)
}

func takenEvidence(t *testing.T, s ports.Admin) {
	changeable(t, s)
	recordEvidence(t, s, *operation(1), *operation(2))
	sealAll(t, s, 1) // the id of a sealed entry is taken too
	for _, n := range []int{1, 2} {
		for _, change := range operatorChanges(t) {
			unchanged(t, s, func() { refused(t, change.name, change.make(s, operation(n)), ports.ErrDuplicate) })
		}
	}
	same(t, "unsealed", unsealed(t, s), []string{operation(2).ID})
}

func refusedChange(t *testing.T, s ports.Admin) {
	changeable(t, s)
	refusal := errors.New("no")
	refused(t, "ReplaceProviders", s.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
		return nil, operation(1), refusal
	}), refusal)
	refused(t, "ReplaceProviders by a provider twice", s.ReplaceProviders(t.Context(),
		func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
			return []catalogue.Configuration{legacy("RIMU"), legacy("RIMU")}, operation(2), nil
		}), ports.ErrDuplicate)
	refused(t, "AddKey", s.AddKey(t.Context(), key(1), operation(3)), ports.ErrDuplicate)
	refused(t, "RevokeKey", s.RevokeKey(t.Context(), key(2).ID, at(9), operation(4)), ports.ErrNotFound)
	same(t, "unsealed", len(unsealed(t, s)), 0)
}

func revokedAgain(t *testing.T, s ports.Admin) {
	addKeys(t, s, key(1))
	must(t, "RevokeKey", s.RevokeKey(t.Context(), key(1).ID, at(8), operation(1)))
	must(t, "RevokeKey again", s.RevokeKey(t.Context(), key(1).ID, at(9), operation(2)))
	must(t, "RevokeKey with evidence whose id is taken", s.RevokeKey(t.Context(), key(1).ID, at(9), operation(1)))
	same(t, "unsealed", unsealed(t, s), []string{operation(1).ID})
}

func concurrentRevocations(t *testing.T, s ports.Admin) {
	addKeys(t, s, key(1))
	for _, err := range concurrently(many, func(i int) error { return s.RevokeKey(t.Context(), key(1).ID, at(i), operation(i)) }) {
		must(t, "RevokeKey", err)
	}
	recorded := unsealed(t, s)
	same(t, "revocations on record", len(recorded), 1)
	for i := range many {
		if operation(i).ID == recorded[0] {
			same(t, "revoked", allKeys(t, s)[0].RevokedAt, at(i))
		}
	}
}

// A decide that runs again makes an entry of its own each time.
func concurrentRecords(t *testing.T, s ports.Admin) {
	var runs atomic.Int32
	for _, err := range concurrently(many, func(i int) error {
		return s.ReplaceProviders(t.Context(), func(all []catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
			return append(all, legacy(fmt.Sprintf("P%d", i))), operation(int(runs.Add(1))), nil
		})
	}) {
		must(t, "ReplaceProviders", err)
	}
	same(t, "replacements on record", len(unsealed(t, s)), many)
}
