package checkout

import (
	"errors"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

// PageState says which setup page a payer is shown.
type PageState string

const (
	PageOpen       PageState = "open"        // the payer can set up the direct debit
	PageSettling   PageState = "settling"    // the payer is done, and waits for the processor
	PageDone       PageState = "done"        // it is set up, or confirmed
	PageEnded      PageState = "ended"       // three months have passed since the last payment of the agreement
	PageExpired    PageState = "expired"     // the setup token's time is over, or the personal data was erased
	PageNotEnabled PageState = "not enabled" // the provider may not be used now
	PageCancelled  PageState = "cancelled"   // the checkout was cancelled
)

// PageFacts are the facts, beside the checkout, that decide its page.
type PageFacts struct {
	Environment catalogue.Environment
	Provider    catalogue.Provider
	Agreement   *agreement.Agreement // nil before the confirm
	Epoch       int                  // of the setup token
	Now         time.Time
	Today       money.Date // in New Zealand
}

// Page returns which page an authentic setup token opens. Before the confirm it opens the setup page until it expires.
// From then on it opens the payer's page, whatever became of the provider.
func (c Checkout) Page(f PageFacts) PageState {
	switch {
	case c.Status == Cancelled:
		return PageCancelled
	case c.Status != Confirmed && f.Provider.Usable(f.Environment) != nil:
		return PageNotEnabled
	case c.Erased():
		return PageExpired
	case f.Agreement != nil && PageLasts(*f.Agreement).Before(f.Today):
		return PageEnded
	case c.SetupComplete():
		return PageDone
	case c.Setup.Settling():
		return PageSettling
	case c.TokenExpired(f.Epoch, f.Now):
		return PageExpired
	}
	return PageOpen
}

// pageMonths is the number of months for which the payer's page opens after the last payment.
const pageMonths = 3

// PageLasts returns the last day on which the payer's page of an agreement opens: three months after the last payment is taken.
func PageLasts(a agreement.Agreement) money.Date {
	payments := a.Payments()
	return payments[len(payments)-1].Taken.After(money.Monthly, pageMonths)
}

// Acceptance is the form that a payer submits when leaving the setup page for the processor.
type Acceptance struct {
	From    string // its network address; "" if it is not known
	TermsID string // the Name of the Disclosure that the page showed
	// Page is the path of the page that showed it, without the token. It is kept for ever, and so must not name a person. A host
	// that shows a page of its own with another text must leave TermsID and Page empty: the consent is then no evidence of any
	// terms, and the agreement gives at least the usual notice.
	Page string
}

// ErrSetUp: there is nothing for the payer to do at the processor. The setup page gives the reason.
var ErrSetUp = errors.New("the direct debit is set up, or is being set up")

// Decide decides whether a payer goes on from a page in this state, which discloses this now, and returns the consent
// to it. The errors are CHECKOUT_CANCELLED, SETUP_LINK_EXPIRED, PROVIDER_NOT_ENABLED, TERMS_CHANGED and ErrSetUp.
func (a Acceptance) Decide(state PageState, shown agreement.Disclosure, now time.Time) (agreement.Consent, error) {
	switch {
	case state == PageCancelled:
		return agreement.Consent{}, CheckoutCancelled()
	case state == PageNotEnabled:
		return agreement.Consent{}, refuseProviderNotEnabled(errors.New("this provider cannot be used now"))
	case state == PageDone, state == PageSettling:
		return agreement.Consent{}, ErrSetUp
	case state == PageExpired, state == PageEnded:
		return agreement.Consent{}, refuseLinkExpired()
	case a.TermsID == "" && a.Page == "":
		return agreement.Consent{At: now, From: a.From}, nil
	case a.TermsID != shown.Name():
		return agreement.Consent{}, refuseTermsChanged()
	}
	return agreement.Consent{At: now, From: a.From, Terms: shown.DebitTerms.Name(), Period: shown.DebitTerms.Period.Long(),
		Disclosed: agreement.Disclosed{SHA256: shown.SHA256(), Page: a.Page}}, nil
}
