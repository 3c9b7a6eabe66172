package fakeprovider

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/money"
)

// view is the data of the pages.
type view struct {
	Title string // the heading
	Offer
	Order   string
	Price   string // "" while the plan is not known
	Plan    []line
	SetUpAt string // address of the setup page; "" before the create

	Declarations []declaration
	Confirmed    bool
	Agreement    string // its number
	Complete     bool   // all events have arrived
	Events       []Event
	Calls        []call
	Refusal      *refusal // nil where the API did not answer

	Docs, Privacy, Desk                   string // addresses of the service
	Course, Enrol, Done, Confirm, AgainAt string // addresses of the website
}

// line is one line of the plan.
type line struct{ What, Amount, When string }

// view returns the view of the current enrolment.
func (p pages) view() view {
	e := p.provider.snapshot()
	return view{
		Offer:        p.provider.Offer,
		Order:        e.order,
		Price:        dollars(e.planned, "pricing.course_price"),
		Plan:         lines(e.planned),
		SetUpAt:      e.opened.SetupURL(),
		Declarations: slices.Clone(declarations),
		Confirmed:    e.confirmed,
		Agreement:    e.agreement.String("agreement.number"),
		Complete:     e.complete(),
		Events:       e.events,
		Calls:        e.calls,
		Docs:         p.provider.API + "/docs",
		Desk:         p.provider.Desk,
		Privacy:      p.provider.API + "/api/dd-setup/privacy",
		Course:       p.site.Path(CoursePath),
		Enrol:        p.site.Path(enrolPath),
		Done:         p.site.Path(DonePath),
		Confirm:      p.site.Path(confirmPath),
		AgainAt:      p.site.Path(againPath),
	}
}

// lines returns the plan that the API resolved from the course.
func lines(created apiclient.Response) []line {
	var plan []line
	if upfront := dollars(created, "pricing.upfront_payment"); upfront != "" && upfront != "$0.00" {
		plan = append(plan, line{What: "Initial payment", Amount: upfront})
	}
	count, _ := strconv.Atoi(created.String("plan.number_of_instalments"))
	final := dollars(created, "plan.final_instalment_amount") // "" where it is like the others
	if final != "" {
		count--
	}
	if count > 0 {
		plan = append(plan, line{What: instalments(count, created.String("plan.payment_frequency")),
			Amount: dollars(created, "plan.instalment_amount")})
	}
	if final != "" {
		plan = append(plan, line{What: "Final instalment", Amount: final})
	}
	if len(plan) > 0 {
		plan[0].When = "on " + long(created.String("plan.first_payment_date"))
	}
	return plan
}

// instalments writes a number of equal instalments, of which the amount of each is beside it.
func instalments(count int, frequency string) string {
	if count == 1 {
		return "1 instalment of"
	}
	return fmt.Sprintf("%d %s instalments of", count, strings.ToLower(frequency))
}

// dollars writes the amount at a path of an answer, or returns "".
func dollars(r apiclient.Response, path string) string {
	cents, err := money.Parse(r.String(path))
	if err != nil {
		return ""
	}
	return cents.Dollars()
}

// long writes a date of the API in words.
func long(date string) string {
	d, err := money.ParseDate(date)
	if err != nil {
		return date
	}
	return d.Long()
}
