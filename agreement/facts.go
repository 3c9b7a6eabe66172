package agreement

import (
	"slices"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

// facts are the values that stand in a wording. Before there is an agreement, its fields are zero.
type facts struct {
	Agreement
	Debit DebitTerms
	zone  *time.Location
}

// Part implements [Facts].
func (f facts) Part(name string) (s Section, known bool) {
	var terms []Block
	switch name {
	case "steps":
		for _, step := range Steps(f.Payments(), f.Plan.Frequency) {
			s.Rows = append(s.Rows, Row{step.Label, step.String()})
		}
	case "payments":
		s.Table = f.table()
	case "terms of the plan": // the operator's
		terms = f.Terms.Blocks
	case "conditions of the authority":
		terms = f.Debit.Authority.Conditions
	default:
		return s, false
	}
	for _, b := range terms {
		s.Rows = append(s.Rows, Row{b.Title, b.Text})
	}
	return s, true
}

// table lists every charge with the day from which it may be collected.
func (f facts) table() Table {
	table := Table{
		Header: []string{"No.", "Planned date", "Payment", "Amount"},
		Foot:   []string{"", "", "Total to pay", f.Pricing.Price.Dollars()},
	}
	for _, p := range f.Payments() {
		table.Rows = append(table.Rows, []string{strconv.Itoa(p.Sequence), p.Taken.Long(), p.Type.Label(), p.Amount.Dollars()})
		table.Notes = append(table.Notes, p.Moved())
	}
	return table
}

// Moved reports whether a payment is taken on another day than the planned one.
func (f facts) Moved() bool {
	return slices.ContainsFunc(f.Payments(), func(p money.Payment) bool { return p.Moved() != "" })
}

// Deferred says that the payments start later than planned; "" where they do not.
func (f facts) Deferred() string {
	if first := f.firstPayment(); first != f.Plan.First {
		return Deferred(f.Plan.First, first)
	}
	return ""
}

// Authority returns the authority in the payer's words, close to the form of the scheme.
func (f facts) Authority() string { return wordings[f.Debit.version()].Paragraph("authority", f) }

// AtStart writes a party at the start of a sentence.
func (facts) AtStart(who string) string { return sentence(who) }

// Time formats a time in the zone: "Friday 20 November 2026, 4:12:05 pm NZDT".
func (f facts) Time(t time.Time) string {
	t = t.In(f.zone)
	return money.DateOf(t).Long() + ", " + t.Format("3:04:05 pm MST")
}
