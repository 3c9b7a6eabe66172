package hostedpages

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
)

// content is the content of the pages: the setup that a token opens, and the parts of it that a template cannot work out.
type content struct {
	service.SetupPage
	planView
	Notice notice // what the payer reads first; zero for nothing
	Status int    // of the setup page; 0 for 200
	Agency agreement.Agency

	FormURL      string
	LinkURL      string
	SetupURL     string
	LegalURL     string
	AgreementURL string
	PrivacyURL   string
}

func (p *pages) content(setup service.SetupPage) content {
	return content{
		SetupPage: setup,
		planView:  viewPlan(setup.Payments, setup.Checkout.Intent.Plan.Frequency),
		Notice:    notices[setup.LastTry],
		Agency:    p.service.Agency(),

		FormURL:      p.site.Path(setupPath),
		LinkURL:      p.site.Path(linkPath),
		SetupURL:     p.address(setupPath, setup.Token),
		LegalURL:     p.address(legalPath, setup.Token),
		AgreementURL: p.address(agreementPath, setup.Token),
		PrivacyURL:   p.site.Path(noticePath),
	}
}

func (p *pages) address(path, token string) string {
	return p.site.Path(path) + "?token=" + url.QueryEscape(token)
}

// view returns a page in its provider's branding.
func (p *pages) view(c content, title string) web.View {
	provider := c.Provider
	v := web.View{
		Status:  http.StatusOK,
		Title:   title,
		Brand:   provider.DisplayName(),
		Logo:    template.URL(provider.Branding.Picture()), // which is nothing but a picture
		Sandbox: provider.Environment == catalogue.Sandbox,
		Frames:  provider.EnrolmentOrigins,
		Script:  "setup.js",
		Address: c.SetupURL,
		Data:    c,
	}
	if sheet := colourPath(provider.Branding.PrimaryColour); sheet != "" {
		v.Styles = []string{p.site.Path(sheet)}
	}
	return v
}

func (c content) Done() bool       { return c.State == checkout.PageDone }
func (c content) Confirmed() bool  { return c.Agreement != nil }
func (c content) ByProvider() bool { return c.Checkout.End.By == checkout.PartyProvider }
func (c content) EndedOn() string  { return c.Ended.Long() }

// Unknown reports whether the processor was not asked or does not answer, so that the payer may have finished.
func (c content) Unknown() bool {
	return c.LastTry == checkout.TryUnknown || c.LastTry == checkout.TryBegun
}

func (c content) LegalTitle() string {
	if !c.PlanTerms() {
		return "Direct debit terms"
	}
	return "Direct debit and payment plan terms"
}

// PlanTerms reports whether there are terms of the payment plan beside the direct debit terms.
func (c content) PlanTerms() bool {
	c.LenderTerms.Authority = agreement.Authority{}
	return !c.LenderTerms.IsZero()
}

func (c content) TermsVersion() string { return agreement.Version }

// TermsDiffer reports whether the terms that the payer accepted may read otherwise than today's.
func (c content) TermsDiffer() bool {
	return c.Done() && c.Checkout.Setup.Consent.Version() != agreement.Version
}

func (c content) FirstDate() string { return c.Payments[0].Taken.Long() }
func (c content) LastDate() string  { return c.Payments[len(c.Payments)-1].Taken.Long() }

// Next returns the first payment that is planned for today or later, or nil after the last.
func (c content) Next() *money.Payment {
	for _, p := range c.Payments {
		if !p.Taken.Before(c.Today) {
			return &p
		}
	}
	return nil
}

func (c content) IsToday(day money.Date) bool { return day == c.Today }

type contact struct {
	Name  string
	Email string
	Else  string // another way to reach it, such as a telephone number
}

// AskAboutPlan returns the party to ask about the plan: the lender or, where its address is not known, the provider.
func (c content) AskAboutPlan() contact {
	name, email := c.LenderTerms.Ask(c.Provider.DisplayName(), c.Provider.Branding.SupportEmail)
	return contact{Name: name, Email: email}
}

// AskForHelp returns the party to ask when a payment cannot be made.
func (c content) AskForHelp() contact {
	ask, named := c.AskAboutPlan(), c.LenderTerms.Hardship
	switch {
	case named == "":
		return ask
	case strings.Contains(named, "@") && !strings.ContainsAny(named, " /"):
		return contact{Name: cmp.Or(c.LenderTerms.Lender.Name, ask.Name), Email: named}
	}
	return contact{Name: cmp.Or(c.LenderTerms.Lender.Name, ask.Name), Else: named}
}

// Deferred says that the payments start later than planned; "" where they do not.
func (c content) Deferred() string {
	if c.Payments[0].Due == c.Planned {
		return ""
	}
	return agreement.Deferred(c.Planned, c.Payments[0].Taken)
}

// WorksUntil returns the day until which the link works, at least before the confirm; "" where it may stop working at any time.
func (c content) WorksUntil() string {
	if c.Until.IsZero() {
		return ""
	}
	return c.Until.Long()
}

func (c content) CompletedOn() string { return money.DateOf(c.Completed).Long() }
