package full_test

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

const (
	stormClients = 48 // clients
	mostOf       = 10 // tries of one request
	giveUp       = time.Second
	slowCall     = 150 * time.Millisecond
)

// orgFaults returns the faults of the storm. A call that hangs is given up by its caller.
func orgFaults() []salesforcetest.Fault {
	return []salesforcetest.Fault{
		{Kind: salesforcetest.FaultLockedRow, Probability: 0.05}, // this and the next only where records are written
		{Kind: salesforcetest.FaultDuplicateValue, Probability: 0.05},
		{Kind: salesforcetest.FaultTimeout, Probability: 0.006},
		{Kind: salesforcetest.FaultTimeoutAfter, Probability: 0.006},
		{Kind: salesforcetest.FaultReset, Probability: 0.015},
		{Kind: salesforcetest.FaultResetAfter, Probability: 0.015},
		{Kind: salesforcetest.FaultSlow, Probability: 0.015, Hang: slowCall},
		{Kind: salesforcetest.FaultError, Probability: 0.015},
		{Kind: salesforcetest.FaultErrorAfter, Probability: 0.015},
		{Kind: salesforcetest.FaultUnavailable, Probability: 0.015},
		{Kind: salesforcetest.FaultHTML, Probability: 0.015},
		{Kind: salesforcetest.FaultHTMLAfter, Probability: 0.015},
		{Kind: salesforcetest.FaultTornBody, Probability: 0.015},
		{Kind: salesforcetest.FaultOtherBody, Probability: 0.015},
		{Kind: salesforcetest.FaultHugeBody, Probability: 0.015},
		{Kind: salesforcetest.FaultRequestLimit, Probability: 0.01},
		{Kind: salesforcetest.FaultExpiredToken, Probability: 0.01},
	}
}

// TestStorm has many clients enrol students while about every fifth call of the organisation fails, in every way.
// A long run says how many over SQLite, which takes more than twenty minutes for 100,000:
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=100000 go test -run TestStorm/SQLite -timeout 5h -v ./cmd/provider-checkout/full
func TestStorm(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		store := openSQLite(t, filepath.Join(t.TempDir(), "store.db"))
		runStorm(t, newStormWorld(t, store, giveUp), store, testlevel.Runs(t, 2_000))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		store, err := postgres.Open(t.Context(), postgrestest.URL(t), postgres.Options{Environment: catalogue.Sandbox, CRM: "salesforce",
			Secrets: operatorSecrets, Rand: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		runStorm(t, newStormWorld(t, store, giveUp), store, 300)
	})
}

// habitInStorm returns the habit of the n-th client of the storm.
func habitInStorm(n int) clientHabit {
	switch n % 20 {
	case 3, 13:
		return silentOnCreate
	case 7, 17:
		return silentOnConfirm
	case 5:
		return hangsUp
	case 9:
		return contradictsItself
	}
	return retriesAlways
}

// runStorm runs the storm over a store, lets the clients that went silent come back after it, and looks at everything.
func runStorm(t *testing.T, w *stormWorld, store site.Store, n int) {
	stop := w.serve(t, store)
	all := enrolMany(n, mostOf, habitInStorm)
	c := w.newClient(t)
	w.org.Arm(orgFaults()...)
	began := time.Now()
	silent := togetherEnrolments(t, stormClients, all, func(e *enrolment) error { return e.complete(t.Context(), c) })
	took := time.Since(began)
	w.org.Disarm()
	converged := w.settled(t)
	stats := w.org.Statistics()
	w.checkWhole(t)
	back := slices.DeleteFunc(slices.Clone(all), func(e *enrolment) bool { return e.Agreement[0] != "" })
	togetherEnrolments(t, stormClients, back, func(e *enrolment) error { e.habit = retriesAlways; return e.complete(t.Context(), c) })
	w.settled(t)
	stop()

	w.check(t, all, false)
	w.log.check(t, all, w.stored(t))
	reportStorm(t, stats, all, silent, took, converged)
}

// reportStorm prints the figures of the storm, and fails the test if it had too few faults of a kind.
func reportStorm(t *testing.T, stats salesforcetest.Statistics, all []*enrolment, silent int, took, converged time.Duration) {
	t.Helper()
	calls, suffered, kinds := 0, 0, ""
	for _, n := range stats.Calls {
		calls += n
	}
	for _, f := range orgFaults() {
		n := stats.Faults[f.Kind]
		suffered += n
		kinds += fmt.Sprintf("  %-18s %d\n", f.Kind, n)
		if n < len(all)/50 {
			t.Errorf("void: %d calls suffered %s, want %d at least", n, f.Kind, len(all)/50)
		}
	}
	tries, most, again := 0, 0, 0
	for _, e := range all {
		tries, most = tries+e.tries, max(most, e.most)
		if e.most > 1 {
			again++
		}
	}
	t.Logf("checkouts          %d\ncalls              %d\nfaults             %d (%.1f %%)\n%stries of clients   %d, %d of one request at most; %d clients sent one again, %d went silent\n"+
		"the storm          %.1f s\nconverged after    %.1f s", len(all), calls, suffered, 100*float64(suffered)/float64(calls), kinds,
		tries, most, again, silent, took.Seconds(), converged.Seconds())
	if suffered < calls*15/100 || suffered > calls*30/100 {
		t.Errorf("void: %d of %d calls suffered a fault, want about every fifth", suffered, calls)
	}
	if silent < len(all)/40 {
		t.Errorf("void: %d clients went silent", silent)
	}
}
