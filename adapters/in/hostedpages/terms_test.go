package hostedpages_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// The pages of terms without a fee are in the conversations.
func TestPagesSayOfADefaultFeeWhatTheTermsState(t *testing.T) {
	terms := ofPutea()
	terms.DefaultFees = agreement.FeeList{Stated: true, Fees: []agreement.Fee{{Name: "Dishonour fee", Amount: 10_00, When: "for each payment that the bank refuses"}}}
	b := newBench(t, setting{terms: terms})
	open, legal := b.get(b.setupPath()), b.get(b.legalPath())
	open.reads(t, "$2,990.00 in all. No interest. There are fees only if a payment fails or comes late: see “Default fees”.")
	open.reads(t, "Default fees (if a payment fails or comes late): Dishonour fee: $10.00, for each payment that the bank refuses")
	legal.reads(t, "Default fees If a payment fails or comes late:Dishonour fee: $10.00, for each payment that the bank refuses")
	for _, page := range []answer{open, legal} {
		page.lacks(t, "No fee", "no fee", "Nil")
	}
}

// The payer of an agreement reads until which day the plan can be cancelled: the day of New Zealand counts.
func TestPagesSayUntilWhenThePlanCanBeCancelled(t *testing.T) {
	terms := ofPutea()
	terms.Cancellation = agreement.Cancellation{WorkingDays: 5, How: "Write to <us>."}
	for at, day := range map[time.Duration]string{0: "Monday 1 February 2027", time.Second: "Tuesday 2 February 2027"} {
		b := newBench(t, setting{terms: terms})
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

// The notice names the companies that get personal data: as the operator's terms say or, without that, as the processor does.
func TestThePrivacyNoticeNamesRecipients(t *testing.T) {
	named := newBench(t, setting{processor: &bank{}}).get("/api/dd-setup/privacy")
	named.reads(t, "These companies get it from us, and may hold it outside New Zealand: Bank Pages Limited: to set up the direct debit")
	told := newBench(t, setting{processor: &bank{}, recipients: []agreement.Recipient{
		{Name: "GoCardless Ltd", Country: "United Kingdom", Purpose: "to collect the payments <b>"}}}).get("/api/dd-setup/privacy")
	told.reads(t, "GoCardless Ltd (United Kingdom): to collect the payments <b>")
	told.lacks(t, "Bank Pages Limited")
}

// The notice promises what the service does by itself, and nothing else.
func TestThePrivacyNoticeSaysHowLongDataIsKept(t *testing.T) {
	const byItself, agreed, abandoned = "nothing is erased unless you ask", "years from its last payment", "days after the last day on which you"
	for _, tt := range []struct {
		keep         checkout.Retention
		wants, lacks []string
	}{
		{checkout.Retention{}, []string{byItself, "If the plan is not agreed, ask us to erase it."}, []string{agreed, abandoned}},
		{checkout.Retention{AgreedYears: 8}, []string{"8 " + agreed, "If the plan is not agreed, ask us"}, []string{byItself, abandoned}},
		{checkout.Retention{AbandonedDays: 90}, []string{byItself, "erase all of it 90 " + abandoned}, []string{agreed}},
		{checkout.Retention{AbandonedDays: 31, AgreedYears: 7}, []string{"7 " + agreed, "erase all of it 31 " + abandoned}, []string{byItself, "ask us to erase"}},
	} {
		notice := newBench(t, setting{retention: tt.keep}).get("/api/dd-setup/privacy")
		notice.wants(t, tt.wants...)
		notice.lacks(t, tt.lacks...)
	}
}

// The operator's contact is for questions of privacy.
func TestAPageThatDoesNotOpenLeadsToTheProviderOnly(t *testing.T) {
	agency := agreement.Agency{Name: "Pūtea Limited", Address: "1 Quay Street", Contact: "help@putea.example"}
	b := newBench(t, setting{agency: agency})
	page := b.get("/api/dd-setup?token=unknown").is(t, http.StatusNotFound)
	page.wants(t, "This link does not work. It may have been cut off when it was copied.",
		"ask your education provider for a new one.")
	page.lacks(t, "Pūtea", "help@putea.example")
}
