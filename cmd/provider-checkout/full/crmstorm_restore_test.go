package full_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

const (
	perRound   = 30                     // enrolments that are on their way when the store is copied
	copyWithin = 700 * time.Millisecond // of which the copy is made
)

// TestRestore copies the store at a random moment, lets life go on, and then serves the copy, while the organisation has
// kept everything: again and again.
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=25 go test -run TestRestore -timeout 1h -v ./cmd/provider-checkout/full
func TestRestore(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"first store", "second store"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a restore waits most of the time for leases of the copy to end
			runRestore(t, testlevel.Runs(t, 2))
		})
	}
}

// runRestore restores a store as many times, one after the other.
func runRestore(t *testing.T, rounds int) {
	path := filepath.Join(t.TempDir(), "store-0.db")
	store := openSQLite(t, path)
	w := newStormWorld(t, store, giveUp)
	stop := w.serve(t, store)
	all := enrolMany(rounds*perRound, 0, func(int) clientHabit { return retriesAlways })
	kept, lost, half := 0, 0, 0
	for round := range rounds {
		these := all[round*perRound : (round+1)*perRound]
		next := filepath.Join(filepath.Dir(path), fmt.Sprintf("store-%d.db", round+1))
		w.live(t, these, path, next)
		stop()
		before := w.agreements()
		for _, r := range w.stored(t) {
			if before[r.Checkout.Records.OpportunityID] != "" && r.Checkout.Confirmation.AgreementID == "" {
				half++
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		store, path = openSQLite(t, next), next
		stop = w.serve(t, store)
		k, l := w.comeBack(t, these, before)
		kept, lost = kept+k, lost+l
	}
	w.settled(t)
	stop()
	w.check(t, all, true)
	t.Logf("%d restores of %d enrolments: %d checkouts were lost, %d agreements of the organisation were concluded again; %d enrolments had been left incomplete",
		rounds, len(all), lost, kept, half)
	if kept < rounds || lost < rounds || half == 0 {
		t.Errorf("void: %d agreements were to be concluded again, %d checkouts were lost, and %d enrolments were incomplete, in %d restores",
			kept, lost, half, rounds)
	}
}

// live enrols students while some calls of the organisation have no answer, which the clients leave at that, and copies the
// store to another file meanwhile.
func (w *stormWorld) live(t *testing.T, these []*enrolment, path, copied string) {
	t.Helper()
	c := w.newClient(t)
	w.org.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultError, Path: "/services/data/*/sobjects/ContentVersion", Probability: 0.9},
		salesforcetest.Fault{Kind: salesforcetest.FaultResetAfter, Probability: 0.2})
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-time.After(time.Duration(rand.Int64N(int64(copyWithin))))
		if _, err := sqlite.Backup(t.Context(), path, copied); err != nil {
			t.Error(err)
		}
	}()
	togetherEnrolments(t, perRound, these, func(e *enrolment) error {
		<-time.After(time.Duration(rand.Int64N(int64(copyWithin))))
		e.limit = 2
		_ = e.complete(t.Context(), c) // the clients come back after the restore
		return nil
	})
	<-done
	w.org.Disarm()
}

// agreements returns the numbers of the organisation's agreements by their opportunities.
func (w *stormWorld) agreements() map[string]string {
	all := make(map[string]string)
	for _, r := range w.org.Records(agreementObject) {
		all[r["Opportunity__c"]] = r["Agreement_Number__c"]
	}
	return all
}

// comeBack has the clients send everything again after a restore. It returns how many agreements the store had lost, and
// how many checkouts.
func (w *stormWorld) comeBack(t *testing.T, these []*enrolment, before map[string]string) (kept, lost int) {
	t.Helper()
	c := w.newClient(t)
	on := w.stored(t)
	for _, e := range these {
		r := on[e.Provider+" "+e.Order]
		if r.Checkout.ID == "" && e.IDs[0] != "" {
			lost++
		}
		if before[e.IDs[2]] != "" && r.Checkout.Confirmation.AgreementNumber == "" {
			kept++
		}
	}
	togetherEnrolments(t, perRound, these, func(e *enrolment) error {
		was := e.Enrolment
		e.Enrolment = workload.Enrolment{Provider: e.Provider, Order: e.Order, Body: e.Body, Created: e.Created}
		e.restored, e.limit, e.setUp = true, mostOf, ""
		if err := e.complete(t.Context(), c); err != nil {
			return err
		}
		switch {
		case was.IDs[1] != "" && [3]string(was.IDs[1:]) != [3]string(e.IDs[1:]):
			return fmt.Errorf("%s has the records %q after the restore, and had %q", e.Order, e.IDs[1:], was.IDs[1:])
		case was.Agreement[1] != "" && was.Agreement != e.Agreement:
			return fmt.Errorf("%s has the agreement %q after the restore, and had %q", e.Order, e.Agreement, was.Agreement)
		case before[e.IDs[2]] != "" && before[e.IDs[2]] != e.Agreement[1]:
			return fmt.Errorf("%s has the agreement %s after the restore, the organisation %s", e.Order, e.Agreement[1], before[e.IDs[2]])
		}
		return nil
	})
	return kept, lost
}
