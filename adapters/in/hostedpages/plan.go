package hostedpages

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
)

// planView is a payment plan as it is read. Every figure comes from the schedule itself.
type planView struct {
	Steps  []agreement.Step
	Total  money.Cents
	Months []month
}

type month struct {
	Name     string // "February 2027"
	Payments []money.Payment
}

// Day returns the day of a payment in the month: "Monday 1".
func (m month) Day(payment money.Payment) string {
	return strings.TrimSuffix(payment.Taken.Long(), " "+m.Name)
}

var longDay = regexp.MustCompile(`((?:on |until )?)([A-Z][a-z]+day \d{1,2} [A-Z][a-z]+ \d{4}[.,;]?)`)

// Days returns a sentence of package agreement, which has no names in it, as HTML with each day in one piece, together with the
// word before it where the line is long enough.
func (planView) Days(sentence string) template.HTML {
	const day = `<span class="day">$1<span class="whole">$2</span></span>`
	return template.HTML(longDay.ReplaceAllString(template.HTMLEscapeString(sentence), day))
}

func viewPlan(payments []money.Payment, frequency money.Frequency) planView {
	view := planView{Steps: agreement.Steps(payments, frequency)}
	for _, payment := range payments {
		view.Total += payment.Amount
		name := fmt.Sprintf("%s %d", payment.Taken.Month, payment.Taken.Year)
		if last := len(view.Months) - 1; last < 0 || view.Months[last].Name != name {
			view.Months = append(view.Months, month{Name: name})
		}
		latest := &view.Months[len(view.Months)-1]
		latest.Payments = append(latest.Payments, payment)
	}
	return view
}
