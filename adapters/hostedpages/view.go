package hostedpages

import (
	"net/http"
	"net/url"

	"github.com/provider-checkout/provider-checkout/adapters/internal/page"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
)

// content is what the pages tell a payer.
type content struct {
	Provider     string
	SupportEmail string // "" where there is none, as in the addresses
	SuccessURL   string
	CancelURL    string

	Token        string
	SetupURL     string
	LegalURL     string
	Terms        []agreement.Row // as the agreement repeats them
	TermsVersion string
	TermsRead    string // names the terms that this page shows
	NoticePeriod string // of a payment: "10 calendar days"
	PlanTerms    agreement.Terms

	Student     string
	Course      string
	Confirmed   bool
	Superseded  bool   // there is a newer link
	Notice      notice // what the payer is told first; zero for nothing
	AccountTail string // "" until the setup is done, as is Completed
	Completed   string

	planInWords
}

// view returns the page of a setup in its provider's branding.
func view(setup service.SetupPage, title string) page.View {
	provider := setup.Provider
	v := page.View{
		Status:  http.StatusOK,
		Title:   title,
		Brand:   provider.DisplayName(),
		Sandbox: provider.Environment == catalogue.Sandbox,
		Frames:  provider.EnrolmentOrigins,
		Data:    contentOf(setup),
	}
	if sheet := colourURL(provider.Branding.PrimaryColour); sheet != "" {
		v.Styles = []string{sheet}
	}
	return v
}

func contentOf(setup service.SetupPage) content {
	provider, c := setup.Provider, setup.Checkout
	page := content{
		Provider:     provider.DisplayName(),
		SupportEmail: provider.Branding.SupportEmail,
		SuccessURL:   provider.SuccessURL,
		CancelURL:    provider.CancelURL,
		Token:        setup.Token,
		SetupURL:     setupPath + "?token=" + url.QueryEscape(setup.Token),
		LegalURL:     legalPath + "?token=" + url.QueryEscape(setup.Token),
		Terms:        setup.Terms.Rows(provider.DisplayName(), setup.PlanTerms.Lender),
		TermsVersion: setup.Terms.Version,
		TermsRead:    setup.Terms.String(),
		NoticePeriod: setup.Terms.Notice(),
		PlanTerms:    setup.PlanTerms,
		Student:      c.Student.FirstName + " " + c.Student.LastName,
		Course:       c.Intent.CourseName,
		Confirmed:    c.Status == checkout.Confirmed,
		Superseded:   setup.Superseded,
		AccountTail:  c.Setup.AccountTail,
		planInWords:  describe(c.Intent.Pricing.Price, setup.Schedule, c.Intent.Plan.Frequency),
	}
	if setup.State == service.PageOpen {
		page.Notice = cameTo(c.Setup)
	}
	if !setup.Completed.IsZero() {
		page.Completed = money.DateOf(setup.Completed).Long() + setup.Completed.Format(", 3:04 pm MST")
	}
	return page
}

// notice is what a payer is told before anything else.
type notice struct{ Title, Text string }

// cameTo says why the setup has to be done again; zero where it has not.
func cameTo(setup checkout.Setup) notice {
	const again = " Please set it up again; nothing was collected under it."
	const invalid = "Your earlier bank setup is no longer valid."
	switch {
	case setup.Mandate == checkout.MandateFailed:
		return notice{"The bank setup failed", invalid + " Your bank or the payment processor did not accept it. " +
			"Check that the account takes direct debits, or use another one." + again}
	case setup.Mandate == checkout.MandateCancelled:
		return notice{"The direct debit was cancelled", invalid + again}
	case setup.Mandate.Dead():
		return notice{"The direct debit has ended", invalid + again}
	case setup.BillingRequest == checkout.BillingCancelled:
		return notice{"The bank setup was cancelled",
			"It was not finished, and nothing is set up. You can start it again whenever you are ready."}
	}
	return notice{}
}
