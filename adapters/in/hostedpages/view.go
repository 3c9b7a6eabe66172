package hostedpages

import (
	"html/template"
	"net/http"
	"net/url"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
)

// content is the content of the pages.
type content struct {
	Provider     string
	SupportEmail string // optional, as are the two addresses
	SuccessURL   string
	CancelURL    string

	Title        string // what the setup is come to, once it is done
	Token        string
	FormURL      string
	SetupURL     string
	LegalURL     string
	LegalTitle   string
	AgreementURL string
	PrivacyURL   string
	Agency       agreement.Agency
	Terms        []term // as the agreement repeats them
	TermsVersion string
	TermsID      string // of the terms that this page shows
	NoticePeriod string // of a payment: "10 calendar days"
	UsualNotice  int    // in days, where this one is shorter; 0 where it is not
	Until        string // the day until which the link works at least; "" where it may stop working at any time
	LenderTerms  agreement.Terms
	Fees         string // in short
	FeeRows      []term // that the terms state
	Charged      []term // the rows of fees that are charged
	Blocks       []term // of the operator's terms
	Statement    string // what the bank statement shows; "" if it is not known
	Code         string // under which the account is debited; "" if it is not known
	Earliest     string // the first day on which a payment may be taken

	Student     string
	Course      string
	Done        bool
	TermsDiffer bool // the terms that the payer accepted may read otherwise than today's
	Confirmed   bool
	Agreement   string // its number; "" until the enrolment is confirmed
	Superseded  bool   // there is a newer link
	Unknown     bool   // the processor does not answer, and the payer may have finished
	Notice      notice // what the payer reads first; zero for nothing
	Deferred    string // the planned first date, where collection starts later; "" where it does not
	Account     string // in words; "" until the setup is done, as are the day and the time of that
	Completed   string
	CompletedAt string

	planView
}

// view returns the page of a setup in its provider's branding.
func (p *pages) view(setup service.SetupPage, title string) web.View {
	provider := setup.Provider
	v := web.View{
		Status:  http.StatusOK,
		Title:   title,
		Brand:   provider.DisplayName(),
		Logo:    template.URL(provider.Branding.Picture()), // which is nothing but a picture
		Sandbox: provider.Environment == catalogue.Sandbox,
		Frames:  provider.EnrolmentOrigins,
		Data:    p.content(setup),
	}
	if sheet := colourPath(provider.Branding.PrimaryColour); sheet != "" {
		v.Styles = []string{p.site.Path(sheet)}
	}
	return v
}

func (p *pages) content(setup service.SetupPage) content {
	provider, c := setup.Provider, setup.Checkout
	page := content{
		Title:        doneTitle(setup),
		Provider:     provider.DisplayName(),
		SupportEmail: provider.Branding.SupportEmail,
		SuccessURL:   provider.SuccessURL,
		CancelURL:    provider.CancelURL,
		Token:        setup.Token,
		FormURL:      p.site.Path(setupPath),
		SetupURL:     p.address(setupPath, setup.Token),
		LegalURL:     p.address(legalPath, setup.Token),
		AgreementURL: p.address(agreementPath, setup.Token),
		Terms:        viewTerms(setup.DebitTerms),
		TermsVersion: agreement.Version,
		TermsID:      setup.DebitTerms.Name(),
		NoticePeriod: setup.DebitTerms.Notice(),
		LegalTitle:   legalTitle(setup),
		PrivacyURL:   p.site.Path(noticePath),
		Agency:       p.service.Agency(),
		LenderTerms:  setup.LenderTerms,
		Fees:         setup.LenderTerms.FeesInShort(),
		FeeRows:      viewRows(setup.LenderTerms.FeeRows()),
		Charged:      viewRows(charged(setup.LenderTerms)),
		Blocks:       viewBlocks(setup.LenderTerms),
		Statement:    setup.LenderTerms.Authority.Statement(),
		Code:         setup.LenderTerms.Authority.AuthorisationCode,
		Earliest:     setup.Earliest.Long(),
		Student:      c.Student.FirstName + " " + c.Student.LastName,
		Course:       c.Intent.CourseName,
		Done:         setup.State == checkout.PageDone,
		TermsDiffer:  setup.State == checkout.PageDone && c.Setup.Consent.Version() != agreement.Version,
		Confirmed:    c.Status == checkout.Confirmed,
		Agreement:    c.Confirmation.AgreementNumber,
		Superseded:   setup.Superseded,
		Unknown:      setup.LastTry == checkout.TryUnknown,
		Notice:       notices[setup.LastTry],
		Account:      string(c.Setup.AccountMask),
		planView:     viewPlan(c.Intent.Pricing.Price, setup.Schedule, c.Intent.Plan.Frequency),
	}
	if !setup.Until.IsZero() {
		page.Until = money.DateOf(setup.Until).Long()
	}
	if days := setup.DebitTerms.NoticeDays; 0 < days && days < agreement.UsualNotice {
		page.UsualNotice = agreement.UsualNotice
	}
	if setup.Schedule[0].Due != setup.Planned {
		page.Deferred = setup.Planned.Long()
	}
	if !setup.Completed.IsZero() {
		page.Completed = money.DateOf(setup.Completed).Long()
		page.CompletedAt = setup.Completed.Format("3:04 pm MST")
	}
	return page
}

// address returns the address of a page that a token opens.
func (p *pages) address(path, token string) string {
	return p.site.Path(path) + "?token=" + url.QueryEscape(token)
}

// term is one of the terms.
type term struct {
	Label string
	Text  template.HTML // paragraphs and lists, with the names of others marked
}

func viewTerms(terms agreement.DebitTerms) []term {
	return viewRows(terms.Rows(), terms.Provider, terms.Lender.Name, terms.Authority.Initiator)
}

func viewRows(rows []agreement.Row, names ...string) (view []term) {
	for _, row := range rows {
		view = append(view, term{row.Label, web.Prose(row.Value, names...)})
	}
	return view
}

// charged returns the rows of the fees that there are.
func charged(terms agreement.Terms) []agreement.Row {
	terms.Fees.Stated = len(terms.Fees.Fees) > 0
	terms.DefaultFees.Stated = len(terms.DefaultFees.Fees) > 0
	return terms.FeeRows()
}

func viewBlocks(terms agreement.Terms) (view []term) {
	for _, block := range terms.Blocks {
		view = append(view, term{block.Title, web.Prose(block.Text, terms.Lender.Name)})
	}
	return view
}

// legalTitle names what the legal page holds.
func legalTitle(setup service.SetupPage) string {
	if setup.LenderTerms.IsZero() {
		return "Direct debit terms"
	}
	return "Direct debit and payment plan terms"
}
