package hostedpages_test

import (
	"testing"

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
		{"no default fees", none, "No interest. No fee is charged for a payment that fails or comes late.", "Default fees Nil"},
		{"a default fee", dishonour, "No interest.",
			"Default fees Dishonour fee: $10.00, for each payment that the bank refuses"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			terms := ofPutea()
			terms.DefaultFees = tt.fees
			b := newBench(t, setting{terms: terms})
			open, legal := b.get(b.setupPath()), b.get(b.legalPath())
			open.reads(t, "Course price. "+tt.says)
			legal.reads(t, tt.lists)
			if len(tt.fees.Fees) > 0 {
				open.reads(t, "Default feesDishonour fee: $10.00, for each payment that the bank refuses")
			}
			if !tt.fees.None() {
				open.lacks(t, "No fee", "no fee", "Nil")
				legal.lacks(t, "No fee", "no fee", "Nil")
			}
		})
	}
}

// The authorisation code and what the bank statement shows stand where the payer agrees, and where the payer looks later.
func TestPagesShowTheAuthority(t *testing.T) {
	terms := ofPutea()
	terms.Authority = agreement.Authority{AuthorisationCode: "0123456", Initiator: "Pūtea Collections", Statement: "particulars KOWHAI, code PLAN"}
	b := newBench(t, setting{terms: terms})
	const statement = "Payments are debited by Pūtea Collections, with the authorisation code 0123456. " +
		"On your bank statement each payment shows as particulars KOWHAI, code PLAN."
	b.get(b.setupPath()).reads(t, statement)
	b.get(b.legalPath()).reads(t, "I authorise my bank to debit my account with the amounts of direct debits from Pūtea Collections, with the authorisation code 0123456")
	b.setUp()
	b.get(b.setupPath()).reads(t, statement)
}

func TestLegalPageSetsParagraphsAndLists(t *testing.T) {
	terms := ofPutea()
	terms.Blocks = []agreement.Block{{Title: "Right to cancel", Text: "You may cancel.\n\nTo cancel:\n(a) write to Pūtea Limited\n(b) pay <all>\n- or not"}}
	b := newBench(t, setting{terms: terms})
	b.get(b.legalPath()).wants(t, `<p>You may cancel.</p><p>To cancel:</p><ul><li class="marked">(a) write to Pūtea Limited</li><li class="marked">(b) pay &lt;all&gt;</li><li>or not</li></ul>`)
}

// An authority alone, as a processor names it, is no term of the payment plan.
func TestAnAuthorityIsNoTermOfThePlan(t *testing.T) {
	b := newBench(t, setting{terms: agreement.Terms{Authority: agreement.Authority{Initiator: "Rimu College", Form: "GoCardless"}}})
	page := b.get(b.setupPath())
	page.reads(t, "By continuing you accept the direct debit terms.")
	page.reads(t, "Payments are debited by Rimu College.")
	legal := b.get(b.legalPath())
	legal.wants(t, "<h1>Direct debit terms</h1>", "gives the authority on a page of GoCardless.")
	legal.lacks(t, "The payment plan</h2>")
}
