package hostedpages

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/page"
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

	Token    string
	SetupURL string
	LegalURL string

	Student     string
	Course      string
	Confirmed   bool
	TryAgain    bool   // an earlier setup came to nothing
	AccountTail string // "" until the setup is done

	Price      string
	First      payment // the initial payment; zero where there is none
	Each       string  // "51 weekly payments of $53.65"
	Last       payment // the final instalment; zero where it is like the others
	Total      string
	Payments   []payment
	FirstDate  string
	LatestDate string
}

// payment is one planned payment in words.
type payment struct {
	Date   string
	What   string
	Amount string
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
		Student:      c.Student.FirstName + " " + c.Student.LastName,
		Course:       c.Intent.CourseName,
		Confirmed:    c.Status == checkout.Confirmed,
		TryAgain:     c.Setup.Mandate.Dead() && setup.State == service.PageOpen,
		AccountTail:  c.Setup.AccountTail,
		Price:        dollars(c.Intent.Pricing.Price),
	}
	page.describe(setup.Schedule, c.Intent.Plan.Frequency)
	return page
}

// describe puts the schedule into words. Every figure comes from the schedule itself.
func (c *content) describe(schedule []money.Charge, frequency money.Frequency) {
	var total, each money.Cents
	var number int
	for _, charge := range schedule {
		p := payment{Date: charge.Due.Long(), Amount: dollars(charge.Amount)}
		switch charge.Type {
		case money.InitialPayment:
			p.What = "First payment"
			c.First = p
		case money.FinalInstalment:
			p.What = "Last instalment"
			c.Last = p
		default:
			number++
			each = charge.Amount
			p.What = fmt.Sprintf("Instalment %d", number)
		}
		total += charge.Amount
		c.Payments = append(c.Payments, p)
	}
	c.Each = instalments(number, each, frequency)
	c.Total = dollars(total)
	if len(c.Payments) > 0 {
		c.FirstDate = c.Payments[0].Date
		c.LatestDate = c.Payments[len(c.Payments)-1].Date
	}
}

// instalments writes the equal instalments of a plan: "51 weekly payments of $53.65".
func instalments(number int, each money.Cents, frequency money.Frequency) string {
	if number == 1 {
		return "1 payment of " + dollars(each)
	}
	return fmt.Sprintf("%d %s payments of %s", number, strings.ToLower(string(frequency)), dollars(each))
}

// dollars writes an amount for a reader: "$2,990.00".
func dollars(amount money.Cents) string {
	whole, cents, _ := strings.Cut(amount.String(), ".")
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	return "$" + whole + "." + cents
}
