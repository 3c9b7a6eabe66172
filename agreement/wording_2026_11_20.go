package agreement

import (
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

// wording20261120 knows no sandbox, no notice period, no consent and no lender who collects, and takes the student for the
// payer.
type wording20261120 struct{}

func (w wording20261120) sections(a Agreement, zone *time.Location) []Section {
	due := func(i int) money.Date { return a.Schedule[i].Due }
	return withTerms([]Section{
		{Title: title, Paragraphs: []string{introduction(a)}, Rows: identity(a, zone)},
		summary(a, []Row{{"Payer", student(a)}}, func(i int) string { return "on " + due(i).Long() }),
		planned(a, due),
		w.parties(a),
		cost(a, a.Plan.First),
		declarations(a, "payer", " confirms the deposit or first payment, which is number 1 of the planned payments. "+
			"Nothing was collected at that time.", zone),
		authority(a, "The account holder has", accountEnding(a), nil, zone),
		repeated(a),
	}, a)
}

func (wording20261120) parties(a Agreement) Section {
	rows := []Row{{"Education provider", a.Provider.Name}}
	if a.Provider.SupportEmail != "" {
		rows = append(rows, Row{"Questions to", a.Provider.SupportEmail})
	}
	if lender := a.Terms.Lender; lender != (Lender{}) {
		rows = append(rows, Row{"Lender", lender.Name}, Row{"Lender's address", lender.Address})
		if lender.Registration != "" {
			rows = append(rows, Row{"Lender's registration", lender.Registration})
		}
	}
	return Section{
		Title:      "Who takes part",
		Paragraphs: []string{"The payer's name and email came from " + a.Provider.Name + "."},
		Rows: append(rows,
			Row{"Payments collected by", "The " + collector(a.Provider.Name, Lender{})},
			Row{"Payer", student(a)},
			Row{"Payer's email", a.Student.Email},
		),
	}
}

func (wording20261120) debitTerms(t DebitTerms) []Row {
	return []Row{
		{"Who collects", "The payments are collected by the " + collector(t.Provider, Lender{}) + ", through a direct debit " +
			"processor and the New Zealand banks' direct debit system (BECS NZ)."},
		{"Operated severally", "The account holder can operate the account alone: no other person has to " +
			"agree to a payment from it."},
		{"Notice", "The agreement gives notice of the amount and the planned date of every payment. The account " +
			"holder agrees to that notice even where the first payment is planned for less than 10 days later. " +
			"Before an amount or a planned date is changed, the account holder is given 30 days' notice, " +
			"unless the account holder asked for the change or agrees to less."},
		{"Dispute", "The account holder can dispute a payment with the bank that holds the account within " +
			"120 days of it, and within 9 months of it if it was never authorised."},
		{"Ending the authority", "The account holder can end the authority at any time through that bank. " +
			"What has not been paid by then remains to be paid under the plan."},
	}
}

func (wording20261120) foot(a Agreement) string { return a.Title() + ", version " + a.Version }
