package agreement

import "time"

// wording20261123 takes the holder of the account for the payer, who may be another than the student, and shows the account
// as its mask.
type wording20261123 struct{}

func (w wording20261123) sections(a Agreement, zone *time.Location) []Section {
	payer := a.DirectDebit.AccountHolder
	return withTerms([]Section{
		opening(a, zone),
		summary(a, []Row{{"Payer", payer}, {"Student", student(a)}}, onCollectionDate(a)),
		spaced(a),
		w.parties(a, payer),
		cost(a, a.firstPayment()),
		declarations(a, "student", firstIsPaymentOne, zone),
		authority(a, "The payer is the account holder, and has", a.DirectDebit.AccountMask.Words(),
			consent(a, "The payer accepted the direct debit terms", zone), zone),
		repeated(a),
	}, a)
}

func (wording20261123) parties(a Agreement, payer string) Section {
	return Section{
		Title: "Who takes part",
		Paragraphs: []string{
			"The student’s name and email came from " + a.Provider.Name + ". The payer is the holder of the bank account, " +
				"by the name that was given with the account.",
		},
		Rows: append(providerAndLender(a),
			Row{"Payer", payer},
			Row{"Student", student(a)},
			Row{"Student’s email", a.Student.Email},
		),
	}
}

func (wording20261123) debitTerms(t DebitTerms) []Row { return debitTermsWith(t, spacedNotice(t)) }

func (wording20261123) foot(a Agreement) string { return footWithWording(a) }
