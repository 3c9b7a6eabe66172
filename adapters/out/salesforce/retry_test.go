package salesforce_test

import (
	"slices"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
)

// Each fault is met once, and leads to one retry that is counted as its kind.
func TestRetriesAreCountedByKind(t *testing.T) {
	for fault, want := range map[salesforcetest.FaultKind][]salesforce.Retry{
		salesforcetest.FaultReset:          {salesforce.RetryLostAnswer},
		salesforcetest.FaultTornBody:       {salesforce.RetryLostAnswer},
		salesforcetest.FaultError:          {salesforce.RetryServerError},
		salesforcetest.FaultHTML:           {salesforce.RetryServerError},
		salesforcetest.FaultLockedRow:      {salesforce.RetryLockedRow},
		salesforcetest.FaultDuplicateValue: {salesforce.RetryDuplicateValue},
		salesforcetest.FaultExpiredToken:   {salesforce.RetryExpiredToken},
		salesforcetest.FaultSlow:           nil,
	} {
		var got []salesforce.Retry
		b := newBench(t, func(_ *salesforcetest.Options, o *salesforce.Options) {
			o.Retried = func(kind salesforce.Retry) { got = append(got, kind) }
		})
		b.sim.Arm(salesforcetest.Fault{Kind: fault, Times: 1, Path: "/services/data/*/composite", Hang: 1})
		if _, err := b.Open(t.Context(), enrolment()); err != nil {
			t.Errorf("%s: Open: %v", fault, err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: retries %q, want %q", fault, got, want)
		}
	}
}
