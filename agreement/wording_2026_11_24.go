package agreement

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// wording20261124 says what the operator's terms state of fees, has the scheme's conditions in full or the operator's in
// their place, names the first day on which a payment may be taken, and keeps identifiers for the record.
type wording20261124 struct{ wording20261123 }

func (w wording20261124) sections(a Agreement, zone *time.Location) []Section {
	payer := a.DirectDebit.AccountHolder
	sections := []Section{
		w.opening(a, zone),
		w.summary(a, payer),
		w.payments(a),
		w.parties(a, payer),
		w.cost(a),
		declarations(a, "student", firstIsPaymentOne, zone),
		w.authority(a, zone),
		repeated(a),
	}
	if len(a.Terms.Blocks) > 0 {
		terms := Section{Title: "Terms of the plan"}
		for _, b := range a.Terms.Blocks {
			terms.Rows = append(terms.Rows, Row{b.Title, b.Text})
		}
		sections = append(sections, terms)
	}
	return append(sections, w.record(a))
}

func (wording20261124) opening(a Agreement, zone *time.Location) Section {
	section := opening(a, zone)
	section.Paragraphs[0] = "This is an interest-free payment plan for a course of " + a.Provider.Name + ". The payer pays " +
		"the course price in the payments that are listed here. There is no interest. " + onTop(a.Terms) +
		" The payments are collected by direct debit."
	return section
}

// onTop says what may be charged on top of the payments.
func onTop(t Terms) string {
	switch {
	case t.Fees.None() && t.DefaultFees.None():
		return "There are no fees."
	case len(t.Fees.Fees) > 0, len(t.DefaultFees.Fees) > 0:
		return "The fees that may be charged on top of them are listed under “What the course costs”."
	case t.Fees.None(), len(t.Blocks) == 0:
		return "There is no fee for the plan."
	}
	return "Fees are as the terms of the plan say."
}

func (wording20261124) summary(a Agreement, payer string) Section {
	section := summary(a, []Row{{"Payer", payer}, {"Student", student(a)}}, onCollectionDate(a))
	for i, row := range section.Rows {
		if row.Label == totalToPay {
			section.Rows[i].Value = a.Pricing.Price.Dollars() + ", with no interest. " + a.Terms.FeesInShort()
		}
	}
	return section
}

const totalToPay = "Total to pay"

func (wording20261124) payments(a Agreement) Section {
	section := spaced(a)
	if a.Notice != (Notice{}) {
		section.Paragraphs = append(section.Paragraphs, fmt.Sprintf("No payment is taken before %s: that is the first day on which the "+
			"banks process direct debits when %s have passed since the day of this agreement.", a.Notice.NotBefore.Long(),
			a.debitTerms().Notice()))
	}
	return section
}

func (wording20261124) cost(a Agreement) Section {
	section := cost(a, a.firstPayment())
	fees := slices.IndexFunc(section.Rows, func(r Row) bool { return r.Label == "Fees" })
	rows := a.Terms.FeeRows()
	switch {
	case len(rows) > 0:
	case len(a.Terms.Blocks) > 0:
		rows = []Row{{"Fees", "As the terms of the plan say"}}
	default:
		rows = []Row{{"Fees", "None for the plan"}}
	}
	section.Rows = slices.Replace(section.Rows, fees, fees+1, rows...)
	return section
}

