package hostedpages

import (
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/money"
)

// planView is a payment plan as it is read. Every figure comes from the schedule itself.
type planView struct {
	Price   string
	Initial payment // zero for a plan without an initial payment
	Final   payment // the final instalment; zero where it is like the others
	Total   string

	Count     int    // of the equal instalments
	Each      string // "51 weekly payments of $53.65"
	EachTotal string
	EachFrom  string // dates, as in the two below
	EachUntil string

	Planned   int // payments in all
	Months    []month
	FirstDate string
}

// payment is one planned payment.
type payment struct {
	Number int    // from 1, as the agreement numbers them
	Date   string // "Monday 1 February 2027"
	Day    string // "Monday 1"
	What   string
	Amount string
}

// month is the payments that are planned for one month.
type month struct {
	Name     string // "February 2027"
	Payments []payment
}

// viewPlan returns the view of a schedule.
func viewPlan(price money.Cents, schedule []money.Charge, frequency money.Frequency) planView {
	view := planView{Price: price.Dollars(), Planned: len(schedule)}
	var total, each, equal money.Cents
	for _, charge := range schedule {
		p := payment{Number: charge.Sequence, Date: charge.Due.Long(), What: charge.Type.Label(), Amount: charge.Amount.Dollars()}
		switch charge.Type {
		case money.InitialPayment:
			view.Initial = p
		case money.FinalInstalment:
			view.Final = p
		default:
			view.Count++
			if view.Count == 1 {
				view.EachFrom = p.Date
			}
			view.EachUntil, each = p.Date, charge.Amount
			equal += charge.Amount
		}
		total += charge.Amount
		view.add(p, fmt.Sprintf("%s %d", charge.Due.Month, charge.Due.Year))
	}
	view.Each = instalments(view.Count, each, frequency)
	view.EachTotal, view.Total = equal.Dollars(), total.Dollars()
	return view
}

// add puts a payment into its month, which is the latest or a new one.
func (w *planView) add(p payment, name string) {
	p.Day = strings.TrimSuffix(p.Date, " "+name)
	if len(w.Months) == 0 {
		w.FirstDate = p.Date
	}
	if last := len(w.Months) - 1; last < 0 || w.Months[last].Name != name {
		w.Months = append(w.Months, month{Name: name})
	}
	latest := &w.Months[len(w.Months)-1]
	latest.Payments = append(latest.Payments, p)
}

// instalments writes the equal instalments of a plan: "51 weekly payments of $53.65".
func instalments(number int, each money.Cents, frequency money.Frequency) string {
	if number == 1 {
		return "1 payment of " + each.Dollars()
	}
	return fmt.Sprintf("%d %s payments of %s", number, strings.ToLower(string(frequency)), each.Dollars())
}
