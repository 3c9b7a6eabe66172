package hostedpages_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// The pages take the fees from the operator's terms, and say that there are no fees only where the terms state it.
func TestPagesSayOfFeesWhatTheTermsState(t *testing.T) {
	none := agreement.FeeList{Stated: true}
	dishonour := agreement.FeeList{Stated: true, Fees: []agreement.Fee{{Name: "Dishonour fee", Amount: 10_00, When: "for each payment that the bank refuses"}}}
	for _, tt := range []struct {
		name        string
		fees        agreement.FeeList
		says, lists string
	}{
		{"nothing stated", agreement.FeeList{}, "No interest.", ""},
		{"no default fees", none, "No interest. This plan has no fee for a payment that fails or comes late.", "Default fees This plan has no fee for a payment that fails or comes late."},
		{"a default fee", dishonour, "No interest. There are fees only if a payment fails or comes late: see “Default fees”.",
			"Default fees If a payment fails or comes late:Dishonour fee: $10.00, for each payment that the bank refuses"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			terms := ofPutea()
			terms.DefaultFees = tt.fees
			b := newBench(t, setting{terms: terms})
			open, legal := b.get(b.setupPath()), b.get(b.legalPath())
			open.reads(t, "$2,990.00 in all. "+tt.says)
			legal.reads(t, tt.lists)
			if len(tt.fees.Fees) > 0 {
				open.reads(t, "Default fees (if a payment fails or comes late): Dishonour fee: $10.00, for each payment that the bank refuses")
			}
			if !tt.fees.None() {
				open.lacks(t, "No fee", "no fee", "Nil")
				legal.lacks(t, "No fee", "no fee", "Nil")
			}
		})
	}
}

// Before there is an agreement the payer reads how long the plan can be cancelled, and then the day: that of New Zealand counts.
func TestPagesSayUntilWhenThePlanCanBeCancelled(t *testing.T) {
	terms := ofPutea()
	terms.Lender.Email, terms.Hardship = "help@putea.example", "0800 111 111"
	terms.Cancellation = agreement.Cancellation{WorkingDays: 5, How: "Write to <us>."}
	terms.Disputes = agreement.DisputeScheme{Name: "A Dispute Scheme", Contact: "0800 000 000"}
	for at, day := range map[time.Duration]string{0: "Monday 1 February 2027", time.Second: "Tuesday 2 February 2027"} {
		b := newBench(t, setting{terms: terms})
		b.get(b.setupPath()).reads(t, "You can cancel the plan within 5 working days after you receive the agreement")
		legal := b.get(b.legalPath())
		for _, want := range []string{"1 Lambton Quay, Wellington (FSP1), help@putea.example.", "Write to <us>.", "If you cannot pay", "0800 111 111",
			"You can cancel the plan within 5 working days after the day on which you receive the agreement.", "A Dispute Scheme. Contact: 0800 000 000"} {
			legal.reads(t, want)
		}
		b.setUp()
		b.now = time.Date(2027, time.January, 21, 10, 59, 59, 0, time.UTC).Add(at) // 23:59:59 in New Zealand
		b.confirm(order().First)
		b.get(b.setupPath()).is(t, http.StatusOK).reads(t, "You can cancel the plan until the end of "+day+".")
		b.get(b.agreementPath()).reads(t, "You can cancel the plan until the end of "+day+".")
		b.now = b.now.Add(30 * 24 * time.Hour)
		b.get(b.setupPath()).reads(t, "The time in which you could cancel the plan ended on "+day+".")
	}
}

// An authority alone, as a processor names it, is no term of the payment plan.
func TestAnAuthorityIsNoTermOfThePlan(t *testing.T) {
	b := newBench(t, setting{terms: agreement.Terms{Authority: agreement.Authority{Initiator: "Rimu College", Form: "GoCardless"}}})
	page := b.get(b.setupPath())
	page.reads(t, "By continuing you accept the direct debit terms.")
	page.reads(t, "Rimu College takes the payments from the account by direct debit.")
	legal := b.get(b.legalPath())
	legal.wants(t, "<h1>Direct debit terms</h1>", "gives the authority on a page of GoCardless.")
	legal.lacks(t, "The payment plan</h2>")
}