func (wording20261124) authority(a Agreement, zone *time.Location) Section {
	d := a.DirectDebit
	rows := []Row{
		{"Account holder", d.AccountHolder},
		{"Account", d.AccountMask.Words()},
		{"Authorised on", formatTime(d.AuthorisedAt, zone)},
	}
	if code := a.Terms.Authority.AuthorisationCode; code != "" {
		rows = append(rows, Row{"Authorisation code", code})
	}
	if statement := a.Terms.Authority.Statement(); statement != "" {
		rows = append(rows, Row{"On the bank statement", statement})
	}
	if c := d.Consent; !c.IsZero() {
		text := "The payer accepted the direct debit terms on the setup page on " + formatTime(c.At, zone)
		if c.From != "" {
			text += ", from the network address " + c.From
		}
		switch c.Terms {
		case "":
			text += ". Which version the page showed is not on record."
		case a.debitTerms().Name():
			text += ", as they stand below."
		default:
			text += ", in words that are not quite those below."
		}
		rows = append(rows, Row{"Consent", text})
	}
	return Section{
		Title:    "Direct debit authority",
		Verified: true,
		Paragraphs: []string{"The payer is the account holder, and has authorised, until further notice, that the planned payments be taken " +
			"from this account."},
		Rows: rows,
	}
}

func (wording20261124) debitTerms(t DebitTerms) []Row {
	by := "the " + collector(t.Provider, t.Lender)
	initiator := cmp.Or(t.Authority.Initiator, by)
	if code := t.Authority.AuthorisationCode; code != "" {
		initiator += " (authorisation code " + code + ")"
	}
	rows := []Row{
		{"Who collects", "The payments are collected by " + by + ", through a direct debit " +
			"processor and the New Zealand banks’ direct debit system (BECS NZ)."},
		{"Authority", "Until further notice, the account holder authorises " + initiator + " to debit the account with the amounts of the " +
			"planned payments. The bank that holds the account accepts this authority only on its own terms and conditions for the account."},
	}
	if statement := t.Authority.Statement(); statement != "" {
		rows = append(rows, Row{"On the bank statement", "Each payment shows as " + statement + "."})
	}
	notice := noticeOfPayments(t, "If the first payment is planned for an earlier day, the payments start on the first day after that "+
		"on which the banks process direct debits, with one payment period between each and the next.")
	rows = append(rows, Row{"Notice", notice + " Before an amount or a planned date is changed, the account holder is given " +
		"30 days’ notice, unless the account holder asked for the change or agrees to less."})
	if len(t.Authority.Conditions) > 0 {
		for _, b := range t.Authority.Conditions {
			rows = append(rows, Row{b.Title, b.Text})
		}
		return rows
	}
	return append(rows,
		Row{"Operated severally", "The account holder can operate the account alone: no other person has to " +
			"agree to a payment from it."},
		Row{"Payments that fail", "If the bank dishonours a payment, it may be debited again within 5 business days of its first day, " +
			"without a second notice."},
		Row{"Dispute", "The account holder may ask the bank to reverse a payment up to 120 calendar days after it was debited, if no " +
			"notice of its amount and date was received, or if the amount or the date differs from the notice; a payment that was planned for another day than a bank day, and taken on the " +
			"next one, does not differ. Up to 9 months after " +
			"the first payment was debited, the account holder may ask the bank to reverse a payment if the account holder is not " +
			"reasonably satisfied that this authority was given."},
		Row{"Ending the authority", "The account holder can end the authority at any time, through that bank or by telling " + told(t) + ". " +
			"What has not been paid by then remains to be paid under the plan."},
	)
}

// told names who is told that the authority has ended.
func told(t DebitTerms) string {
	switch {
	case t.Authority.Initiator != "":
		return t.Authority.Initiator
	case t.Lender.Name != "":
		return "the lender, " + t.Lender.Name
	}
	return t.Provider
}

// foot is short enough for the page's number beside it.
func (wording20261124) foot(a Agreement) string {
	foot := a.Title() + ", wording of " + a.Version
	if a.Sandbox {
		foot += ". SANDBOX: no agreement"
	}
	return foot
}

// record also holds the identifiers of the authority and of the terms that were accepted.
func (wording20261124) record(a Agreement) Section {
	section := record(a)
	section.Verified = true
	section.Rows = append(section.Rows, Row{"Direct debit authority", a.DirectDebit.AuthorityID})
	if terms := a.DirectDebit.Consent.Terms; terms != "" {
		section.Rows = append(section.Rows, Row{"Terms accepted", terms + " (version, days of notice, fingerprint)"})
	}
	return section
}
