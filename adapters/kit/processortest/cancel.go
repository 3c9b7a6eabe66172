package processortest

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// cancel asks a processor to end a setup of which this is on record.
func (b Bench) cancel(t *testing.T, id string, onRecord checkout.Observation) error {
	return b.Processor.Cancel(t.Context(), checkout.SetupQuery{Account: b.Account,
		Setup: checkout.Setup{Try: 1, BillingRequestID: id, Observation: onRecord}})
}

// ended reports unless a setup has ended, now and as time passes.
func (b Bench) ended(t *testing.T, id string, last checkout.Observation) {
	t.Helper()
	for range steps {
		if last = b.observe(t, b.Account, id, last); last.Authorisation == checkout.Authorised ||
			last.BillingRequest != checkout.BillingCancelled && !last.Mandate.Dead() {
			t.Fatalf("%+v of a setup that is cancelled, want the billing request cancelled, or the mandate dead", last)
		}
		if !b.pass(t) {
			break
		}
	}
}

func cancelledBefore(t *testing.T, b Bench) {
	for _, visited := range []bool{false, true} {
		request := b.begin(t, b.start(t, map[bool]string{false: "unopened", true: "opened"}[visited]))
		if visited {
			b.Visit(t, request.URL)
		}
		for range 2 {
			if err := b.cancel(t, request.ID, notBegun); err != nil {
				t.Fatalf("Cancel of a setup that waits for the payer: %v", err)
			}
		}
		b.ended(t, request.ID, notBegun)
	}
}

func cancelledAfter(t *testing.T, b Bench) {
	for _, known := range []bool{true, false} { // the record may be behind
		request := b.begin(t, b.start(t, map[bool]string{false: "not seen yet", true: "on record"}[known]))
		b.Complete(t, request.URL)
		seen := b.fulfilled(t, b.Account, request.ID)
		onRecord := notBegun
		if known {
			onRecord = seen
		}
		together(many, func(int) {
			if err := b.cancel(t, request.ID, onRecord); err != nil {
				t.Errorf("Cancel of a completed setup, one of %d at once: %v", many, err)
			}
		})
		b.ended(t, request.ID, seen)
		if err := b.cancel(t, request.ID, b.observe(t, b.Account, request.ID, seen)); err != nil {
			t.Errorf("Cancel of what has ended: %v", err)
		}
	}
}

func cancelledMeanwhile(t *testing.T, b Bench) {
	request := b.begin(t, b.start(t, "a"))
	b.Complete(t, request.URL)
	var err error
	for range steps { // an error says that it cannot be ended yet
		if err = b.cancel(t, request.ID, notBegun); err == nil || !b.pass(t) {
			break
		}
	}
	if err != nil {
		t.Fatalf("Cancel of a setup that the payer has just completed: %v in the end", err)
	}
	b.ended(t, request.ID, notBegun)
}

func cancelOfAnother(t *testing.T, b Bench) {
	mine, theirs := b.begin(t, b.start(t, "mine")), b.begin(t, b.start(t, "theirs"))
	b.Complete(t, theirs.URL)
	before := b.fulfilled(t, b.Account, theirs.ID)
	if err := b.cancel(t, mine.ID, notBegun); err != nil {
		t.Fatal(err)
	}
	if got := b.observe(t, b.Account, theirs.ID, before); got.Mandate.Dead() {
		t.Errorf("the cancel of another setup left %+v", got)
	}
	if err := b.cancel(t, "BR-that-was-never-made", notBegun); err == nil {
		t.Error("Cancel of a billing request that was never made is no error")
	}
}
