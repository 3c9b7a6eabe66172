package checkout

import (
	"fmt"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

// Month is a calendar month in New Zealand.
type Month struct {
	First, Next money.Date // the first days of it and of the month after it
	zone        *time.Location
}

// ParseMonth parses YYYY-MM.
func ParseMonth(text string, zone *time.Location) (Month, error) {
	first, err := time.Parse("2006-01", text)
	if err != nil {
		return Month{}, fmt.Errorf("%q is not a month, such as 2026-11", text)
	}
	return Month{money.DateOf(first), money.DateOf(first.AddDate(0, 1, 0)), zone}, nil
}

// Begins returns the time at which the month begins, and Ends the time at which it is over.
func (m Month) Begins() time.Time { return m.at(m.First) }
func (m Month) Ends() time.Time   { return m.at(m.Next) }

func (m Month) at(d money.Date) time.Time {
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, m.zone)
}

func (m Month) has(d money.Date) bool { return !d.Before(m.First) && d.Before(m.Next) }

// MonthLine is an agreement in the report of a month: it was accepted in the month, or payments of it are due in the month.
type MonthLine struct {
	Concluded
	Accepted    money.Date // in New Zealand
	Withdrawn   money.Date // the same; zero unless it was withdrawn. Payments from that day on are not due
	Financed    money.Cents
	Upfront     money.Cents // like Financed 0 unless it was accepted in the month
	Charges     int         // due in the month
	Due         money.Cents // the sum of them
	Differences []string    // between record, CRM and mandate
}

// Line returns the line of an agreement in the report of a month; ok is false if the month does not concern it.
func (m Month) Line(c Concluded) (line MonthLine, ok bool) {
	line = MonthLine{Concluded: c, Accepted: money.DateOf(c.Agreement.AcceptedAt.In(m.zone)), Differences: c.differences()}
	if ok = m.has(line.Accepted); ok {
		line.Financed, line.Upfront = c.Agreement.Pricing.Principal, c.Agreement.Pricing.Upfront
	}
	if ended := c.Checkout.End.At; c.Checkout.Withdrawn() {
		line.Withdrawn = money.DateOf(ended.In(m.zone))
		ok = ok || m.has(line.Withdrawn)
	}
	for _, charge := range c.Agreement.Schedule {
		if m.has(charge.Due) && (line.Withdrawn.IsZero() || charge.Due.Before(line.Withdrawn)) {
			line.Charges, line.Due, ok = line.Charges+1, line.Due+charge.Amount, true
		}
	}
	return line, ok
}

// differences says where the record, the CRM as far as the record knows it, and the mandate do not fit together.
func (c Concluded) differences() (list []string) {
	switch {
	case c.Checkout.Confirmation.AgreementNumber != c.Agreement.Number:
		list = append(list, "the checkout has another agreement number")
	case c.Checkout.Confirmation.AgreementID == "":
		list = append(list, "not in the CRM")
	}
	switch mandate := c.Checkout.Setup.Mandate; {
	case c.Checkout.Withdrawn() && mandate.Confirmable():
		list = append(list, "withdrawn, and the mandate is "+string(mandate))
	case c.Checkout.Withdrawn():
	case mandate.Dead():
		list = append(list, "mandate "+string(mandate))
	case !mandate.Confirmable():
		list = append(list, "no mandate")
	}
	return list
}

// Column is a named value of a line: a text, a number or an amount.
type Column struct {
	Name  string
	Value any
}

// Columns returns the line as a report shows it. It has no personal data.
func (l MonthLine) Columns() []Column {
	return []Column{
		{"provider_code", l.Agreement.Provider.Code},
		{"provider_order_id", l.Agreement.OrderID},
		{"checkout_id", l.Agreement.CheckoutID},
		{"agreement_number", l.Agreement.Number},
		{"accepted_on", l.Accepted.String()},
		{"amount_financed", l.Financed},
		{"upfront_payment", l.Upfront},
		{"charges_due", l.Charges},
		{"amount_due", l.Due},
		{"withdrawn_on", dateOrNothing(l.Withdrawn)},
		{"mandate_status", string(l.Checkout.Setup.Mandate)},
		{"differences", strings.Join(l.Differences, "; ")},
	}
}

// Cell returns the value as a spreadsheet takes it: a text that would be a formula has an apostrophe before it.
func (c Column) Cell() string {
	text := fmt.Sprint(c.Value)
	if _, isText := c.Value.(string); isText && text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// Withdrawn reports whether the agreement was withdrawn in the month.
func (m Month) Withdrawn(l MonthLine) bool {
	return !l.Withdrawn.IsZero() && m.has(l.Withdrawn)
}

func dateOrNothing(d money.Date) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}
