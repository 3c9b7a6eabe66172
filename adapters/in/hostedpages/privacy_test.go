package hostedpages_test

import (
	"net/http"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

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

func TestAPageThatDoesNotOpenNamesTheOperator(t *testing.T) {
	agency := agreement.Agency{Name: "Pūtea Limited", Address: "1 Quay Street", Contact: "help@putea.example"}
	b := newBench(t, setting{agency: agency})
	page := b.get("/api/dd-setup?token=unknown").is(t, http.StatusNotFound)
	page.wants(t, "This link does not work. It may have been cut off when it was copied.",
		`If your education provider cannot help, ask Pūtea Limited: <a href="mailto:help@putea.example">help@putea.example</a>`)
	newBench(t, setting{}).get("/api/dd-setup?token=unknown").lacks(t, "cannot help")
}
