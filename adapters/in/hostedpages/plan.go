package hostedpages

import (
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/money"
)

// planView is a payment plan as it is read. Every figure comes from the schedule itself.
type planView struct {
	Initial   *money.Payment // nil for a plan without an initial payment
	Final     *money.Payment // the final instalment; nil where it is like the others
	Count     int            // of the equal instalments
	Each      string         // "51 weekly payments of $53.65"
	EachTotal money.Cents
	EachFrom  money.Date
	EachUntil money.Date
	Total     money.Cents
	Months    []month
}

// month is the payments that are planned for one month.
type month struct {
	Name     string // "February 2027"
	Payments []money.Payment
}

// Day returns the day of a payment in the month: "Monday 1".
func (m month) Day(payment money.Payment) string {
	return strings.TrimSuffix(payment.Taken.Long(), " "+m.Name)
}

// viewPlan returns the view of the payments of a plan.
func viewPlan(payments []money.Payment, frequency money.Frequency) (view planView) {
	var each money.Cents
	for _, payment := range payments {
		switch payment.Type {
		case money.InitialPayment:
			view.Initial = &payment
		case money.FinalInstalment:
			view.Final = &payment
		default:
			if view.Count == 0 {
				view.EachFrom = payment.Taken
			}
			view.EachUntil, each = payment.Taken, payment.Amount
			view.Count++
			view.EachTotal += payment.Amount
		}
		view.Total += payment.Amount
		name := fmt.Sprintf("%s %d", payment.Taken.Month, payment.Taken.Year)
		if last := len(view.Months) - 1; last < 0 || view.Months[last].Name != name {
			view.Months = append(view.Months, month{Name: name})
		}
		latest := &view.Months[len(view.Months)-1]
		latest.Payments = append(latest.Payments, payment)
	}
	view.Each = fmt.Sprintf("%d %s payments of %s", view.Count, strings.ToLower(string(frequency)), each.Dollars())
	if view.Count == 1 {
		view.Each = "1 payment of " + each.Dollars()
	}
	return view
}
